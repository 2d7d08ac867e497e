"""The cases, read from their directory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Case:
    """A case: statements, records in, records out. Those of suite `rest` have answers of a server
    too."""

    id: str
    file: str
    tier: str
    statements: list[str]
    suite: str = "qtt"
    properties: dict[str, Any] = field(default_factory=dict)
    topics: list[dict[str, Any]] = field(default_factory=list)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    post: dict[str, Any] = field(default_factory=dict)
    expected_exception: dict[str, Any] | None = None
    responses: list[dict[str, Any]] = field(default_factory=list)
    expected_error: dict[str, Any] | None = None
    waits_for_push_query: bool = False
    verifies_order: bool = False
    wants_protobuf_rows: bool = False


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


def read_cases(
    directory: Path, selection: Selection | None = None, suite: str = "qtt"
) -> Iterator[Case]:
    """The selected cases of a suite, `qtt` or `rest`, file by file."""
    for path in sorted(directory.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                raw = json.loads(line, parse_float=Decimal)
                if raw["suite"] != suite:
                    break
                case = _case(raw)
                if selection is None or selection.has(case):
                    yield case


def renamed(case: Case, topic: str) -> Case:
    """The case with a topic of its own in the place of `test_topic`, wherever it is named."""

    def changed(part: Any) -> Any:
        if isinstance(part, str):
            return part.replace("test_topic", topic)
        if isinstance(part, list):
            return [changed(item) for item in part]
        if isinstance(part, dict):
            return {changed(name): changed(item) for name, item in part.items()}
        return part

    return replace(
        case,
        statements=changed(case.statements),
        topics=changed(case.topics),
        inputs=changed(case.inputs),
        outputs=changed(case.outputs),
        responses=changed(case.responses),
        expected_error=changed(case.expected_error),
    )


def _case(raw: dict[str, Any]) -> Case:
    return Case(
        id=raw["id"],
        file=raw["file"],
        tier=raw["tier"],
        statements=raw["statements"],
        suite=raw["suite"],
        properties=raw.get("properties") or {},
        topics=raw.get("topics") or [],
        inputs=raw.get("inputs") or [],
        outputs=raw.get("outputs") or [],
        post=raw.get("post") or {},
        expected_exception=raw.get("expectedException"),
        responses=raw.get("responses") or [],
        expected_error=raw.get("expectedError"),
        waits_for_push_query=bool((raw.get("inputConditions") or {}).get("waitForActivePushQuery")),
        verifies_order=bool((raw.get("outputConditions") or {}).get("verifyOrder")),
        wants_protobuf_rows=bool(raw.get("testPullWithProtoFormat")),
    )
