"""A query whose names are resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headrace.sql.analysis.aliases import AliasGenerator
from headrace.sql.analysis.sources import QuerySource
from headrace.sql.syntax.ast import (
    Emit,
    Expression,
    JoinKind,
    SelectItem,
    WindowExpression,
    Within,
)


@dataclass(frozen=True)
class JoinedSources:
    """Sources that are joined. Of several joins the last is the outermost."""

    kind: JoinKind
    left: QuerySource | JoinedSources
    right: QuerySource
    left_expression: Expression
    """What must be equal: an expression of one source on the left …"""
    right_expression: Expression
    """… and one of the right source."""
    criteria: Expression
    """As it was written."""
    within: Within | None


@dataclass(frozen=True)
class ResolvedQuery:
    """A query, with a source before every column's name."""

    relation: QuerySource | JoinedSources
    select: tuple[SelectItem, ...]
    """Every single column has an alias."""
    window: WindowExpression | None
    where: Expression | None
    group_by: tuple[Expression, ...]
    partition_by: tuple[Expression, ...]
    having: Expression | None
    emit: Emit | None
    limit: int | None
    aliases: AliasGenerator = field(compare=False, repr=False)
    """Gives names to what planning adds."""

    @property
    def sources(self) -> tuple[QuerySource, ...]:
        """From left to right."""
        return tuple(sources_of(self.relation))

    @property
    def is_join(self) -> bool:
        return isinstance(self.relation, JoinedSources)


def sources_of(relation: QuerySource | JoinedSources) -> Iterator[QuerySource]:
    if isinstance(relation, QuerySource):
        yield relation
    else:
        yield from sources_of(relation.left)
        yield relation.right
