"""The cases, read from their directory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Case:
    """A case of suite `qtt`: statements, records in, records out."""

    id: str
    file: str
    tier: str
    statements: list[str]
    properties: dict[str, Any] = field(default_factory=dict)
    topics: list[dict[str, Any]] = field(default_factory=list)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    post: dict[str, Any] = field(default_factory=dict)
    expected_exception: dict[str, Any] | None = None


@dataclass(frozen=True)
class Selection:
    """Which cases are wanted: those that fit everything that is given."""

    tiers: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    id_parts: tuple[str, ...] = ()

    def has(self, case: Case) -> bool:
        return (
            (not self.tiers or case.tier in self.tiers)
            and (not self.files or case.file in self.files)
            and (not self.id_parts or any(part in case.id for part in self.id_parts))
        )


def default_directory() -> Path:
    """Where the cases are: beside the project, unless the environment says otherwise."""
    return Path(os.environ.get("HEADRACE_QTT_DIR") or PROJECT.parent / "shared" / "qtt")


def read_cases(directory: Path, selection: Selection | None = None) -> Iterator[Case]:
    """The selected cases of suite `qtt`, file by file."""
    for path in sorted(directory.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                raw = json.loads(line, parse_float=Decimal)
                if raw["suite"] != "qtt":
                    break
                case = _case(raw)
                if selection is None or selection.has(case):
                    yield case


def _case(raw: dict[str, Any]) -> Case:
    return Case(
        id=raw["id"],
        file=raw["file"],
        tier=raw["tier"],
        statements=raw["statements"],
        properties=raw.get("properties") or {},
        topics=raw.get("topics") or [],
        inputs=raw.get("inputs") or [],
        outputs=raw.get("outputs") or [],
        post=raw.get("post") or {},
        expected_exception=raw.get("expectedException"),
    )
