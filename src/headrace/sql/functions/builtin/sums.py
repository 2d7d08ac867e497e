"""Aggregates that add up: SUM, AVG, SUM_LIST, deviation and correlation."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.sql import decimals
from headrace.sql.casts import wrapped_bigint, wrapped_int
from headrace.sql.decimals import EXACT
from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.function import Call
from headrace.sql.functions.library import Library
from headrace.sql.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    ArrayType,
    DecimalType,
    Field,
    SqlType,
    StructType,
)

library = Library("AGGREGATE")

Number = Any
Struct = dict[str, Any]


def _wrapping(type: SqlType) -> Callable[[Number], Number]:
    """What keeps a sum in the range of its type, as Java does."""
    if type == INTEGER:
        return wrapped_int
    return wrapped_bigint if type == BIGINT else float


def _zero(type: SqlType) -> Number:
    if isinstance(type, DecimalType):
        return decimals.rounded(Decimal(0), type.scale)
    return 0.0 if type == DOUBLE else 0


@library.aggregate("SUM", "(DOUBLE col) -> DOUBLE", "(BIGINT col) -> BIGINT", "(INT col) -> INT")
def sum_of(call: Call) -> Aggregate:
    """Computes the sum for a given column."""
    type = _known(call.types[0])
    wrapped, zero = _wrapping(type), _zero(type)
    if type == DOUBLE:
        return Aggregate(
            type,
            type,
            lambda: zero,
            lambda state, value: state if value is None else state + value,
            undo=lambda state, value: state if value is None else state - value,
            merge=lambda one, other: one + other,
        )
    return Aggregate(
        type,
        type,
        lambda: zero,
        lambda state, value: state if value is None else wrapped(state + value),
        undo=lambda state, value: state if value is None else wrapped(state - value),
        merge=lambda one, other: wrapped(one + other),
    )


@library.aggregate("SUM", "(DECIMAL col) -> DECIMAL")
def sum_of_decimals(call: Call) -> Aggregate:
    type = _known(call.types[0])
    assert isinstance(type, DecimalType)
    zero = _zero(type)

    def add(state: Decimal, value: Decimal | None) -> Decimal:
        return state if value is None else decimals.fitted(EXACT.add(state, value), type)

    def undo(state: Decimal, value: Decimal | None) -> Decimal:
        return state if value is None else decimals.fitted(EXACT.subtract(state, value), type)

    return Aggregate(type, type, lambda: zero, add, undo=undo, merge=add)


@library.aggregate(
    "SUM_LIST",
    "(ARRAY<DOUBLE> col) -> DOUBLE",
    "(ARRAY<INT> col) -> INT",
    "(ARRAY<BIGINT> col) -> BIGINT",
)
def sum_of_lists(call: Call) -> Aggregate:
    """Computes the sum of a list."""
    array = call.types[0]
    assert isinstance(array, ArrayType)
    type = array.element
    wrapped, zero = _wrapping(type), _zero(type)

    def total(values: list[Number] | None) -> Number:
        return sum((each for each in values or () if each is not None), zero)

    return Aggregate(
        type,
        type,
        lambda: zero,
        lambda state, values: wrapped(state + total(values)),
        undo=lambda state, values: wrapped(state - total(values)),
        merge=lambda one, other: wrapped(one + other),
    )


@library.aggregate("AVG", "(BIGINT col) -> DOUBLE", "(INT col) -> DOUBLE", "(DOUBLE col) -> DOUBLE")
def average(call: Call) -> Aggregate:
    """Compute the average for a given column."""
    type = _known(call.types[0])
    wrapped, zero = _wrapping(type), _zero(type)

    def moved(sign: int) -> Callable[[Struct, Number | None], Struct]:
        def step(state: Struct, value: Number | None) -> Struct:
            if value is None:
                return state
            return {
                "SUM": wrapped(state["SUM"] + sign * value),
                "COUNT": state["COUNT"] + sign,
            }

        return step

    return Aggregate(
        DOUBLE,
        StructType((Field("SUM", type), Field("COUNT", BIGINT))),
        lambda: {"SUM": zero, "COUNT": 0},
        moved(1),
        lambda state: state["SUM"] / state["COUNT"] if state["COUNT"] else 0.0,
        undo=moved(-1),
        merge=lambda one, other: {
            "SUM": wrapped(one["SUM"] + other["SUM"]),
            "COUNT": one["COUNT"] + other["COUNT"],
        },
    )


def _variance_of(call: Call, result: Callable[[float], float]) -> Aggregate:
    """Sums of squares are brought forward as Youngs and Cramer do, without losing digits."""
    type = _known(call.types[0])
    wrapped, zero = _wrapping(type), _zero(type)

    def spread(count: int, value: Number, total: Number) -> float:
        """What one of `count` values adds to the squares, when `total` is their sum."""
        if count < 2:
            return 0.0
        distance = float(count * value - total)
        return distance * distance / (count * (count - 1))

    def add(state: Struct, value: Number | None) -> Struct:
        if value is None:
            return state
        total, count = wrapped(state["SUM"] + value), state["COUNT"] + 1
        squares = state["M2"] + spread(count, value, total)
        return {"SUM": total, "COUNT": count, "M2": squares}

    def undo(state: Struct, value: Number | None) -> Struct:
        if value is None:
            return state
        total, count = state["SUM"], state["COUNT"]
        squares = state["M2"] - spread(count, value, total)
        return {"SUM": wrapped(total - value), "COUNT": count - 1, "M2": squares}

    def merge(one: Struct, other: Struct) -> Struct:
        count, more = one["COUNT"], other["COUNT"]
        if not count or not more:
            return other if not count else one
        distance = more / count * one["SUM"] - other["SUM"]
        squares = count / (more * (count + more)) * distance * distance
        return {
            "SUM": wrapped(one["SUM"] + other["SUM"]),
            "COUNT": count + more,
            "M2": one["M2"] + other["M2"] + squares,
        }

    return Aggregate(
        DOUBLE,
        StructType((Field("SUM", type), Field("COUNT", BIGINT), Field("M2", DOUBLE))),
        lambda: {"SUM": zero, "COUNT": 0, "M2": 0.0},
        add,
        lambda state: result(state["M2"] / (state["COUNT"] - 1)) if state["COUNT"] > 1 else 0.0,
        undo=undo,
        merge=merge,
    )


_DEVIATIONS = ("(BIGINT col) -> DOUBLE", "(INT col) -> DOUBLE", "(DOUBLE col) -> DOUBLE")


@library.aggregate("STDDEV_SAMP", *_DEVIATIONS)
def variance(call: Call) -> Aggregate:
    """Computes the sample variance of a column, in spite of its name: see STDDEV_SAMPLE."""
    return _variance_of(call, float)


@library.aggregate("STDDEV_SAMPLE", *_DEVIATIONS)
def deviation(call: Call) -> Aggregate:
    """Computes the sample standard deviation of a column."""
    return _variance_of(call, math.sqrt)


_SUMS = ("COUNT", "SUM_X", "SUM_Y", "SUM_XX", "SUM_YY", "SUM_XY")


@library.aggregate(
    "CORRELATION",
    "(DOUBLE x, DOUBLE y) -> DOUBLE",
    "(INT x, INT y) -> DOUBLE",
    "(BIGINT x, BIGINT y) -> DOUBLE",
)
def correlation(call: Call) -> Aggregate:
    """Computes the Pearson correlation of two columns."""

    def moved(sign: int) -> Callable[[Struct, Number | None, Number | None], Struct]:
        def step(state: Struct, x: Number | None, y: Number | None) -> Struct:
            if x is None or y is None:
                return state
            x, y = float(x), float(y)
            parts = (1, x, y, x * x, y * y, x * y)
            return {
                name: state[name] + sign * part for name, part in zip(_SUMS, parts, strict=True)
            }

        return step

    def result(state: Struct) -> float:
        count, x, y, xx, yy, xy = (state[name] for name in _SUMS)
        product = (count * xx - x * x) * (count * yy - y * y)
        if product <= 0:
            return math.nan
        ratio: float = (count * xy - x * y) / math.sqrt(product)
        return ratio

    return Aggregate(
        DOUBLE,
        StructType((Field("COUNT", BIGINT), *(Field(name, DOUBLE) for name in _SUMS[1:]))),
        lambda: {"COUNT": 0, **dict.fromkeys(_SUMS[1:], 0.0)},
        moved(1),
        result,
        undo=moved(-1),
        merge=lambda one, other: {name: one[name] + other[name] for name in _SUMS},
    )


def _known(type: SqlType | None) -> SqlType:
    assert type is not None  # the signatures name it
    return type
