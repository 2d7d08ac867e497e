"""Streams and tables that are grouped by key, ready to be aggregated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from headrace.core.arguments import require_function
from headrace.core.errors import ArgumentError, require
from headrace.dsl.aggregations import (
    AGGREGATE,
    REDUCE,
    Grouping,
    count_down,
    zero,
)
from headrace.dsl.cogrouped import CogroupedKStream
from headrace.dsl.derived_serdes import table_change
from headrace.dsl.handle import Handle
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import (
    Materialization,
    MaterializedLike,
    as_materialized,
    materialize,
)
from headrace.dsl.windowed import SessionWindowedKStream, TimeWindowedKStream, aggregated
from headrace.serde.primitive import long
from headrace.topology.logical import RepartitionNames, TableRepartition
from headrace.topology.logical_graph import LogicalGraph
from headrace.topology.logical_tables import AggregatedTable, TableRegrouping
from headrace.topology.operators import (
    Aggregation,
    StreamAggregate,
    StreamReduce,
    TableAggregate,
    TableReduce,
    count_up,
)
from headrace.topology.windows import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

K = TypeVar("K")
V = TypeVar("V")
VR = TypeVar("VR")


class KGroupedStream(Generic[K, V]):
    """A stream whose records are grouped by key.

    Each aggregation makes a table. Records without a key or a value are dropped. If the key was
    changed before, the records go through a repartition topic first, which is called like the
    group, or else like the store of the aggregation.
    """

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping

    def count(
        self, materialized: MaterializedLike[K, int] = None, *, name: str | None = None
    ) -> KTable[K, int]:
        """Count the records of each key."""
        options = as_materialized(materialized)
        if options and not options.store_name:
            self._grouping.graph.naming.generate_store(AGGREGATE)
        store = materialize(self._grouping.graph, options, AGGREGATE).or_serdes(value=long())
        return self._table(store, StreamAggregate(store.name, zero, count_up), name, AGGREGATE)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        materialized: MaterializedLike[K, V] = None,
        *,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Combine the values of each key: `reducer(aggregate, value)`, beginning with the first
        value. A result of None deletes the row."""
        require_function(reducer, "The reducer", "aggregate", "value")
        store = materialize(self._grouping.graph, as_materialized(materialized), REDUCE)
        store = store.or_serdes(value=self._grouping.value_serde)
        return self._table(store, StreamReduce(store.name, reducer), name, REDUCE)

    def aggregate(
        self,
        initializer: Callable[[], VR],
        aggregator: Callable[[K, V, VR], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """`aggregator(key, value, aggregate)` for the records of each key, beginning with
        `initializer()`. An aggregate of None deletes the row."""
        require_function(initializer, "The initializer")
        require_function(aggregator, "The aggregator", "key", "value", "aggregate")
        store = materialize(self._grouping.graph, as_materialized(materialized), AGGREGATE)
        operator = StreamAggregate(store.name, initializer, aggregator)
        return self._table(store, operator, name, AGGREGATE)

    @overload
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> TimeWindowedKStream[K, V]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedKStream[K, V]: ...
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows
    ) -> TimeWindowedKStream[K, V] | SessionWindowedKStream[K, V]:
        """Aggregate the records of each key by windows of event time."""
        check_windows(windows)
        if isinstance(windows, SessionWindows):
            return SessionWindowedKStream(self._grouping, windows)
        return TimeWindowedKStream(self._grouping, windows)

    def cogroup(self, aggregator: Callable[[K, V, VR], VR]) -> CogroupedKStream[K, VR]:
        """Begin to aggregate several streams into one table; this is the first of them."""
        require_function(aggregator, "The aggregator", "key", "value", "aggregate")
        return CogroupedKStream[K, VR](self._grouping.graph).cogroup(self, aggregator)

    def _table(
        self, store: Materialization, operator: Aggregation, name: str | None, prefix: str
    ) -> KTable[K, Any]:
        store = store.or_serdes(key=self._grouping.key_serde)
        node_name = self._grouping.graph.naming.name(name, prefix)
        table = AggregatedTable(node_name, operator, store.key_value_store())
        table.output_versioned = store.options.is_versioned
        return aggregated(self._grouping, table, store, store.key_serde)


def check_windows(windows: object) -> None:
    require(windows, "The windows")
    if not isinstance(windows, TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows):
        raise ArgumentError(
            f"{windows!r} are no windows to aggregate by: use TimeWindows, UnlimitedWindows, "
            "SlidingWindows or SessionWindows."
        )


class KGroupedTable(Handle[K, V]):
    """A table whose rows were grouped by a new key.

    Each aggregation sends the changes of the rows through a repartition topic. For each change the
    old row is subtracted, then the new one added; rows for which the selector gives no key are
    left out.
    """

    _node: TableRegrouping

    def __init__(
        self,
        graph: LogicalGraph,
        node: TableRegrouping,
        *,
        name: str | None,
        **handle: Any,
    ) -> None:
        super().__init__(graph, node, **handle)
        self._given_name = name
        self._repartition: TableRepartition | None = None

    def count(
        self, materialized: MaterializedLike[K, int] = None, *, name: str | None = None
    ) -> KTable[K, int]:
        """Count the rows of each key."""
        store = self._store(materialized).or_serdes(value=long())
        operator = TableAggregate(store.name, zero, count_up, count_down)
        return self._table(store, operator, name, "KTABLE-AGGREGATE-")

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        materialized: MaterializedLike[K, V] = None,
        *,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Combine the rows of each key: `subtractor(aggregate, old)` if there is an old row, then
        `adder(aggregate, new)`; the first row is the first aggregate."""
        require_function(adder, "The adder", "aggregate", "value")
        require_function(subtractor, "The subtractor", "aggregate", "value")
        store = self._store(materialized).or_serdes(value=self._value_serde)
        operator = TableReduce(store.name, adder, subtractor)
        return self._table(store, operator, name, "KTABLE-REDUCE-")

    def aggregate(
        self,
        initializer: Callable[[], VR],
        adder: Callable[[K, V, VR], VR],
        subtractor: Callable[[K, V, VR], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """`subtractor(key, old, aggregate)`, then `adder(key, new, aggregate)`, beginning with
        `initializer()`."""
        require_function(initializer, "The initializer")
        require_function(adder, "The adder", "key", "value", "aggregate")
        require_function(subtractor, "The subtractor", "key", "value", "aggregate")
        store = self._store(materialized)
        operator = TableAggregate(store.name, initializer, adder, subtractor)
        return self._table(store, operator, name, "KTABLE-AGGREGATE-")

    def _store(self, materialized: MaterializedLike[K, Any]) -> Materialization:
        return materialize(self._graph, as_materialized(materialized), "KTABLE-AGGREGATE-")

    def _table(
        self, store: Materialization, operator: Aggregation, name: str | None, prefix: str
    ) -> KTable[K, Any]:
        store = store.or_serdes(key=self._key_serde)
        naming = self._graph.naming
        sink = naming.suffixed(name, "-sink", "KSTREAM-SINK-")
        source = naming.suffixed(name, "-source", "KSTREAM-SOURCE-")
        node_name = naming.name(name, prefix)
        if self._repartition is None or self._given_name is None:
            topic = f"{self._given_name or store.name}-repartition"
            self._repartition = TableRepartition(
                RepartitionNames(topic, sink, "", source),
                self._key_serde,
                table_change(self._value_serde),
            )
        self._graph.add(self._repartition, self._node)
        table = AggregatedTable(node_name, operator, store.key_value_store())
        table.output_versioned = store.options.is_versioned
        self._graph.add(table, self._repartition)
        return KTable(
            self._graph,
            table,
            key_serde=store.key_serde,
            value_serde=store.value_serde,
            sources=frozenset({self._repartition.name}),
            queryable_store_name=store.queryable_name,
        )
