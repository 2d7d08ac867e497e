"""COALESCE, IFNULL, NULLIF, and AS_VALUE."""

from __future__ import annotations

from typing import Any

from headrace.sql.functions.library import Library

library = Library("CONDITIONAL")
others = Library("OTHER")


@library.scalar("coalesce", "(T first, T... others) -> T", strict=False)
def coalesce(*values: Any) -> Any:
    """The first of the arguments that isn't NULL."""
    for value in values:
        if value is not None:
            return value
    return None


@library.scalar("ifnull", "(T expression, T altValue) -> T", strict=False)
def if_null(value: Any, other: Any) -> Any:
    """The first argument, or the second if the first is NULL."""
    return other if value is None else value


@library.scalar("nullif", "(T expr1, T expr2) -> T", strict=False)
def null_if(value: Any, other: Any) -> Any:
    """NULL if both arguments are equal, else the first."""
    return None if value == other else value


@others.scalar("as_value", "(T keyColumn) -> T", strict=False)
def as_value(value: Any) -> Any:
    """The argument itself: copies a key column into the value."""
    return value
