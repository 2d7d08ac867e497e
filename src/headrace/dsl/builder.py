"""Where streams and tables begin, and topologies are built."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from headrace.core.config import StreamsConfig
from headrace.core.errors import TopologyError, require
from headrace.dsl.checks import check_consumption, check_topic, checked_topics
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.handle import first
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import (
    K,
    Materialization,
    MaterializedLike,
    V,
    as_materialized,
    materialize,
)
from headrace.serde.serde import Serde, SerdeLike
from headrace.topology.logical import Consumption, GlobalStore, StateStore, StreamSource
from headrace.topology.logical_graph import LogicalGraph
from headrace.topology.logical_tables import GlobalTable, TopicTable
from headrace.topology.nodes import AutoOffsetReset, TimestampExtractor
from headrace.topology.operators import Process
from headrace.topology.optimizations import optimize
from headrace.topology.stores import StoreSpec
from headrace.topology.suppliers import check_supplier
from headrace.topology.topology import Topology
from headrace.topology.views import StoreView

_STREAM_SOURCE = "KSTREAM-SOURCE-"
_TABLE_SOURCE = "KTABLE-SOURCE-"


class StreamsBuilder:
    """Builds a topology out of streams and tables.

    `config` holds settings that decide how the topology is written, such as
    `dsl.store.suppliers.class` or `ensure.explicit.internal.resource.naming`.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._config = config if isinstance(config, StreamsConfig) else StreamsConfig(config)
        self._graph = LogicalGraph(self._config)
        self._topology: Topology | None = None

    def stream(
        self,
        topics: str | Iterable[str] | re.Pattern[str],
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: AutoOffsetReset | None = None,
        name: str | None = None,
    ) -> KStream[K, V]:
        """A stream of the records of one topic, several, or all whose whole name matches a pattern.

        Streams of the same topics share a source; `build` raises TopologyError if only some topics
        are the same.
        """
        require(topics, "The topics")
        check_consumption(timestamp_extractor, offset_reset)
        node = StreamSource(
            self._graph.naming.name(name, _STREAM_SOURCE),
            _topic_names(topics),
            topics if isinstance(topics, re.Pattern) else None,
            Consumption(key, value, timestamp_extractor, offset_reset),
        )
        self._graph.add(node, self._graph.root)
        return KStream(
            self._graph,
            node,
            key_serde=key,
            value_serde=value,
            sources=frozenset({node.name}),
            needs_repartition=False,
        )

    def table(
        self,
        topic: str,
        materialized: MaterializedLike[K, V] = None,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: AutoOffsetReset | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """A table of the records of a topic as upserts: None deletes a row, and records without a
        key are dropped. It gets a store if that is named or needed later. Serdes that aren't given
        are those of the Materialized."""
        check_topic(topic)
        check_consumption(timestamp_extractor, offset_reset)
        store = self._store(topic, materialized, key, value)
        source_name, node_name = self._table_names(name)
        node = TopicTable(
            node_name,
            store.key_value_store(),
            queryable=store.queryable,
            source_name=source_name,
            topic=topic,
            how=Consumption(store.key_serde, store.value_serde, timestamp_extractor, offset_reset),
        )
        node.output_versioned = store.options.is_versioned
        self._graph.add(node, self._graph.root)
        return KTable(
            self._graph,
            node,
            key_serde=store.key_serde,
            value_serde=store.value_serde,
            sources=frozenset({source_name}),
            queryable_store_name=store.queryable_name,
        )

    def global_table(
        self,
        topic: str,
        materialized: MaterializedLike[K, V] = None,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: AutoOffsetReset | None = None,
        name: str | None = None,
    ) -> GlobalKTable[K, V]:
        """A table of a whole topic, a copy for every task. It always has a store, and needs no
        changelog. The topic is read from its beginning, whatever `offset_reset` says.

        Raises TopologyError if the store is versioned.
        """
        check_topic(topic)
        check_consumption(timestamp_extractor, offset_reset)
        options = as_materialized(materialized)
        store = self._store(topic, materialized, key, value)
        if store.options.is_versioned:
            raise TopologyError(f"The global table of {topic!r} can't be versioned")
        source_name, node_name = self._table_names(name)
        node = GlobalTable(
            node_name,
            store.key_value_store() if options is None or store.queryable else None,
            source_name=source_name,
            topic=topic,
            how=Consumption(store.key_serde, store.value_serde, timestamp_extractor, offset_reset),
        )
        self._graph.add(node, self._graph.root)
        return GlobalKTable(
            StoreView(store.name), store.name if options is None else store.queryable_name
        )

    def add_state_store(self, spec: StoreSpec) -> StreamsBuilder:
        """Add a store, for processors that are connected to it by its name."""
        require(spec, "The state store")
        self._graph.add(StateStore(spec), self._graph.root)
        return self

    def add_global_store(
        self,
        spec: StoreSpec,
        topic: str,
        supplier: Callable[[], Any],
        *,
        key: Serde[Any] | None = None,
        value: Serde[Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        name: str | None = None,
    ) -> StreamsBuilder:
        """Add a store that the Processor of `supplier()` fills from a topic, for all processors to
        read. The processor must put the records in the store as they are."""
        require(spec, "The state store")
        source_name, node_name = self._table_names(name)
        check_supplier(supplier)
        source = Consumption(key, value, timestamp_extractor).source(source_name, (topic,))
        node = GlobalStore(spec, source, node_name, Process(supplier))
        self._graph.add(node, self._graph.root)
        return self

    def build(self, config: Mapping[str, Any] | None = None) -> Topology:
        """Write everything into a topology. `config` says by `topology.optimization` what to
        optimise. A builder builds its topology once, and gives the same one afterwards.

        Raises TopologyError if the parts don't fit together, and ConfigError if the setting is
        wrong.
        """
        if self._topology is None:
            optimize(self._graph, _optimizations(config))
            topology = Topology(self._config)
            self._graph.write(topology)
            self._topology = topology
        return self._topology

    def _store(
        self, topic: str, materialized: MaterializedLike[Any, Any], key: SerdeLike, value: SerdeLike
    ) -> Materialization:
        options = as_materialized(materialized)
        store = materialize(self._graph, options, f"{topic}-")
        return _with_serdes(store, key, value)

    def _table_names(self, name: str | None) -> tuple[str, str]:
        """The names of a table's source and processor."""
        source = self._graph.naming.suffixed(name, "-source", _STREAM_SOURCE)
        return source, self._graph.naming.name(name, _TABLE_SOURCE)


def _with_serdes(store: Materialization, key: SerdeLike, value: SerdeLike) -> Materialization:
    """What is given for the topic goes before the Materialized."""
    return replace(
        store, key_serde=first(key, store.key_serde), value_serde=first(value, store.value_serde)
    )


def _topic_names(topics: str | Iterable[str] | re.Pattern[str]) -> Iterable[str]:
    if isinstance(topics, re.Pattern):
        return ()
    return checked_topics(topics)


def _optimizations(config: Mapping[str, Any] | None) -> frozenset[str]:
    key = "topology.optimization"
    if config is None or key not in config:
        return frozenset()
    return StreamsConfig({key: config[key]}).optimizations
