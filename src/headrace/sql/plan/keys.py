"""The key of a query's result, and which expressions have its value."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.analysis.query import JoinedSources, ResolvedQuery
from headrace.sql.analysis.sources import QuerySource
from headrace.sql.plan.columns import Columns
from headrace.sql.syntax.ast import ColumnReference, Expression, FieldAccess, Literal, SingleColumn


@dataclass(frozen=True)
class KeyPart:
    """A column of the key. `name` is what it is called in rows; `expressions` all have its value,
    so that to select one of them is to select it."""

    name: str
    expressions: tuple[Expression, ...]
    is_unchanged: bool = True
    """It is a key of what the query reads."""


def relation_key(relation: QuerySource | JoinedSources, columns: Columns) -> tuple[KeyPart, ...]:
    """The key of what a query reads."""
    if isinstance(relation, QuerySource):
        return tuple(
            KeyPart(
                columns.name(relation.alias, column.name),
                (ColumnReference(column.name, relation.alias),),
            )
            for column in relation.source.schema.key
        )
    if is_foreign_key_join(relation, columns):
        return relation_key(relation.left, columns)
    if columns.synthetic_key is not None and relation is columns.query.relation:
        return (KeyPart(columns.synthetic_key, (ColumnReference(columns.synthetic_key),)),)
    viable = [*left_equivalents(relation, columns), relation.right_expression]
    named = tuple(each for each in viable if isinstance(each, ColumnReference))
    if not named:  # an inner join of computed keys: nothing can name its key
        return (KeyPart("ROWKEY", ()),)
    chosen = _selected_first(columns.query, named)
    return (KeyPart(columns.name(chosen.source, chosen.name), named),)


def left_equivalents(relation: JoinedSources, columns: Columns) -> tuple[Expression, ...]:
    """What has the value of the key of a join's left side."""
    left = relation_key(relation.left, columns)
    if len(left) == 1 and relation.left_expression in left[0].expressions:
        return left[0].expressions
    return (relation.left_expression,)


def is_foreign_key_join(relation: JoinedSources, columns: Columns) -> bool:
    """Tables are joined, and not by the left one's key."""
    if not relation.right.source.is_table or not is_table(relation.left):
        return False
    left = relation_key(relation.left, columns)
    return len(left) != 1 or relation.left_expression not in left[0].expressions


def is_table(relation: QuerySource | JoinedSources) -> bool:
    if isinstance(relation, QuerySource):
        return relation.source.is_table
    return is_table(relation.left)


def _selected_first(query: ResolvedQuery, named: tuple[ColumnReference, ...]) -> ColumnReference:
    for item in query.select:
        if isinstance(item, SingleColumn) and item.expression in named:
            assert isinstance(item.expression, ColumnReference)
            return item.expression
    return named[0]


def query_key(query: ResolvedQuery, columns: Columns) -> tuple[KeyPart, ...]:
    """The key of a query's result."""
    read = relation_key(query.relation, columns)
    expressions = query.group_by or query.partition_by
    if not expressions or (query.partition_by and is_same_key(expressions, read)):
        return read
    if query.partition_by and is_null(expressions):
        return ()
    return tuple(_part(query, expression, columns) for expression in expressions)


def is_same_key(expressions: tuple[Expression, ...], key: tuple[KeyPart, ...]) -> bool:
    """Whether expressions have the values of a key, in its order."""
    return len(expressions) == len(key) and all(
        expression in part.expressions for expression, part in zip(expressions, key, strict=True)
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
