"""What is selected: `*` and `->*` are replaced by what they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.sql.analysis.query import ResolvedQuery
from headrace.sql.analysis.sources import PSEUDO_COLUMNS, WINDOW_BOUNDS, QuerySource
from headrace.sql.errors import SqlError
from headrace.sql.plan.columns import Columns
from headrace.sql.plan.keys import KeyPart
from headrace.sql.plan.typing import Typing
from headrace.sql.syntax.ast import (
    AllColumns,
    ColumnReference,
    Expression,
    FieldAccess,
    SingleColumn,
    StructAll,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import StructType


@dataclass(frozen=True)
class Selected:
    """A column of the result. In the expression, columns still have their sources."""

    alias: str
    expression: Expression


def expand(
    query: ResolvedQuery,
    columns: Columns,
    key: tuple[KeyPart, ...],
    typing: Typing,
    *,
    bounds: bool = False,
) -> list[Selected]:
    """All columns that a query selects, in order. `bounds`: those of windows are among them.
    Without it they are in joins only, as ksqlDB leaves them out by their names."""
    bounds = bounds or query.is_join
    selected: list[Selected] = []
    for item in query.select:
        match item:
            case SingleColumn(expression, alias):
                selected.append(Selected(str(alias), expression))
            case AllColumns(None):
                selected += _all(query, columns, key, bounds)
            case AllColumns(alias):
                source = next(each for each in query.sources if each.alias == alias)
                selected += _of_source(source, columns, bounds)
            case StructAll(base):
                selected += _fields(base, columns, typing)
    return selected


def _all(
    query: ResolvedQuery, columns: Columns, key: tuple[KeyPart, ...], bounds: bool
) -> Iterator[Selected]:
    if query.partition_by and not all(part.is_unchanged for part in key):
        yield from _repartitioned(query, columns, key)
        return
    if columns.synthetic_key is not None:
        name = columns.synthetic_key
        yield Selected(name, ColumnReference(name))
    for source in query.sources:
        yield from _of_source(source, columns, bounds)


def _of_source(source: QuerySource, columns: Columns, bounds: bool) -> Iterator[Selected]:
    schema = source.source.schema
    windows = WINDOW_BOUNDS if source.source.window and bounds else ()
    for column in (*schema.key, *windows, *schema.value, *schema.headers):
        reference = ColumnReference(column.name, source.alias)
        yield Selected(columns.name(source.alias, column.name), reference)


def _repartitioned(
    query: ResolvedQuery, columns: Columns, key: tuple[KeyPart, ...]
) -> Iterator[Selected]:
    """The new key, then values, then keys of before. ksqlDB leaves out pseudo columns by their
    names, so that those of joins, which have other names, are in."""
    keyed = {expression for part in key for expression in part.expressions}
    for part in key:
        yield Selected(part.name, part.expressions[0])
    for source in query.sources:
        schema = source.source.schema
        pseudo = PSEUDO_COLUMNS if query.is_join else ()
        for column in (*schema.value, *schema.headers, *pseudo, *schema.key):
            reference = ColumnReference(column.name, source.alias)
            if reference not in keyed:
                yield Selected(columns.name(source.alias, column.name), reference)


def _fields(base: Expression, columns: Columns, typing: Typing) -> Iterator[Selected]:
    type_ = typing.value(columns.internal(base), columns.everything()).type
    if not isinstance(type_, StructType):
        raise SqlError(
            f"Cannot use the '->*' operator on {format_expression(base)}: it is no STRUCT, but "
            f"{type_}."
        )
    for field in type_.fields:
        yield Selected(field.name, FieldAccess(base, field.name))
