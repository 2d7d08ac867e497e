"""Functions of maps."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from headrace.sql.functions.library import Library

library = Library("MAP")

Map = dict[str, Any]


@library.scalar("as_map", "(ARRAY<STRING> keys, ARRAY<T> values) -> MAP<STRING, T>")
def as_map(keys: list[str], values: list[Any]) -> Map:
    """A map from keys to values at the same positions."""
    return dict(zip_longest(keys, values[: len(keys)]))


@library.scalar("map_keys", "(MAP<STRING, T> input) -> ARRAY<STRING>")
def map_keys(entries: Map) -> list[str]:
    """The keys of a map."""
    return list(entries)


@library.scalar("map_values", "(MAP<STRING, T> input) -> ARRAY<T>")
def map_values(entries: Map) -> list[Any]:
    """The values of a map."""
    return list(entries.values())


@library.scalar(
    "map_union", "(MAP<STRING, T> map1, MAP<STRING, T> map2) -> MAP<STRING, T>", strict=False
)
def map_union(one: Map | None, other: Map | None) -> Map | None:
    """The entries of two maps, of which the second goes before."""
    if one is None or other is None:
        return other if one is None else one
    return one | other


@library.scalar(
    "entries",
    *(
        f"(MAP<STRING, {type}> map, BOOLEAN sorted) -> ARRAY<STRUCT<K STRING, V {type}>>"
        for type in ("INT", "BIGINT", "DOUBLE", "BOOLEAN", "STRING")
    ),
)
def entries(entries: Map, in_order: bool) -> list[dict[str, Any]]:
    """The entries of a map as structs, in the order of the keys if wanted."""
    pairs = sorted(entries.items(), key=_key) if in_order else entries.items()
    return [{"K": key, "V": value} for key, value in pairs]


def _key(entry: tuple[str, Any]) -> str:
    return entry[0]
