"""Columns from the schema registry, and schemas of columns for it."""

from __future__ import annotations

from headrace.sql.formats.catalog import FormatError, FormatInfo
from headrace.sql.formats.registry import SchemaRegistry
from headrace.sql.formats.shape import RowFormat
from headrace.sql.schema import Column


def infer_columns(
    info: FormatInfo,
    topic: str,
    registry: SchemaRegistry | None,
    *,
    is_key: bool,
    unwrapped: bool = False,
) -> tuple[Column, ...]:
    """The columns of a topic's keys or values, from the newest schema of its subject, or from the
    schema whose id the info has (then the names keep their case). `unwrapped`: the schema is that
    of a single column, ROWKEY or ROWVAL; so it is always if it isn't one of a record.

    Raises FormatError if there is none, or if it can't be had in SQL.
    """
    raise FormatError(f"{info.name}: schemas aren't there yet")


def register(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> int | None:
    """Register the schema of these columns for a topic. Gives its id, or None if the format has no
    schemas in the registry, or there are no columns. A schema id of the info stays as it is."""
    return None


def check_physical_schema(rows: RowFormat, registry: SchemaRegistry | None) -> None:
    """Raise FormatError if the schema whose id the info has doesn't begin with these columns."""
