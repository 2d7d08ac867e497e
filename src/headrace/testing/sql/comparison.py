"""Whether a key or value is the expected one, by the kind of the expected JSON."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

Path = tuple[str | int, ...]


def difference(expected: Any, actual: Any, path: Path = ()) -> str | None:
    """What is different, or None. Actual values: dict, list, str, bool, int, float (a double),
    Decimal, bytes, None."""
    if expected is None:
        is_null = actual is None or (actual == b"" and len(path) <= 1)
        return None if is_null else _differs(path, expected, actual)
    if isinstance(expected, dict):
        return _object_difference(expected, actual, path)
    if isinstance(expected, list):
        return _array_difference(expected, actual, path)
    if isinstance(expected, bool):
        return None if actual is expected else _differs(path, expected, actual)
    if isinstance(expected, str):
        return None if _is_text(expected, actual) else _differs(path, expected, actual)
    return None if _is_number(expected, actual) else _differs(path, expected, actual)


def _object_difference(expected: dict[str, Any], actual: Any, path: Path) -> str | None:
    if not isinstance(actual, dict):
        return _differs(path, expected, actual)
    if len(actual) != len(expected):
        return f"{_shown(path)} has fields {list(actual)}, not {list(expected)}"
    for name, value in expected.items():
        found = actual[name] if name in actual else actual.get(name.upper())
        deeper = difference(value, found, (*path, name))
        if deeper is not None:
            return deeper
    return None


def _array_difference(expected: list[Any], actual: Any, path: Path) -> str | None:
    if not isinstance(actual, list) or len(actual) != len(expected):
        return _differs(path, expected, actual)
    for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
        deeper = difference(one, other, (*path, index))
        if deeper is not None:
            return deeper
    return None


def _is_text(expected: str, actual: Any) -> bool:
    if isinstance(actual, str):
        return actual == expected
    if isinstance(actual, bytes):
        return base64.b64encode(actual).decode() == expected
    if isinstance(actual, Decimal):
        try:
            return _same_decimal(Decimal(expected), actual)
        except ArithmeticError:
            return False
    return False


def _is_number(expected: int | Decimal, actual: Any) -> bool:
    if isinstance(actual, bool):
        return False
    if isinstance(actual, int):
        return int(expected) == actual
    if isinstance(actual, float):
        return abs(float(expected) - actual) <= 1e-6
    if isinstance(actual, Decimal):
        if isinstance(expected, int):
            return _scale(actual) <= 0 and actual == expected
        return _same_decimal(expected, actual)
    return False


def _same_decimal(one: Decimal, other: Decimal) -> bool:
    return one == other and _scale(one) == _scale(other)


def _scale(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _differs(path: Path, expected: Any, actual: Any) -> str:
    return f"{_shown(path)} is {actual!r}, not {expected!r}"


def _shown(path: Path) -> str:
    return ".".join(map(str, path)) or "it"
