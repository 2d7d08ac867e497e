"""Joins that look the records of a stream up in a table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headrace.core.arguments import require_function
from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError
from headrace.dsl.checks import check_same_builder
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.handle import first
from headrace.dsl.ktable import KTable
from headrace.dsl.with_key import WithKey, unwrap
from headrace.serde.serde import SerdeLike
from headrace.topology.logical import Processing
from headrace.topology.logical_joins import TableLookup
from headrace.topology.logical_tables import stores_of
from headrace.topology.operators import (
    StreamGlobalTableJoin,
    StreamTableJoin,
)
from headrace.topology.stores import JoinBufferSpec
from headrace.topology.views import JoinKind

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream


def join_table(
    stream: KStream[Any, Any],
    table: KTable[Any, Any],
    joiner: Callable[..., Any] | WithKey[..., Any],
    kind: JoinKind,
    *,
    key: SerdeLike,
    value: SerdeLike,
    name: str | None,
    grace: timedelta | None,
) -> KStream[Any, Any]:
    check_same_builder(stream, table)
    function, takes_key = unwrap(joiner, "The joiner", "this", "other")
    stream = stream._repartitioned_for_join(name, key, value)
    graph = stream._graph
    sources = graph.copartition(stream._sources, table._sources)
    node_name = graph.naming.name(
        name, "KSTREAM-LEFTJOIN-" if kind is JoinKind.LEFT else "KSTREAM-JOIN-"
    )
    key_serde = first(key, stream._key_serde)
    grace_ms = None if grace is None else to_ms(grace, "grace")
    buffer = None
    if grace_ms is not None:
        if table._node.output_versioned is False:
            raise ArgumentError(
                f"{node_name!r} joins with a grace period, so its table must be versioned. "
                "Materialize the table in a versioned store."
            )
        buffer = JoinBufferSpec(
            name=f"{node_name}-Buffer",
            key_serde=key_serde,
            value_serde=first(value, stream._value_serde),
            grace_ms=grace_ms,
        )
        if name is None:
            graph.naming.note_unnamed_store(buffer.name, logged=True)
    view = table._node.view()
    node = TableLookup(
        node_name,
        StreamTableJoin(view, kind, function, takes_key, buffer.name if buffer else None, grace_ms),
        stores=[buffer] if buffer else [],
        connected=stores_of(view),
        relaxes_null_keys=kind is JoinKind.LEFT,
    )
    graph.add(node, stream._node)
    return stream._next(
        node, key_serde=key_serde, value_serde=None, sources=sources, needs_repartition=False
    )


def join_global_table(
    stream: KStream[Any, Any],
    table: GlobalKTable[Any, Any],
    joiner: Callable[..., Any] | WithKey[..., Any],
    kind: JoinKind,
    *,
    key_selector: Callable[[Any, Any], Any] | None,
    name: str | None,
) -> KStream[Any, Any]:
    require_function(key_selector, "The key_selector of a join with a global table", "key", "value")
    assert key_selector is not None
    function, takes_key = unwrap(joiner, "The joiner", "this", "other")
    node = Processing(
        stream._graph.naming.name(name, "KSTREAM-LEFTJOIN-"),
        StreamGlobalTableJoin(table._view, kind, key_selector, function, takes_key),
        relaxes_null_keys=kind is JoinKind.LEFT,
    )
    stream._graph.add(node, stream._node)
    return stream._next(node, value_serde=None)
