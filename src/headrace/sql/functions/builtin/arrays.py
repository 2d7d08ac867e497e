"""Functions of arrays. Elements may be arrays, maps and structs, which Python can't hash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.sql.casts import text_of
from headrace.sql.functions.function import Call
from headrace.sql.functions.library import Library
from headrace.sql.functions.order import order_of
from headrace.sql.functions.sizes import check_items, joined
from headrace.sql.types import ArrayType

library = Library("ARRAY")

Array = list[Any]


def _distinct(array: Array) -> Array:
    try:
        return list(dict.fromkeys(array))
    except TypeError:
        found: Array = []
        for element in array:
            if element not in found:
                found.append(element)
        return found


@library.scalar("array_length", "(ARRAY<T> array) -> INT")
def array_length(array: Array) -> int:
    """The number of an array's elements."""
    return len(array)


@library.scalar("array_contains", "(ARRAY<T> array, T val) -> BOOLEAN", strict=False)
def array_contains(array: Array | None, value: Any) -> bool:
    """Whether an array has an element."""
    return array is not None and value in array


@library.scalar("array_concat", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>", strict=False)
def array_concat(left: Array | None, right: Array | None) -> Array | None:
    """The elements of two arrays one after another."""
    if left is None or right is None:
        return right if left is None else left
    check_items(len(left) + len(right))
    return left + right


@library.scalar("array_distinct", "(ARRAY<T> input) -> ARRAY<T>")
def array_distinct(array: Array) -> Array:
    """The distinct elements of an array."""
    return _distinct(array)


@library.scalar("array_except", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>")
def array_except(left: Array, right: Array) -> Array:
    """The distinct elements of an array that another hasn't got."""
    return [element for element in _distinct(left) if element not in right]


@library.scalar("array_intersect", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>")
def array_intersect(left: Array, right: Array) -> Array:
    """The distinct elements that two arrays have in common."""
    return [element for element in _distinct(left) if element in right]


@library.scalar("array_union", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>")
def array_union(left: Array, right: Array) -> Array:
    """The distinct elements of two arrays."""
    check_items(len(left) + len(right))
    return _distinct(left + right)


@library.scalar("array_remove", "(ARRAY<T> array, T victim) -> ARRAY<T>", strict=False)
def array_remove(array: Array | None, victim: Any) -> Array | None:
    """An array without the elements that equal a value."""
    return None if array is None else [element for element in array if element != victim]


_JOINED = ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "STRING")


@library.scalar(
    "array_join",
    "(ARRAY<T> array) -> STRING",
    "(ARRAY<T> array, STRING delimiter) -> STRING",
    strict=False,
    bound=True,
)
def array_join(call: Call) -> Callable[..., str | None]:
    """The elements of an array as text, with a delimiter between them."""
    type = call.types[0]
    element = type.element if isinstance(type, ArrayType) else None
    if element is not None and element.name not in _JOINED:

        def refuse(*arguments: Any) -> str | None:
            raise TypeError(f"ARRAY_JOIN can't join elements of type {element}")

        return refuse
    text = str if element is None else text_of(element)

    def join(array: Array | None, delimiter: str | None = ",") -> str | None:
        if array is None:
            return None
        return joined(delimiter or "", ["null" if each is None else text(each) for each in array])

    return join


def _extreme(call: Call, choose: Callable[..., Any]) -> Callable[[Array], Any]:
    type = call.types[0]
    order = order_of(type.element) if isinstance(type, ArrayType) else None

    def compute(array: Array) -> Any:
        known = [element for element in array if element is not None]
        return choose(known, key=order) if known else None

    return compute


@library.scalar("array_max", "(ARRAY<T> input) -> T", bound=True)
def array_max(call: Call) -> Callable[[Array], Any]:
    """The greatest element of an array."""
    return _extreme(call, max)


@library.scalar("array_min", "(ARRAY<T> input) -> T", bound=True)
def array_min(call: Call) -> Callable[[Array], Any]:
    """The least element of an array."""
    return _extreme(call, min)


@library.scalar(
    "array_sort",
    "(ARRAY<T> input) -> ARRAY<T>",
    "(ARRAY<T> input, STRING direction) -> ARRAY<T>",
    bound=True,
)
def array_sort(call: Call) -> Callable[..., Array | None]:
    """The elements of an array in order, or in the order's reverse (DESC). NULL comes last."""
    type = call.types[0]
    order = order_of(type.element) if isinstance(type, ArrayType) else None

    def sort(array: Array, direction: str = "ASC") -> Array | None:
        upper = direction.upper()
        if upper not in ("ASC", "ASCENDING", "DESC", "DESCENDING"):
            return None
        known = [element for element in array if element is not None]
        known.sort(key=order, reverse=upper.startswith("DESC"))
        return known + [None] * (len(array) - len(known))

    return sort


@library.scalar("slice", "(ARRAY<T> in, INT from, INT to) -> ARRAY<T>", strict=False)
def array_slice(array: Array | None, start: int | None, end: int | None) -> Array | None:
    """The elements of an array between two positions, both included, counted from 1."""
    if array is None:
        return None
    first = 1 if start is None else start
    last = len(array) if end is None else end
    if first < 1 or last > len(array) or first > last + 1:
        return None
    return array[first - 1 : last]


@library.scalar(
    "generate_series",
    "(INT start, INT end) -> ARRAY<INT>",
    "(INT start, INT end, INT step) -> ARRAY<INT>",
    "(BIGINT start, BIGINT end) -> ARRAY<BIGINT>",
    "(BIGINT start, BIGINT end, INT step) -> ARRAY<BIGINT>",
)
def generate_series(start: int, end: int, step: int | None = None) -> Array:
    """The numbers from start to end, both included."""
    if step is None:
        step = 1 if end >= start else -1
    if step == 0:
        raise ValueError("GENERATE_SERIES step cannot be zero")
    if (end - start) * step < 0:
        raise ValueError("GENERATE_SERIES step has wrong sign")
    check_items((end - start) // step + 1)
    return list(range(start, end + (1 if step > 0 else -1), step))
