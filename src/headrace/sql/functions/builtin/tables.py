"""Table functions: EXPLODE and CUBE_EXPLODE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from headrace.sql.functions.library import Library
from headrace.sql.types import ArrayType, SqlType

library = Library("TABLE")

_MAX_CUBE = 16


def _element(types: Sequence[SqlType | None]) -> SqlType | None:
    type = types[0]
    return type.element if isinstance(type, ArrayType) else None


@library.table("explode", "(ARRAY<T> list) -> T")
@library.table("explode", "(ARRAY<DECIMAL> input) -> DECIMAL", returns=_element)
def explode(array: list[Any]) -> list[Any]:
    """A row for each element of an array."""
    return array


@library.table("cube_explode", "(ARRAY<T> columns) -> ARRAY<T>")
def cube_explode(columns: list[Any]) -> Iterator[list[Any]]:
    """A row for each choice of an array's elements, with NULL in the place of the others."""
    if len(columns) > _MAX_CUBE:
        raise ValueError(f"CUBE_EXPLODE takes up to {_MAX_CUBE} columns, not {len(columns)}")
    choices = [(None,) if column is None else (None, column) for column in columns]
    return (list(choice) for choice in product(*choices))
