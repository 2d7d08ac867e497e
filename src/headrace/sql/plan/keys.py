"""The key of a query's result: its columns, and what selects them."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.analysis.join_keys import Relation, equivalents
from headrace.sql.analysis.query import ResolvedQuery
from headrace.sql.plan.columns import Columns
from headrace.sql.syntax.ast import ColumnReference, Expression, FieldAccess, Literal, SingleColumn


@dataclass(frozen=True)
class KeyPart:
    """A column of the key. `name` is what it is called in rows; `expressions` all have its value,
    so that to select one of them is to select it. The first goes before the others."""

    name: str
    expressions: tuple[Expression, ...]
    is_unchanged: bool = True
    """It is a key of what the query reads."""


def relation_key(relation: Relation, columns: Columns) -> tuple[KeyPart, ...]:
    """The key of what a query reads."""
    parts = []
    for same in equivalents(relation):
        named = [each for each in same if isinstance(each, ColumnReference)]
        chosen = _selected_first(columns.query, named)
        others = (each for each in named if each != chosen)
        name = columns.name(chosen.source, chosen.name)
        parts.append(KeyPart(name, (chosen, *others)))
    return tuple(parts)


def _selected_first(query: ResolvedQuery, named: list[ColumnReference]) -> ColumnReference:
    for item in query.select:
        if isinstance(item, SingleColumn) and item.expression in named:
            return named[named.index(item.expression)]
    return named[0]


def query_key(query: ResolvedQuery, columns: Columns) -> tuple[KeyPart, ...]:
    """The key of a query's result."""
    expressions = query.group_by or query.partition_by
    if not expressions or (query.partition_by and has_key(query, expressions)):
        return relation_key(query.relation, columns)
    if query.partition_by and is_null(expressions):
        return ()
    return tuple(_part(query, expression, columns) for expression in expressions)


def has_key(query: ResolvedQuery, expressions: tuple[Expression, ...]) -> bool:
    """Whether expressions have the values of the key of what a query reads, in its order."""
    key = equivalents(query.relation)
    return len(expressions) == len(key) and all(
        expression in same for expression, same in zip(expressions, key, strict=True)
    )


def is_null(expressions: tuple[Expression, ...]) -> bool:
    """PARTITION BY NULL takes the key away."""
    first = expressions[0]
    return len(expressions) == 1 and isinstance(first, Literal) and first.value is None


def _part(query: ResolvedQuery, expression: Expression, columns: Columns) -> KeyPart:
    if isinstance(expression, ColumnReference):
        name = columns.name(expression.source, expression.name)
    else:
        name = _alias_of(query, expression) or (
            query.aliases.field(expression.name)
            if isinstance(expression, FieldAccess)
            else query.aliases.column()
        )
    return KeyPart(name, (expression,), is_unchanged=False)


def _alias_of(query: ResolvedQuery, expression: Expression) -> str | None:
    for item in query.select:
        if isinstance(item, SingleColumn) and item.expression == expression:
            return item.alias
    return None
