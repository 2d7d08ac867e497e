"""Whether a server's answers are the expected ones."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import Any

_STARTS_WITH = "|starts_with"


def responses_difference(
    expected: list[dict[str, Any]],
    actual: list[Any],
    statements: list[str],
    *,
    verify_order: bool = False,
) -> str | None:
    """What is different, or None. There may be more answers than expected."""
    if len(actual) < len(expected):
        return f"there are {len(actual)} answers, not {len(expected)}"
    for index, (wanted, answer) in enumerate(zip(expected, actual, strict=False)):
        ((kind, content),) = wanted.items()
        statement = statements[index] if index < len(statements) else ""
        if kind == "admin":
            wrong = _member_difference(content, answer, statement, "")
        elif kind == "query":
            wrong = _rows_difference(content, answer, statement, "columns", verify_order)
        else:
            wrong = _rows_difference(content, answer, statement, None, verify_order)
        if wrong is not None:
            return f"answer {index}: {wrong}"
    return None


def _member_difference(expected: Any, actual: Any, statement: str, path: str) -> str | None:
    """Members that are given must be there and equal; others are not looked at."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{path or 'it'} is {actual!r}, not {expected!r}"
        for name, value in expected.items():
            deeper = _named_difference(name, value, actual, statement, path)
            if deeper is not None:
                return deeper
        return None
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"{path or 'it'} is {actual!r}, not {expected!r}"
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            deeper = _member_difference(one, other, statement, f"{path}[{index}]")
            if deeper is not None:
                return deeper
        return None
    if isinstance(expected, str):
        expected = expected.replace("{STATEMENT}", statement)
    return None if _same(expected, actual) else f"{path or 'it'} is {actual!r}, not {expected!r}"


def _named_difference(
    name: str, value: Any, actual: dict[str, Any], statement: str, path: str
) -> str | None:
    if name.endswith(_STARTS_WITH):
        name = name.removesuffix(_STARTS_WITH)
        text = str(actual.get(name))
        return None if text.startswith(value) else f"{path}.{name} is {text!r}, not {value!r}…"
    found: Any = actual.get(name)
    if found is None or found in ([], {}):
        return f"{path}.{name} isn't there" if value not in (None, [], {}) else None
    return _member_difference(value, found, statement, f"{path}.{name}")


def _rows_difference(
    expected: list[dict[str, Any]],
    actual: Any,
    statement: str,
    member: str | None,
    verify_order: bool,
) -> str | None:
    """Objects of a stream, by position. What rows say is compared over the whole answer, in any
    order, unless the order counts."""
    if not isinstance(actual, list) or len(actual) != len(expected):
        return f"it is {actual!r}, not {expected!r}"
    for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
        wanted = {name: value for name, value in one.items() if name != "row"}
        wrong = _member_difference(wanted, other, statement, f"[{index}]")
        if wrong is None and ("row" in one) != (isinstance(other, dict) and "row" in other):
            wrong = f"[{index}] is {other!r}, not {one!r}"
        if wrong is not None:
            return wrong
    wanted_rows = [_row(object["row"], member) for object in expected if "row" in object]
    rows = [_row(object["row"], member) for object in actual if "row" in object]
    same = rows == wanted_rows if verify_order else Counter(rows) == Counter(wanted_rows)
    return None if same else f"the rows are {rows}, not {wanted_rows}"


def _row(row: Any, member: str | None) -> str:
    """The text of a row; it tells numbers apart that are spelled differently."""
    content = row if member is None else row.get(member)
    return json.dumps(content, default=_spelled, sort_keys=True)


def _spelled(number: Any) -> Any:
    assert isinstance(number, Decimal)
    sign, digits, exponent = number.as_tuple()
    return {"decimal": [sign, *digits], "exponent": exponent}


def _same(expected: Any, actual: Any) -> bool:
    if isinstance(expected, Decimal) and isinstance(actual, Decimal):
        return expected.as_tuple() == actual.as_tuple()
    return type(expected) is type(actual) and bool(expected == actual)
