"""JSON as functions see it: read strictly, and written as Jackson writes it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NoReturn


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} isn't JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant)


def parse(text: str) -> Any:
    """The value at the beginning of text; ValueError if there is none. What follows it is not
    looked at, as Jackson doesn't. Fractions keep all their digits."""
    start = text.lstrip(" \t\r\n")
    value, end = _DECODER.raw_decode(start)
    if not isinstance(value, str | list | dict) and start[end : end + 1] not in _AFTER_A_WORD:
        raise ValueError(f"{text} isn't JSON")
    return value


_AFTER_A_WORD = ("", " ", "\t", "\r", "\n", ",", "]", "}")


def written(value: Any) -> str:
    """The JSON of a value that was read."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, dict):
        entries = (f"{quoted(key)}:{written(each)}" for key, each in value.items())
        return "{" + ",".join(entries) + "}"
    return quoted(value)


def quoted(value: str | int | bool | None) -> str:
    """Text in quotes; numbers, true, false and null as they are."""
    return json.dumps(value, ensure_ascii=False)
