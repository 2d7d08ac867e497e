"""The join of two tables by a foreign key.

The left table sends a subscription to the partition of the foreign key; the right side keeps it,
and answers at once and at every change of the foreign row. The answer goes back to the partition
of the left row, where the two are joined.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.core.arguments import require_function
from headrace.core.errors import ArgumentError
from headrace.dsl.checks import check_table
from headrace.dsl.derived_serdes import combined_key_of, response_of, subscription_of
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import MaterializedLike, as_materialized, materialize
from headrace.dsl.with_key import WithKey, unwrap
from headrace.serde.foreign_key import SubscriptionResponse
from headrace.topology.logical import Consumption, LogicalNode, Processing, StreamSink, StreamSource
from headrace.topology.logical_graph import LogicalGraph
from headrace.topology.logical_joins import VersionAware
from headrace.topology.logical_tables import StoredTable, stores_of
from headrace.topology.nodes import Partitioner
from headrace.topology.operators import (
    ForeignKeyResponseJoin,
    ForeignKeySubscriptionJoin,
    ForeignKeySubscriptionReceive,
    ForeignKeySubscriptionSend,
    ForeignTableJoin,
)
from headrace.topology.stores import SubscriptionStoreSpec
from headrace.topology.views import JoinKind

_JOIN = "KTABLE-FK-JOIN-"
_REGISTRATION = f"{_JOIN}SUBSCRIPTION-REGISTRATION-"
_PROCESSOR = f"{_JOIN}SUBSCRIPTION-PROCESSOR-"
_OUTPUT = f"{_JOIN}OUTPUT-"
_SINK = "KTABLE-SINK-"
_SOURCE = "KTABLE-SOURCE-"


def join_on_foreign_key(
    left: KTable[Any, Any],
    right: KTable[Any, Any],
    foreign_key: Callable[[Any], Any] | WithKey[..., Any],
    joiner: Callable[[Any, Any], Any],
    kind: JoinKind,
    materialized: MaterializedLike[Any, Any],
    name: str | None,
    partitioner: Partitioner | None,
    other_partitioner: Partitioner | None,
) -> KTable[Any, Any]:
    check_table(left, right)
    require_function(joiner, "The joiner", "this", "other")
    extractor, takes_key = unwrap(foreign_key, "The foreign key extractor", "value")
    graph = left._graph
    suffixed = partial(graph.naming.suffixed, name)
    # The right side sees by the old value whether anything changed; the left side sees by it
    # which subscription to end.
    right._node.request_old_values(force=True)
    left._node.request_old_values(force=True)

    subscription_topic = suffixed("-subscription-registration", _REGISTRATION) + "-topic"
    graph.add_internal_topic(subscription_topic)
    subscription_serde = subscription_of(left._key_serde)

    send = VersionAware(
        suffixed("-subscription-registration-processor", _REGISTRATION),
        ForeignKeySubscriptionSend(kind, extractor, takes_key, right._key_serde, left._value_serde),
    )
    graph.add(send, left._node)
    subscription_sink = StreamSink(
        suffixed("-subscription-registration-sink", _SINK),
        subscription_topic,
        right._key_serde,
        subscription_serde,
        other_partitioner and partial(_by_key, other_partitioner),
    )
    graph.add(subscription_sink, send)
    subscription_source = StreamSource(
        suffixed("-subscription-registration-source", _SOURCE),
        [subscription_topic],
        None,
        Consumption(right._key_serde, subscription_serde),
    )
    graph.add(subscription_source, subscription_sink)
    graph.copartition(right._sources, {subscription_source.name})

    store = SubscriptionStoreSpec(
        name=suffixed("-subscription-store", f"{_JOIN}SUBSCRIPTION-STATE-STORE-"),
        key_serde=combined_key_of(right._key_serde, left._key_serde),
        value_serde=subscription_serde,
        backend=None,
    )
    receive = Processing(
        suffixed("-subscription-receive", _PROCESSOR),
        ForeignKeySubscriptionReceive(store.name),
        stores=[store],
    )
    graph.add(receive, subscription_source)
    right_view = right._node.view()
    answer = Processing(
        suffixed("-subscription-join-foreign", _PROCESSOR),
        ForeignKeySubscriptionJoin(right_view),
        connected=stores_of(right_view),
    )
    graph.add(answer, receive)
    update = VersionAware(
        suffixed("-foreign-join-subscription", _PROCESSOR),
        ForeignTableJoin(store.name, right._key_serde),
        stores=[store],
    )
    graph.add(update, right._node)

    response_source = _respond(graph, suffixed, left, right, [answer, update], partitioner)
    sources = graph.copartition(left._sources, {response_source.name})
    left_view = left._node.view()
    resolve = Processing(
        suffixed(
            "-subscription-response-resolver",
            f"{_JOIN}SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-",
        ),
        ForeignKeyResponseJoin(left_view, kind, joiner, left._value_serde),
        connected=stores_of(left_view),
    )
    graph.add(resolve, response_source)

    result_name = suffixed("-result", _OUTPUT)
    options = as_materialized(materialized)
    result_store = materialize(graph, options, _OUTPUT).or_serdes(key=left._key_serde)
    result = StoredTable(
        result_name, result_store.key_value_store(), queryable=result_store.queryable
    )
    result.output_versioned = result_store.options.is_versioned
    graph.add(result, resolve)
    return KTable(
        graph,
        result,
        key_serde=left._key_serde,
        value_serde=result_store.value_serde,
        sources=sources,
        queryable_store_name=result_store.name,
    )


def _respond(
    graph: LogicalGraph,
    suffixed: Callable[[str, str], str],
    left: KTable[Any, Any],
    right: KTable[Any, Any],
    parents: list[LogicalNode],
    partitioner: Partitioner | None,
) -> StreamSource:
    """The topic that the responses go back through."""
    topic = suffixed("-subscription-response", f"{_JOIN}SUBSCRIPTION-RESPONSE-") + "-topic"
    graph.add_internal_topic(topic)
    serde = response_of(right._value_serde)
    sink = StreamSink(
        suffixed("-subscription-response-sink", _SINK),
        topic,
        left._key_serde,
        serde,
        partial(_by_key, partitioner) if partitioner else to_primary_partition,
    )
    graph.add(sink, *parents)
    source = StreamSource(
        suffixed("-subscription-response-source", _SOURCE),
        [topic],
        None,
        Consumption(left._key_serde, serde),
    )
    graph.add(source, sink)
    return source


def to_primary_partition(
    topic: str, key: Any, response: SubscriptionResponse, partitions: int
) -> int | None:
    """Back to the partition that the subscription came from, if it said which."""
    return response.primary_partition


def _by_key(
    partitioner: Partitioner, topic: str, key: Any, value: Any, partitions: int
) -> int | set[int] | None:
    """Ask the partitioner of a joined table, which knows only that table's keys."""
    chosen = partitioner(topic, key, None, partitions)
    if isinstance(chosen, set) and len(chosen) != 1:
        raise ArgumentError(
            f"The partitioner of a foreign-key join must choose one partition, not {len(chosen)}"
        )
    return chosen
