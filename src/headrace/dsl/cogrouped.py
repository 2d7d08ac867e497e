"""Several grouped streams that are aggregated into one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from headrace.core.arguments import require_function
from headrace.core.errors import ArgumentError, require
from headrace.core.windowed import Windowed
from headrace.dsl.aggregations import Grouping
from headrace.dsl.derived_serdes import session_windowed_key
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import (
    Materialization,
    MaterializedLike,
    as_materialized,
    materialize,
)
from headrace.dsl.windowed import window_key_serde, window_operator
from headrace.serde.serde import SerdeLike
from headrace.topology.logical import LogicalNode
from headrace.topology.logical_graph import LogicalGraph
from headrace.topology.logical_tables import AggregatedTable, CogroupedTable
from headrace.topology.operators import (
    Aggregation,
    StreamAggregate,
    StreamSessionWindowAggregate,
)
from headrace.topology.stores import StoreSpec
from headrace.topology.views import Function
from headrace.topology.windows import (
    EmitStrategy,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

if TYPE_CHECKING:
    from headrace.dsl.grouped import KGroupedStream

K = TypeVar("K")
V = TypeVar("V")
VR = TypeVar("VR")

_AGGREGATE = "COGROUPKSTREAM-AGGREGATE-"
_ON_UPDATE = EmitStrategy.ON_WINDOW_UPDATE


class _Cogrouping:
    """The cogrouped streams, each with its aggregator, and where they are repartitioned."""

    def __init__(self, graph: LogicalGraph) -> None:
        self.graph = graph
        self._aggregators: dict[Grouping, Function] = {}
        self._parents: dict[Grouping, LogicalNode] = {}

    def add(self, grouping: Grouping, aggregator: Function) -> None:
        self._aggregators[grouping] = aggregator

    def store(self, materialized: Any) -> Materialization:
        return materialize(self.graph, as_materialized(materialized), _AGGREGATE)

    def table(
        self,
        store: Materialization,
        spec: StoreSpec,
        operator: Callable[[Function], Aggregation],
        name: str | None,
        *,
        key_serde: SerdeLike,
        grace_ms: int | None = None,
    ) -> KTable[Any, Any]:
        """An aggregation for each stream, and the table that they make together. `operator` makes
        the operator of a stream's aggregator."""
        self._repartition(store)
        sources = self.graph.copartition(*map(self._sources, self._parents))
        aggregations = []
        for i, (grouping, aggregator) in enumerate(self._aggregators.items()):
            node_name = self.graph.naming.suffixed(name, f"-cogroup-agg-{i}", _AGGREGATE)
            table = AggregatedTable(node_name, operator(aggregator), spec, grace_ms=grace_ms)
            if grace_ms is None:
                table.output_versioned = store.options.is_versioned
            aggregations.append(table)
            self.graph.add(table, self._parents[grouping])
        merge = CogroupedTable(
            self.graph.naming.suffixed(name, "-cogroup-merge", "COGROUPKSTREAM-MERGE-"),
            aggregations,
        )
        self.graph.add(merge, *aggregations)
        return KTable(
            self.graph,
            merge,
            key_serde=key_serde,
            value_serde=store.value_serde,
            sources=sources,
            queryable_store_name=store.queryable_name,
        )

    def _repartition(self, store: Materialization) -> None:
        for grouping in self._aggregators:
            if not grouping.needs_repartition:
                self._parents[grouping] = grouping.node
                continue
            repartition = grouping.new_repartition(store.name, store_is_named=store.queryable)
            if grouping not in self._parents:
                self.graph.add(repartition, grouping.node)
                self._parents[grouping] = repartition

    def _sources(self, grouping: Grouping) -> frozenset[str]:
        if grouping.needs_repartition:
            return frozenset({self._parents[grouping].name})
        return grouping.sources


class CogroupedKStream(Generic[K, VR]):
    """Grouped streams that share an aggregate for each key.

    The streams must be partitioned alike. Records without a key or a value are dropped. Streams
    whose key was changed go through a repartition topic first.
    """

    def __init__(self, graph: LogicalGraph) -> None:
        self._streams = _Cogrouping(graph)

    def cogroup(
        self, grouped: KGroupedStream[K, V], aggregator: Callable[[K, V, VR], VR]
    ) -> CogroupedKStream[K, VR]:
        """Add a stream, with its own `aggregator(key, value, aggregate)`."""
        require(grouped, "The grouped stream")
        require_function(aggregator, "The aggregator", "key", "value", "aggregate")
        self._streams.add(grouped._grouping, aggregator)
        return self

    def aggregate(
        self,
        initializer: Callable[[], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """Aggregate the streams into one table, beginning with `initializer()` for each key."""
        require_function(initializer, "The initializer")
        store = self._streams.store(materialized)
        spec = store.key_value_store()

        def operator(aggregator: Function) -> Aggregation:
            return StreamAggregate(spec.name, initializer, aggregator)

        return self._streams.table(store, spec, operator, name, key_serde=store.key_serde)

    @overload
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> TimeWindowedCogroupedKStream[K, VR]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedCogroupedKStream[K, VR]: ...
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows
    ) -> TimeWindowedCogroupedKStream[K, VR] | SessionWindowedCogroupedKStream[K, VR]:
        """Aggregate the streams by windows of event time."""
        require(windows, "The windows")
        if isinstance(windows, SessionWindows):
            return SessionWindowedCogroupedKStream(self._streams, windows)
        if isinstance(windows, TimeWindows | UnlimitedWindows | SlidingWindows):
            return TimeWindowedCogroupedKStream(self._streams, windows)
        raise ArgumentError(f"{windows!r} are no windows to aggregate by")


class TimeWindowedCogroupedKStream(Generic[K, VR]):
    """Cogrouped streams in time, unlimited or sliding windows. Late records are dropped."""

    def __init__(
        self, streams: _Cogrouping, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> None:
        self._streams = streams
        self._windows = windows

    def aggregate(
        self,
        initializer: Callable[[], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        name: str | None = None,
    ) -> KTable[Windowed[K], VR]:
        """Aggregate the streams, beginning with `initializer()` for each key and window."""
        require_function(initializer, "The initializer")
        store, windows = self._streams.store(materialized), self._windows
        spec = store.window_store(windows, _ON_UPDATE)

        def operator(aggregator: Function) -> Aggregation:
            return window_operator(windows, spec, initializer, aggregator, _ON_UPDATE)

        return self._streams.table(
            store,
            spec,
            operator,
            name,
            key_serde=window_key_serde(store, windows),
            grace_ms=windows.grace_ms,
        )


class SessionWindowedCogroupedKStream(Generic[K, VR]):
    """Cogrouped streams in session windows. Late records are dropped."""

    def __init__(self, streams: _Cogrouping, windows: SessionWindows) -> None:
        self._streams = streams
        self._windows = windows

    def aggregate(
        self,
        initializer: Callable[[], VR],
        merger: Callable[[K, VR, VR], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        name: str | None = None,
    ) -> KTable[Windowed[K], VR]:
        """Aggregate the streams, beginning with `initializer()` for each session;
        `merger(key, one, other)` makes one aggregate of two sessions."""
        require_function(initializer, "The initializer")
        require_function(merger, "The merger", "key", "one", "other")
        store, windows = self._streams.store(materialized), self._windows
        spec = store.session_store(windows, _ON_UPDATE)

        def operator(aggregator: Function) -> Aggregation:
            return StreamSessionWindowAggregate(
                spec.name, windows, initializer, aggregator, merger, _ON_UPDATE
            )

        return self._streams.table(
            store,
            spec,
            operator,
            name,
            key_serde=session_windowed_key(store.key_serde),
            grace_ms=windows.retention_ms,
        )
