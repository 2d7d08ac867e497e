"""Where two lists of records differ, record by record, as pytest shows it."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from headrace.core.record import Record

_CONTEXT = 3
_MISSING = object()


def explain(left: Any, right: Any) -> list[str] | None:
    """Lines that explain why `left == right` is false; None if they aren't records."""
    if isinstance(left, Record) and isinstance(right, Record):
        return ["the records differ:", *_pair("", left, right)]
    if _are_records(left) and _are_records(right) and (left or right):
        return _compare_lists(left, right)
    return None


def _are_records(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(item, Record) for item in items)


def _compare_lists(left: list[Any], right: list[Any]) -> list[str]:
    rows = list(zip_longest(left, right, fillvalue=_MISSING))
    differing = [index for index, (one, other) in enumerate(rows) if one != other]
    lines = [
        f"{len(differing)} of {len(rows)} records differ "
        f"(- read: {len(left)}, + expected: {len(right)}):"
    ]
    shown = {
        index
        for at in differing
        for index in range(at - _CONTEXT, at + _CONTEXT + 1)
        if 0 <= index < len(rows)
    }
    previous = -1
    for index in sorted(shown):
        if index != previous + 1:
            lines.append("  ...")
        one, other = rows[index]
        if one == other:
            lines.append(f"  {index:>3}  {_text(one)}")
        else:
            lines.extend(_pair(f"{index:>3}  ", one, other))
        previous = index
    return lines


def _pair(label: str, one: Any, other: Any) -> list[str]:
    lines = []
    if one is not _MISSING:
        lines.append(f"- {label}{_text(one)}")
    if other is not _MISSING:
        lines.append(f"+ {label}{_text(other)}")
    if one is not _MISSING and other is not _MISSING:
        fields = [
            name
            for name in ("key", "value", "timestamp", "headers")
            if getattr(one, name) != getattr(other, name)
        ]
        lines.append(f"  {' ' * len(label)}^ {', '.join(fields)}")
    return lines


def _text(record: Any) -> str:
    headers = f" {list(record.headers)!r}" if record.headers else ""
    return f"{record.key!r}: {record.value!r} @{record.timestamp}{headers}"
