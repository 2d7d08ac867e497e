"""The functions that exist only for the cases."""

from __future__ import annotations

from itertools import count
from typing import Any

from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.function import Call
from headrace.sql.functions.library import Library
from headrace.sql.functions.registry import FunctionRegistry, builtin_functions
from headrace.sql.java_numbers import double_text
from headrace.sql.types import BIGINT, DOUBLE, INTEGER, STRING, ArrayType, Field, StructType

library = Library("TEST")

_A = "STRUCT<A STRING>"


def functions() -> FunctionRegistry:
    """The built-in functions, and those for the cases."""
    registry = builtin_functions().copy()
    for function in library:
        registry.register(function)
    return registry


# Scalar functions


@library.scalar("test_udf", "(INT a, STRING b) -> STRING", strict=False)
def _int_string(*_: Any) -> str:
    return "doStuffIntString"


@library.scalar("test_udf", "(BIGINT a, STRING b) -> STRING", strict=False)
def _long_string(*_: Any) -> str:
    return "doStuffLongString"


@library.scalar("test_udf", "(BIGINT a, BIGINT b, STRING c) -> STRING", strict=False)
def _long_long_string(*_: Any) -> str:
    return "doStuffLongLongString"


@library.scalar("test_udf", "(BIGINT... a) -> STRING", strict=False)
def _long_varargs(*_: Any) -> str:
    return "doStuffLongVarargs"


@library.scalar("test_udf", f"({_A} a) -> STRING")
def _member(struct: dict[str, Any]) -> Any:
    return struct["A"]


@library.scalar("test_udf", f"() -> {_A}")
def _foo() -> dict[str, Any]:
    return {"A": "foo"}


@library.scalar("bad_udf", "(INT a) -> INT", strict=False)
def _always_bad(_: Any) -> int:
    raise ValueError("boom!")


@library.scalar("bad_udf", "(BOOLEAN a) -> INT", strict=False)
def _bad_if_true(bad: Any) -> int:
    if bad:
        raise ValueError("You asked me to throw...")
    return 0


@library.scalar("bad_udf", "(STRING a) -> STRING", bound=True, strict=False)
def _bad_every_other_time(_: Call) -> Any:
    calls = count(1)
    return lambda text: None if next(calls) % 2 else text


@library.scalar("whencondition", "(BOOLEAN a, BOOLEAN b) -> BOOLEAN", "(INT a, BOOLEAN b) -> INT")
@library.scalar("whenresult", "(BOOLEAN a, BOOLEAN b) -> BOOLEAN", "(INT a, BOOLEAN b) -> INT")
def _only_if(value: Any, expected: bool) -> Any:
    if not expected:
        raise ValueError("When condition in case is not running lazily!")
    return value


@library.scalar("tostruct", f"(STRING a) -> {_A}", strict=False)
def _to_struct(text: Any) -> dict[str, Any]:
    return {"A": text}


# Table functions

_SIMPLE = ("INT", "BIGINT", "DOUBLE", "BOOLEAN", "STRING", _A)
_ALL = ("INT", "BIGINT", "DOUBLE", "BOOLEAN", "STRING", "DECIMAL", _A)


@library.table("test_udtf", *(f"({type} a) -> {type}" for type in _SIMPLE))
@library.table("test_udtf", "(DECIMAL a) -> DECIMAL(30, 10)")
def _one_row(value: Any) -> list[Any]:
    return [value]


@library.table(
    "test_udtf", "(" + ", ".join(f"{type} a{n}" for n, type in enumerate(_ALL)) + ") -> STRING"
)
def _texts(*values: Any) -> list[str]:
    return [_text(value) for value in values]


@library.table(
    "test_udtf",
    "(" + ", ".join(f"ARRAY<{type}> a{n}" for n, type in enumerate(_ALL)) + ") -> STRING",
)
def _texts_of_elements(*arrays: Any) -> list[str]:
    return [_text(array[0]) for array in arrays]


def _of_maps(*first: str) -> str:
    types = (*first, *(f"MAP<STRING, {type}>" for type in _ALL))
    return "(" + ", ".join(f"{type} a{n}" for n, type in enumerate(types)) + ") -> STRING"


@library.table("test_udtf", _of_maps(), _of_maps("BIGINT"))
def _texts_of_values(*maps: Any) -> list[str]:
    return [_text(next(iter(m.values())) if isinstance(m, dict) else m) for m in maps]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, dict):
        return "Struct{" + ",".join(f"{key}={_text(item)}" for key, item in value.items()) + "}"
    return str(value)


@library.table("throwing_udtf", "(BOOLEAN a) -> BOOLEAN")
def _throwing(bad: bool) -> list[bool]:
    if bad:
        raise ValueError("You asked me to throw...")
    return [False]


# Aggregates


@library.aggregate("test_udaf", "(BIGINT a) -> BIGINT", "(INT a) -> BIGINT")
def _sum(call: Call) -> Aggregate:
    is_int = call.types[0] == INTEGER
    start = int(call.settings.get("ksql.functions.test_udaf.init", 0)) if is_int else 0
    return Aggregate(
        BIGINT,
        BIGINT,
        lambda: start,
        lambda state, value: state + (value or 0),
        undo=lambda state, value: state - (value or 0),
        merge=lambda one, other: one + other,
    )


@library.aggregate("test_udaf", "(DOUBLE a) -> DOUBLE")
def _sum_of_doubles(_: Call) -> Aggregate:
    return Aggregate(
        DOUBLE,
        DOUBLE,
        lambda: 0.0,
        lambda state, value: state + (value or 0.0),
        merge=lambda one, other: one + other,
    )


@library.aggregate("test_udaf", "(STRING a, STRING b literal) -> BIGINT")
def _sum_of_lengths(call: Call) -> Aggregate:
    start = len(call.literals[0])
    return Aggregate(
        BIGINT,
        BIGINT,
        lambda: start,
        lambda state, value: state + len(value or ""),
        merge=lambda one, other: one + other,
    )


_PAIR = StructType((Field("A", INTEGER), Field("B", INTEGER)))


@library.aggregate("test_udaf", "(STRUCT<A INT, B INT> a) -> STRUCT<A INT, B INT>")
def _sum_of_pairs(_: Call) -> Aggregate:
    def add(state: dict[str, int], value: dict[str, Any] | None) -> dict[str, int]:
        return {name: state[name] + ((value or {}).get(name) or 0) for name in ("A", "B")}

    return Aggregate(_PAIR, _PAIR, lambda: {"A": 0, "B": 0}, add, merge=add)


def _size(value: Any) -> int:
    if value is None:
        return 0
    return len(value) if isinstance(value, str) else int(value)


@library.aggregate(
    "MULTI_ARG", "(BIGINT a, STRING b, INT c literal, STRING... d literal) -> BIGINT"
)
@library.aggregate(
    "FOUR_ARG",
    "(BIGINT a, STRING b, STRING c, STRING d, INT e literal, STRING... f literal) -> BIGINT",
)
@library.aggregate(
    "FIVE_ARG",
    "(BIGINT a, STRING b, STRING c, STRING d, INT e, INT f literal, STRING... g literal) -> BIGINT",
)
def _sum_of_sizes(call: Call) -> Aggregate:
    start = sum(map(_size, call.literals))
    return Aggregate(
        BIGINT,
        BIGINT,
        lambda: start,
        lambda state, *values: state + sum(map(_size, values)),
        merge=lambda one, other: one + other,
    )


@library.aggregate("VAR_ARG", "(BIGINT a, STRING... b) -> BIGINT")
@library.aggregate("MID_VAR_ARG", "(BIGINT a, STRING... b, INT c literal, INT d literal) -> BIGINT")
def _sum_of_sizes_and_more(call: Call) -> Aggregate:
    return Aggregate(
        BIGINT,
        BIGINT,
        lambda: 0,
        lambda state, *values: state + sum(map(_size, values)),
        result=lambda state: state + sum(map(_size, call.literals)),
        merge=lambda one, other: one + other,
    )


@library.aggregate("OBJ_COL_ARG", "(INT a, ANY... b) -> ARRAY<INT>")
@library.aggregate("GENERIC_VAR_ARG", "(A a, B b, C... c) -> ARRAY<A>")
def _without_nulls(call: Call) -> Aggregate:
    array = ArrayType(call.types[0] or STRING)
    return Aggregate(
        array,
        array,
        list,
        lambda state, *values: state if None in values else [*state, values[0]],
        merge=lambda one, other: one + other,
    )
