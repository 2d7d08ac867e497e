"""A test in files: statements, the records they read, and the records they are to write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from headrace.core.errors import ArgumentError
from headrace.sql.syntax.parser import parse
from headrace.testing.sql.rehearsal import Rehearsal


def run_files(
    statements: Path,
    inputs: Path | None,
    outputs: Path,
    settings: Mapping[str, Any] | None = None,
) -> list[str]:
    """What is different from the expected outputs.

    `inputs` is JSON, `{"inputs": [record, …]}`, and `outputs` is `{"outputs": [record, …]}`; a
    Rehearsal says what a record is. Without inputs, INSERT VALUES among the statements makes them.
    """
    expected = _records(outputs, "outputs")
    records = [] if inputs is None else _records(inputs, "inputs")
    rehearsal = Rehearsal(settings)
    for statement in parse(text_of(statements)):
        rehearsal.execute(statement)
    rehearsal.feed(records)
    return rehearsal.differences(expected, any_time_for_zero=not records)


def text_of(path: Path) -> str:
    """The text of a file."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise ArgumentError(f"{path} can't be read: {reason}") from reason


def _records(path: Path, member: str) -> list[dict[str, Any]]:
    try:
        content = json.loads(text_of(path), parse_float=Decimal)
    except ValueError as reason:
        raise ArgumentError(f"{path} isn't JSON: {reason}") from reason
    records = content.get(member) if isinstance(content, dict) else None
    if not isinstance(records, list):
        raise ArgumentError(f'{path} must be {{"{member}": [records]}}, and has no such list.')
    for index, record in enumerate(records, 1):
        if not isinstance(record, dict) or not isinstance(record.get("topic"), str):
            raise ArgumentError(f"Record {index} of {path} has no topic: {record!r}")
    return records
