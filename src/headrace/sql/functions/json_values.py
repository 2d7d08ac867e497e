"""JSON as functions see it: read strictly, and written as Jackson writes it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from headrace.sql.java_numbers import double_text


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} isn't JSON")


def parse(text: str) -> Any:
    """The value of JSON text; ValueError if it is none."""
    return json.loads(text, parse_constant=_no_constant)


def written(value: Any) -> str:
    """The JSON of a value that was read."""
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, dict):
        entries = (f"{quoted(key)}:{written(each)}" for key, each in value.items())
        return "{" + ",".join(entries) + "}"
    return quoted(value)


def quoted(value: str | int | bool | None) -> str:
    """Text in quotes; numbers, true, false and null as they are."""
    return json.dumps(value, ensure_ascii=False)
