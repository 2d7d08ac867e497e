"""The join of two tables by their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.arguments import require_function
from headrace.dsl.checks import check_table
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import MaterializedLike, as_materialized, materialize
from headrace.topology.logical_joins import TableJoin
from headrace.topology.views import JoinKind

_MERGE = "KTABLE-MERGE-"


def join_tables(
    left: KTable[Any, Any],
    right: KTable[Any, Any],
    joiner: Callable[[Any, Any], Any],
    kind: JoinKind,
    materialized: MaterializedLike[Any, Any],
    name: str | None,
) -> KTable[Any, Any]:
    check_table(left, right)
    require_function(joiner, "The joiner", "this", "other")
    graph, naming = left._graph, left._graph.naming
    options = as_materialized(materialized)
    store = materialize(graph, options, _MERGE) if options else None
    merge_name = naming.name(name, _MERGE)
    sources = graph.copartition(left._sources, right._sources)
    if kind is not JoinKind.INNER:
        left._node.request_old_values(force=True)
    if kind is JoinKind.OUTER:
        right._node.request_old_values(force=True)
    if store:
        store = store.or_serdes(key=left._key_serde)
    node = TableJoin(
        merge_name,
        left._node,
        right._node,
        kind=kind,
        joiner=joiner,
        left_name=naming.suffixed(name, "-join-this", "KTABLE-JOINTHIS-"),
        right_name=naming.suffixed(name, "-join-other", "KTABLE-JOINOTHER-"),
        spec=store.key_value_store() if store else None,
    )
    node.output_versioned = options is not None and options.is_versioned
    graph.add(node, left._node, right._node)
    return KTable(
        graph,
        node,
        key_serde=store.key_serde if store else left._key_serde,
        value_serde=store.value_serde if store else None,
        sources=sources,
        queryable_store_name=store.name if store else None,
    )
