"""MIN, MAX, TOPK and TOPKDISTINCT."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.errors import FunctionError
from headrace.sql.functions.function import Call
from headrace.sql.functions.library import Library
from headrace.sql.functions.order import Order, order_of
from headrace.sql.types import ArrayType, Field, SqlType, StructType

library = Library("AGGREGATE")

_ORDERED = tuple(
    f"({type} col) -> {type}"
    for type in (
        "INT",
        "BIGINT",
        "DOUBLE",
        "DECIMAL",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "STRING",
        "BYTES",
    )
)


def _extreme(call: Call, better: Callable[[Any, Any], bool]) -> Aggregate:
    type = call.types[0]
    assert type is not None
    order = order_of(type)

    def add(state: Any, value: Any) -> Any:
        if value is None:
            return state
        if state is None:
            return value
        if order is not None:
            return value if better(order(value), order(state)) else state
        return value if better(value, state) else state

    return Aggregate(type, type, lambda: None, add, merge=add)


@library.aggregate("MAX", *_ORDERED)
def maximum(call: Call) -> Aggregate:
    """Computes the maximum value for a given column."""
    return _extreme(call, lambda value, state: bool(value > state))


@library.aggregate("MIN", *_ORDERED)
def minimum(call: Call) -> Aggregate:
    """Computes the minimum value for a given column."""
    return _extreme(call, lambda value, state: bool(value < state))


def _top_count(call: Call) -> int:
    (count,) = call.literals
    if count is None or count < 1:
        raise FunctionError(f"topkSize must be greater than zero. Got: {count}")
    return int(count)


@library.aggregate(
    "TOPK",
    *(
        f"({type} x, ANY... others, INT k literal) -> {type}"
        for type in ("INT", "BIGINT", "DOUBLE", "STRING")
    ),
)
def top(call: Call) -> Aggregate:
    """Computes the top k values of a column, per group."""
    count = _top_count(call)
    columns = call.types[:-1]  # the last is k
    first = columns[0]
    assert first is not None
    if len(columns) == 1:
        return _tops(first, count, order_of(first), lambda value: value)
    names = ["sort_col", *(f"col{at}" for at in range(len(columns) - 1))]
    fields = []
    for name, type in zip(names, columns, strict=True):
        if type is None:
            raise FunctionError("TOPK needs to know the types of its columns: cast NULL to one")
        fields.append(Field(name, type))

    def record(*values: Any) -> dict[str, Any]:
        return dict(zip(names, values, strict=True))

    return _tops(StructType(tuple(fields)), count, lambda row: row["sort_col"], record)


def _tops(
    element: SqlType, count: int, order: Order | None, record: Callable[..., Any]
) -> Aggregate:
    type = ArrayType(element)

    def rank(value: Any) -> Any:
        return value if order is None else order(value)

    def insert(state: list[Any], element: Any) -> list[Any]:
        """Behind those that are equal, of which the first stays."""
        ascending = [rank(each) for each in reversed(state)]
        at = len(state) - bisect_left(ascending, rank(element))
        return [*state[:at], element, *state[at:]][:count] if at < count else state

    def add(state: list[Any], *values: Any) -> list[Any]:
        return state if values[0] is None else insert(state, record(*values))

    def merge(one: list[Any], other: list[Any]) -> list[Any]:
        for each in other:
            one = insert(one, each)
        return one

    return Aggregate(type, type, list, add, merge=merge)


@library.aggregate(
    "TOPKDISTINCT",
    *(
        f"({type} col, INT k literal) -> ARRAY<{type}>"
        for type in (
            "INT", "BIGINT", "DOUBLE", "STRING", "DECIMAL", "DATE", "TIME", "TIMESTAMP", "BYTES"
        )
    ),
)  # fmt: skip
def top_distinct(call: Call) -> Aggregate:
    """Computes the top k distinct values of a column, per group."""
    count = _top_count(call)
    element = call.types[0]
    assert element is not None
    order = order_of(element)

    def rank(value: Any) -> Any:
        return value if order is None else order(value)

    def add(state: list[Any], value: Any) -> list[Any]:
        if value is None or value in state:
            return state
        ascending = [rank(each) for each in reversed(state)]
        at = len(state) - bisect_right(ascending, rank(value))
        return [*state[:at], value, *state[at:]][:count]

    def merge(one: list[Any], other: list[Any]) -> list[Any]:
        for each in other:
            one = add(one, each)
        return one

    return Aggregate(ArrayType(element), ArrayType(element), list, add, merge=merge)
