"""How columns of sources are called in rows in flight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from headrace.sql.analysis.join_keys import synthetic_key
from headrace.sql.analysis.query import ResolvedQuery
from headrace.sql.analysis.sources import QuerySource
from headrace.sql.schema import Column
from headrace.sql.syntax.ast import ColumnReference, Expression
from headrace.sql.syntax.traversal import rewrite, walk

E = TypeVar("E", bound=Expression)


@dataclass(frozen=True)
class Columns:
    """The names of columns in a query's rows: their own, or in a join with the source before it."""

    query: ResolvedQuery

    def name(self, source: str | None, name: str) -> str:
        return f"{source}_{name}" if self.query.is_join and source is not None else name

    def of(self, source: QuerySource, columns: Iterable[Column]) -> tuple[Column, ...]:
        """Columns of a source as they are called in rows."""
        return tuple(Column(self.name(source.alias, each.name), each.type) for each in columns)

    def internal(self, expression: E) -> E:
        """An expression that names columns as they are called in rows."""

        def change(node: Expression) -> Expression | None:
            if isinstance(node, ColumnReference):
                name = self.name(node.source, node.name)
                return ColumnReference(name, position=node.position)
            return None

        return rewrite(expression, change)

    def everything(self) -> tuple[Column, ...]:
        """All columns that a row could have, to find types with."""
        return tuple(
            column
            for source in self.query.sources
            for column in self.of(source, source.all_columns())
        )

    @property
    def synthetic_key(self) -> str | None:
        return synthetic_key(self.query.relation)


def references(expressions: Iterable[Expression]) -> Iterator[ColumnReference]:
    """All columns that expressions name."""
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, ColumnReference):
                yield node
