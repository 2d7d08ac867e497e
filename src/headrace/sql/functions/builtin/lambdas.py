"""FILTER, TRANSFORM and REDUCE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.hash_order import sized_map_order
from headrace.sql.functions.library import Library
from headrace.sql.functions.sizes import check_text, weight

library = Library("LAMBDA")

Function = Callable[..., Any]


def _sure(decision: bool | None) -> bool:
    if decision is None:
        raise ValueError("the lambda gave NULL")
    return decision


@library.scalar("filter", "(ARRAY<T> array, LAMBDA((T) => BOOLEAN) function) -> ARRAY<T>")
def filter_array(array: list[Any], keep: Function) -> list[Any]:
    """The elements of an array, or entries of a map, for which a lambda is TRUE."""
    return [element for element in array if _sure(keep(element))]


@library.scalar("filter", "(MAP<K, V> map, LAMBDA((K, V) => BOOLEAN) biFunction) -> MAP<K, V>")
def filter_map(entries: dict[Any, Any], keep: Function) -> dict[Any, Any]:
    kept = {key: value for key, value in entries.items() if _sure(keep(key, value))}
    if None in kept.values():
        raise ValueError("a value of the map is NULL")
    return kept


@library.scalar("transform", "(ARRAY<T> array, LAMBDA((T) => R) function) -> ARRAY<R>")
def transform_array(array: list[Any], change: Function) -> list[Any]:
    """What a lambda makes of each element of an array; lambdas, of each key and value of a map."""
    changed = []
    size = 0
    for element in array:
        made = change(element)
        size += weight(made)
        check_text(size)
        changed.append(made)
    return changed


@library.scalar(
    "transform",
    "(MAP<K, V> map, LAMBDA((K, V) => R) biFunction1, LAMBDA((K, V) => S) biFunction2) "
    "-> MAP<R, S>",
)
def transform_map(
    entries: dict[Any, Any], change_key: Function, change_value: Function
) -> dict[Any, Any]:
    changed: dict[Any, Any] = {}
    size = 0
    for key, value in entries.items():
        new_key, new_value = change_key(key, value), change_value(key, value)
        if new_key in changed:
            raise ValueError(f"Duplicate key {new_key}")
        if new_value is None:
            raise ValueError("a new value of the map is NULL")
        size += weight(new_key) + weight(new_value)
        check_text(size)
        changed[new_key] = new_value
    return changed


@library.scalar(
    "reduce",
    "(ARRAY<T> list, S initialState, LAMBDA((S, T) => S) biFunction) -> S",
    strict=False,
)
def reduce_array(array: list[Any] | None, state: Any, step: Function) -> Any:
    """What a lambda makes, one element or entry after another, of an initial state."""
    if array is None or state is None:
        return state
    for element in array:
        state = step(state, element)
    return state


@library.scalar(
    "reduce",
    "(MAP<K, V> map, S initialState, LAMBDA((S, K, V) => S) triFunction) -> S",
    strict=False,
)
def reduce_map(entries: dict[Any, Any] | None, state: Any, step: Function) -> Any:
    if entries is None or state is None:
        return state
    for key in _in_order(entries):
        state = step(state, key, entries[key])
    return state


def _in_order(entries: dict[Any, Any]) -> list[Any]:
    """The keys as Java's HashMap has them, where the order shows in the result."""
    if not all(isinstance(key, str) for key in entries):
        return list(entries)
    return sized_map_order(entries)
