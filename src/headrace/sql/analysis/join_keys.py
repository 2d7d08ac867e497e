"""The key of what a query reads, and which expressions have its value."""

from __future__ import annotations

from headrace.sql.analysis.query import JoinedSources, sources_of
from headrace.sql.analysis.sources import QuerySource
from headrace.sql.syntax.ast import ColumnReference, Expression, JoinKind

SYNTHETIC_KEY = "ROWKEY"

Relation = QuerySource | JoinedSources


def equivalents(relation: Relation) -> tuple[tuple[Expression, ...], ...]:
    """For each column of the key, all expressions that have its value."""
    if isinstance(relation, QuerySource):
        return tuple(
            (ColumnReference(column.name, relation.alias),) for column in relation.source.schema.key
        )
    if is_foreign_key_join(relation):
        return equivalents(relation.left)
    synthetic = synthetic_key(relation)
    if synthetic is not None:
        return ((ColumnReference(synthetic),),)
    return (_joined(relation),)


def _joined(relation: JoinedSources) -> tuple[Expression, ...]:
    left = equivalents(relation.left)
    same = left[0] if fits(relation.left_expression, left) else (relation.left_expression,)
    return (*same, relation.right_expression)


def fits(expression: Expression, key: tuple[tuple[Expression, ...], ...]) -> bool:
    """Whether an expression has the value of a key of one column."""
    return len(key) == 1 and expression in key[0]


def is_foreign_key_join(relation: JoinedSources) -> bool:
    """Tables are joined, and not by the left one's key."""
    both_tables = relation.right.source.is_table and is_table(relation.left)
    return both_tables and not fits(relation.left_expression, equivalents(relation.left))


def is_table(relation: Relation) -> bool:
    return next(sources_of(relation)).source.is_table


def synthetic_key(relation: Relation) -> str | None:
    """The name of the key that a join adds, because no column of a source has its value: that of
    one side may be missing, or all are computed. None if it adds none."""
    if isinstance(relation, QuerySource) or is_foreign_key_join(relation):
        return None
    named = any(isinstance(each, ColumnReference) for each in _joined(relation))
    if named and relation.kind is not JoinKind.OUTER:
        return None
    taken = {column.name for source in sources_of(relation) for column in source.all_columns()}
    name, number = SYNTHETIC_KEY, 0
    while name in taken:
        number += 1
        name = f"{SYNTHETIC_KEY}_{number}"
    return name
