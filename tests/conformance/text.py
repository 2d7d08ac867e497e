"""Values as text, the way the recorded functions write them: Java's conventions, not Python's."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from uuid import UUID

from headrace.core.record import ValueAndTimestamp, VersionedRecord
from headrace.core.windowed import Windowed


class NumberFormatException(ValueError):
    """A text isn't the number that a function needs."""


def to_str(value: Any) -> str:
    """`str(x)` of the corpus' README, part 7."""
    match value:
        case None:
            return "null"
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return double_text(value)
        case UUID():
            return str(value)
        case Windowed(key, window):
            return f"[{to_str(key)}@{window.start}/{window.end}]"
        case ValueAndTimestamp(inner, timestamp):
            return f"{to_str(inner)}@{timestamp}"
        case VersionedRecord(inner, timestamp, None):
            return f"{to_str(inner)}@{timestamp}"
        case VersionedRecord(inner, timestamp, valid_to):
            return f"{to_str(inner)}@{timestamp}-{valid_to}"
        case dict() | list():
            return canonical_json(value)
    raise TypeError(f"no text form for {type(value).__name__} {value!r}")


def double_text(number: float) -> str:
    """As `Double.toString`: a plain decimal from 1e-3 up to 1e7, else mantissa and exponent."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)  # Python turns to exponents only below 1e-4 and from 1e16 on
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    first, rest = digits[0], "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{first}.{rest}E{int(exponent) + len(digits) - 1}"


def canonical_json(value: Any) -> str:
    """Keys sorted by UTF-16 code unit at every level, no white space, doubles as Java has them."""
    match value:
        case dict():
            fields = sorted(value.items(), key=lambda field: utf16(field[0]))
            return "{" + ",".join(f"{_quoted(k)}:{canonical_json(v)}" for k, v in fields) + "}"
        case list():
            return "[" + ",".join(map(canonical_json, value)) + "]"
        case str():
            return _quoted(value)
    return to_str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def utf16(text: str) -> bytes:
    """A sort key: the order of Java's strings."""
    return text.encode("utf-16-be", "surrogatepass")


def length(text: str) -> int:
    """In UTF-16 units."""
    return len(utf16(text)) // 2


def parse_long(text: str) -> int:
    """As `Long.parseLong`."""
    sign, digits = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if not digits.isdecimal() or not -(2**63) <= int(sign + digits) < 2**63:
        raise NumberFormatException(f'For input string: "{text}"')
    return int(sign + digits)


def long(number: int) -> int:
    """Wrapped to 64 bits, as Java's long arithmetic does."""
    return (number + 2**63) % 2**64 - 2**63


def to_number(value: Any) -> Any:
    """`num(x)` of the README."""
    if isinstance(value, str):
        return parse_long(value)
    return value


def to_long(value: Any) -> int:
    """`n(x)` of the README: null is 0."""
    return 0 if value is None else int(to_number(value))
