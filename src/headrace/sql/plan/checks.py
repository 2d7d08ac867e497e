"""What can be wrong with a query before its steps are planned."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.analysis.query import ResolvedQuery
from headrace.sql.analysis.sources import SYSTEM_NAMES, QuerySource
from headrace.sql.errors import SqlError
from headrace.sql.expressions import compile_table_functions
from headrace.sql.functions.function import Kind
from headrace.sql.plan.aggregation import calls_of, check_functions
from headrace.sql.plan.draft import Draft, ignore
from headrace.sql.plan.keys import is_null
from headrace.sql.plan.selection import Selected
from headrace.sql.schema import Column
from headrace.sql.syntax.ast import Emit, SingleColumn


def check_sources(query: ResolvedQuery) -> None:
    """Of queries that go on for ever."""
    for source in query.sources:
        if source.source.is_table and source.source.window is not None:
            raise SqlError("KSQL does not support persistent queries on windowed tables.")


def check_clauses(query: ResolvedQuery, *, aggregates: bool) -> None:
    if len(query.partition_by) > 1 and any(is_null((each,)) for each in query.partition_by):
        raise SqlError("Cannot PARTITION BY multiple columns including NULL")
    if query.window is not None and not query.group_by:
        raise SqlError("WINDOW clause requires a GROUP BY clause.")
    if query.having is not None and not query.group_by:
        raise SqlError("HAVING clause requires a GROUP BY clause.")
    if query.emit is Emit.FINAL and query.window is None:
        raise SqlError("EMIT FINAL is only supported for windowed aggregations.")
    if aggregates:
        unfit = [
            each.source.name
            for each in query.sources
            if each.source.value_format.info.name == "KAFKA"
        ]
        if unfit:
            raise SqlError(
                f"Source(s) {', '.join(unfit)} are using the 'KAFKA' value format. "
                "This format does not yet support GROUP BY."
            )


def check_known_functions(draft: Draft, selected: Sequence[Selected]) -> None:
    query = draft.query
    expressions = [item.expression for item in selected]
    expressions += [each for each in (query.where, query.having) if each is not None]
    expressions += [*query.group_by, *query.partition_by]
    check_functions(expressions, draft.functions)


def check_types(draft: Draft, selected: Sequence[Selected]) -> None:
    """What is wrong with types is told before what is wrong with the key."""
    row = _everything(draft)
    scope = draft.typing.scope(row)
    for item in selected:
        internal = draft.internal(item.expression)
        calls = tuple(calls_of([internal], draft.functions, Kind.TABLE))
        if calls:
            compile_table_functions(calls, scope, ignore)
        else:
            draft.typing.value(internal, row)


def _everything(draft: Draft) -> tuple[Column, ...]:
    """All columns that could be selected."""
    columns, relation = draft.columns.everything(), draft.query.relation
    synthetic = draft.columns.synthetic_key
    if synthetic is None or isinstance(relation, QuerySource):
        return columns
    joined_on = draft.internal(relation.left_expression)
    return (*columns, Column(synthetic, draft.typing.value_type(joined_on, columns)))


def check_names(query: ResolvedQuery) -> None:
    """Sinks can't have columns that every row has anyway."""
    for item in query.select:
        if isinstance(item, SingleColumn) and item.alias in SYSTEM_NAMES:
            raise SqlError(
                f"Reserved column name in select: `{item.alias}`. "
                "Please remove or alias the column."
            )
