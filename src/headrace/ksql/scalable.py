"""Which push queries are scalable: those that only look at what one persistent query writes.

ksqlDB taps that query for them. Here they read its sink from where it ends, which gives the same
rows; what is different is their name, and what they may not have.
"""

from __future__ import annotations

from headrace.sql.engine import Engine
from headrace.sql.queries import QueryKind
from headrace.sql.settings import Settings
from headrace.sql.syntax.ast import (
    AliasedSource,
    ColumnReference,
    Emit,
    Expression,
    Query,
    SingleColumn,
)
from headrace.sql.syntax.traversal import walk

ENABLED = "ksql.query.push.v2.enabled"
_POSITIONS = ("ROWPARTITION", "ROWOFFSET")


def is_scalable(query: Query, engine: Engine, settings: Settings) -> bool:
    if not settings.flag(ENABLED, False) or settings.streams().get("auto.offset.reset") != "latest":
        return False
    source = query.source
    if not isinstance(source, AliasedSource) or query.emit is not Emit.CHANGES:
        return False
    if query.window or query.group_by or query.partition_by or query.having is not None:
        return False
    expressions = [item.expression for item in query.select if isinstance(item, SingleColumn)]
    if query.where is not None:
        expressions.append(query.where)
    if any(map(_asks_position, expressions)):
        return False
    writers = [each for each in engine.queries.values() if each.sink == source.source]
    return len(writers) == 1 and writers[0].kind is QueryKind.CREATE_AS


def _asks_position(expression: Expression) -> bool:
    return any(
        isinstance(node, ColumnReference) and node.name in _POSITIONS for node in walk(expression)
    )
