"""COUNT, COUNT_DISTINCT, COLLECT_LIST, COLLECT_SET, HISTOGRAM and ATTR."""

from __future__ import annotations

from typing import Any

from headrace.sql.functions import distinct
from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.errors import FunctionError
from headrace.sql.functions.function import Call
from headrace.sql.functions.library import Library
from headrace.sql.types import (
    BIGINT,
    BYTES,
    STRING,
    ArrayType,
    Field,
    MapType,
    SqlType,
    StructType,
)

library = Library("AGGREGATE")

_HISTOGRAM_KEYS = 1000


def _type(call: Call) -> SqlType:
    if call.types[0] is None:
        raise FunctionError("The type of NULL isn't known here: cast it to one")
    return call.types[0]


def _limit(call: Call, name: str) -> int | None:
    """How long a collection may grow."""
    limit = int(call.settings.get(f"ksql.functions.{name}.limit", -1))
    return None if limit < 0 else limit


@library.aggregate("COUNT", "(T col) -> BIGINT")
def count(call: Call) -> Aggregate:
    """Counts the rows whose argument isn't NULL, or all rows."""
    return Aggregate(
        BIGINT,
        BIGINT,
        _zero,
        count_one,
        undo=uncount,
        merge=_sum,
    )


def _zero() -> int:
    return 0


def count_one(state: int, value: Any) -> int:
    return state if value is None else state + 1


def uncount(state: int, value: Any) -> int:
    return state if value is None else state - 1


def _sum(one: int, other: int) -> int:
    return one + other


@library.aggregate("COUNT_DISTINCT", "(T col) -> BIGINT")
def count_distinct(call: Call) -> Aggregate:
    """Counts the distinct values of a column, approximately."""
    return Aggregate(
        BIGINT,
        BYTES,
        lambda: b"",
        lambda state, value: state if value is None else distinct.added(state, value),
        distinct.estimate,
        merge=distinct.merged,
    )


@library.aggregate("COLLECT_LIST", "(T col) -> ARRAY<T>")
def collect_list(call: Call) -> Aggregate:
    """Gathers all of the values of a column into an array."""
    type = ArrayType(_type(call))
    limit = _limit(call, "collect_list")

    def add(state: list[Any], value: Any) -> list[Any]:
        return [*state, value] if limit is None or len(state) < limit else state

    def undo(state: list[Any], value: Any) -> list[Any]:
        """Removes the last that is equal."""
        for at in range(len(state) - 1, -1, -1):
            if state[at] == value:
                return [*state[:at], *state[at + 1 :]]
        return state

    def merge(one: list[Any], other: list[Any]) -> list[Any]:
        return [*one, *other][:limit]

    return Aggregate(type, type, list, add, undo=undo, merge=merge)


@library.aggregate("COLLECT_SET", "(T col) -> ARRAY<T>")
def collect_set(call: Call) -> Aggregate:
    """Gathers all of the distinct values of a column into an array."""
    type = ArrayType(_type(call))
    limit = _limit(call, "collect_set")

    def add(state: list[Any], value: Any) -> list[Any]:
        if (limit is not None and len(state) >= limit) or value in state:
            return state
        return [*state, value]

    def merge(one: list[Any], other: list[Any]) -> list[Any]:
        for each in other:
            one = add(one, each)
        return one

    return Aggregate(type, type, list, add, merge=merge)


@library.aggregate("HISTOGRAM", "(STRING col) -> MAP<STRING, BIGINT>")
def histogram(call: Call) -> Aggregate:
    """Returns a map of each distinct text to the number of times that it occurred."""
    type = MapType(STRING, BIGINT)

    def add(state: dict[str, int], value: str | None) -> dict[str, int]:
        if value is None or (value not in state and len(state) >= _HISTOGRAM_KEYS):
            return state
        return {**state, value: state.get(value, 0) + 1}

    def undo(state: dict[str, int], value: str | None) -> dict[str, int]:
        if value is None or value not in state:
            return state
        left = {**state, value: state[value] - 1}
        if left[value] < 1:
            del left[value]
        return left

    def merge(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        merged = dict(one)
        for text, times in other.items():
            if text in merged or len(merged) < _HISTOGRAM_KEYS:
                merged[text] = merged.get(text, 0) + times
        return merged

    return Aggregate(type, type, dict, add, undo=undo, merge=merge)


@library.aggregate("ATTR", "(T col) -> T")
def attribute(call: Call) -> Aggregate:
    """Returns the value that all rows of the group have, or NULL if there are several."""
    type = _type(call)
    counted = ArrayType(StructType((Field("VALUE", type), Field("COUNT", BIGINT))))

    def moved(state: list[dict[str, Any]], value: Any, by: int) -> list[dict[str, Any]]:
        found, result = False, []
        for entry in state:
            times = entry["COUNT"]
            if entry["VALUE"] == value:
                found = True
                times += by
            if times > 0:
                result.append({"VALUE": entry["VALUE"], "COUNT": times})
        return result if found or by < 0 else [*result, {"VALUE": value, "COUNT": by}]

    def merge(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for entry in other:
            one = moved(one, entry["VALUE"], entry["COUNT"])
        return one

    return Aggregate(
        type,
        counted,
        list,
        lambda state, value: moved(state, value, 1),
        lambda state: state[0]["VALUE"] if len(state) == 1 else None,
        undo=lambda state, value: moved(state, value, -1),
        merge=merge,
    )
