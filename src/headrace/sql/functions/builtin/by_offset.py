"""EARLIEST_BY_OFFSET and LATEST_BY_OFFSET.

Values are numbered as they come, so that sessions which grow together know whose is earlier. Their
states may have been made by other processes: so the numbers go by the clock, but never back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.errors import FunctionError
from headrace.sql.functions.function import Call
from headrace.sql.functions.library import Library
from headrace.sql.types import BIGINT, ArrayType, Field, SqlType, StructType

library = Library("AGGREGATE")

Numbered = dict[str, Any]


class _Numbers:
    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last = max(self._last + 1, time.time_ns())
        return self._last


_numbers = _Numbers()


def _numbered(value: Any) -> Numbered:
    return {"SEQ": _numbers.next(), "VAL": value}


def _number(numbered: Numbered) -> int:
    number: int = numbered["SEQ"]
    return number


def _type(call: Call) -> SqlType:
    if call.types[0] is None:
        raise FunctionError("The type of NULL isn't known here: cast it to one")
    return call.types[0]


def _numbered_type(type: SqlType) -> StructType:
    return StructType((Field("SEQ", BIGINT), Field("VAL", type)))


def _options(call: Call) -> tuple[int, bool]:
    """How many, and whether NULL is ignored."""
    amount, ignore_nulls = 1, True
    for literal in call.literals:
        if isinstance(literal, bool):
            ignore_nulls = literal
        elif literal is not None:
            amount = literal
    return amount, ignore_nulls


def _one(call: Call, chosen: Callable[[Numbered, Numbered], Numbered]) -> Aggregate:
    """`chosen` takes the earlier and the later."""
    type = _type(call)
    _, ignore_nulls = _options(call)

    def add(state: Numbered | None, value: Any) -> Numbered | None:
        if value is None and ignore_nulls:
            return state
        new = _numbered(value)
        return new if state is None else chosen(state, new)

    def merge(one: Numbered | None, other: Numbered | None) -> Numbered | None:
        if one is None or other is None:
            return other if one is None else one
        return chosen(*sorted((one, other), key=_number))

    return Aggregate(
        type,
        _numbered_type(type),
        lambda: None,
        add,
        lambda state: None if state is None else state["VAL"],
        merge=merge,
    )


def _several(
    name: str, call: Call, chosen: Callable[[list[Numbered], int], list[Numbered]]
) -> Aggregate:
    type = _type(call)
    amount, ignore_nulls = _options(call)
    if amount < 1:
        raise FunctionError(f"{name} must be greater than zero. Got: {amount}")

    def add(state: list[Numbered], value: Any) -> list[Numbered]:
        if value is None and ignore_nulls:
            return state
        return chosen([*state, _numbered(value)], amount)

    def merge(one: list[Numbered], other: list[Numbered]) -> list[Numbered]:
        return sorted([*one, *other], key=_number)[:amount]

    return Aggregate(
        ArrayType(type),
        ArrayType(_numbered_type(type)),
        list,
        add,
        lambda state: [each["VAL"] for each in state],
        merge=merge,
    )


_ONE = ("(T col) -> T", "(T col, BOOLEAN ignoreNulls literal) -> T")


@library.aggregate("EARLIEST_BY_OFFSET", *_ONE)
def earliest(call: Call) -> Aggregate:
    """Returns the earliest value for the specified column, by offset within its partition."""
    return _one(call, lambda earlier, later: earlier)


@library.aggregate(
    "EARLIEST_BY_OFFSET",
    "(T col, INT earliestN literal) -> ARRAY<T>",
    "(T col, INT earliestN literal, BOOLEAN ignoreNulls literal) -> ARRAY<T>",
)
def earliest_ones(call: Call) -> Aggregate:
    return _several("earliestN", call, lambda values, amount: values[:amount])


@library.aggregate("LATEST_BY_OFFSET", *_ONE)
def latest(call: Call) -> Aggregate:
    """Returns the latest value for the specified column, by offset within its partition."""
    return _one(call, lambda earlier, later: later)


@library.aggregate(
    "LATEST_BY_OFFSET",
    "(T col, INT latestN literal) -> ARRAY<T>",
    "(T col, INT latestN literal, BOOLEAN ignoreNulls literal) -> ARRAY<T>",
)
def latest_ones(call: Call) -> Aggregate:
    """When sessions merge, the oldest of both are kept: ksqlDB does the same."""
    return _several("latestN", call, lambda values, amount: values[-amount:])
