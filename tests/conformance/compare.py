"""Compares what a run recorded with what the corpus has (parts 11 and 13 of the README)."""

from __future__ import annotations

import difflib
import json
from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from .cases import Case

Form = dict[str, Any]

_HARNESS_ERRORS = ("UserException", "NumberFormatException")
"""Raised by the harness itself, so their messages must be the recorded ones too. All other
messages are ours to word."""

_ERROR_HEADERS = ("__streams.errors.exception", "__streams.errors.message")
_SHOWN = 3


def compare(case: Case, got: Form) -> list[str]:
    """What differs, in words; nothing if the run did what was recorded."""
    differences = [
        *_compare_error(case.get("error"), got.get("error")),
        *_compare_text("describe", case.get("describe"), got.get("describe")),
    ]
    if "input" not in case or _failed_before_input(got):
        return differences
    return [
        *differences,
        *_compare_output(case, got),
        *_compare_records("observed", case.get("observed", []), got["observed"]),
        *_compare_by_topic("internal", case, got),
        *_compare_by_topic("changelogs", case, got),
        *compare_stores(case, got),
        *_compare_dropped(case, got),
    ]


def _failed_before_input(got: Form) -> bool:
    return got.get("error", {}).get("phase") in ("build", "start")


def _compare_error(expected: Form | None, got: Form | None) -> list[str]:
    if expected is None or got is None:
        return [] if expected is got else [f"error: expected {expected}\n  got {got}"]
    differences = [
        f"error {field}: expected {expected.get(field)!r}, got {got.get(field)!r} ({got['detail']})"
        for field in ("phase", "class", "cause")
        if expected.get(field) != got.get(field)
    ]
    origin = (expected.get("chain") or [expected])[-1]
    if origin["class"] in _HARNESS_ERRORS:
        ours = (got["chain"] or [{"class": got["class"], "message": got["detail"]}])[-1]
        if (ours["class"], ours["message"]) != (origin["class"], origin["message"]):
            differences.append(f"error origin: expected {origin}, got {got['detail']}")
    return differences


def _compare_text(what: str, expected: str | None, got: str | None) -> list[str]:
    if expected == got:
        return []
    lines = difflib.unified_diff(
        (expected or "").splitlines(), (got or "").splitlines(), "expected", "got", "", "", 1, ""
    )
    return [f"{what}:\n" + "\n".join(f"  {line}" for line in lines)]


def _compare_output(case: Case, got: Form) -> list[str]:
    """In the order of sending over all topics; by topic only where that order isn't specified."""
    expected = [_comparable(record) for record in case.get("output", [])]
    ours = [_comparable(record) for record in got["output"]]
    for record, counterpart in zip(expected, ours, strict=False):
        if record["ts"] == "WALL":
            counterpart["ts"] = "WALL"
    if case.get("tie"):
        return _compare_by_topic("output", {"output": expected}, {"output": ours})
    return _compare_records("output", expected, ours)


def _comparable(record: Form) -> Form:
    """Without those error headers of a dead letter that hold our own words."""
    headers = record.get("headers", [])
    raised = next((_text(value) for name, value in headers if name == _ERROR_HEADERS[0]), None)
    if raised is None:
        return dict(record)
    comparable = []
    for name, value in headers:
        if name == _ERROR_HEADERS[0]:
            value = raised.split(".")[-1] if raised.endswith("UserException") else "*"
        elif name == "__streams.errors.stacktrace" or (
            name == _ERROR_HEADERS[1] and not raised.endswith("UserException")
        ):
            value = "*"
        comparable.append([name, value])
    return {**record, "headers": comparable}


def _text(data: str) -> str:
    return b64decode(data).decode()


def _compare_by_topic(field: str, case: Form, got: Form) -> list[str]:
    expected, ours = _by_topic(case.get(field, [])), _by_topic(got[field])
    return [
        difference
        for topic in sorted(expected | ours)
        for difference in _compare_records(
            f"{field} {topic}", expected.get(topic, []), ours.get(topic, [])
        )
    ]


def _by_topic(records: Iterable[Form]) -> dict[str, list[Form]]:
    topics: dict[str, list[Form]] = {}
    for record in records:
        topics.setdefault(record["topic"], []).append(record)
    return topics


def compare_stores(case: Case, got: Form) -> list[str]:
    if "error" in case or "error" in got:
        return []
    expected, ours = case.get("stores", {}), got["stores"]
    differences = []
    for name in sorted(expected | ours):
        theirs, mine = expected.get(name), ours.get(name)
        if theirs is None or mine is None:
            differences.append(f"store {name}: expected {_line(theirs)}, got {_line(mine)}")
        elif theirs["kind"] != mine["kind"]:
            differences.append(f"store {name}: expected kind {theirs['kind']}, got {mine['kind']}")
        else:
            rows, our_rows = theirs.get("rows", []), mine.get("rows", [])
            differences += _compare_records(f"store {name}", rows, our_rows)
    return differences


def _compare_dropped(case: Case, got: Form) -> list[str]:
    if "dropped" not in case or "dropped" not in got or case["dropped"] == got["dropped"]:
        return []
    return [f"dropped: expected {case['dropped']}, got {got['dropped']}"]


def _compare_records(what: str, expected: list[Form], got: list[Form]) -> list[str]:
    """From the first difference on, a few lines of each."""
    theirs, ours = list(map(_line, expected)), list(map(_line, got))
    if theirs == ours:
        return []
    shared = zip(theirs, ours, strict=False)
    at = next((i for i, (a, b) in enumerate(shared) if a != b), min(len(theirs), len(ours)))
    lines = [f"{what}: {len(theirs)} expected, {len(ours)} got; from #{at}:"]
    lines += [f"  - {line}" for line in theirs[at : at + _SHOWN]]
    lines += [f"  + {line}" for line in ours[at : at + _SHOWN]]
    return ["\n".join(lines)]


def _line(form: Any) -> str:
    """As text, in which 1, 1.0 and true are different."""
    return json.dumps(form, sort_keys=True, ensure_ascii=False)
