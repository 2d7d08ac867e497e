"""Grouped streams that are cut into windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from headrace.core.arguments import require_function, require_type
from headrace.core.errors import ArgumentError
from headrace.core.windowed import Windowed
from headrace.dsl.aggregations import (
    AGGREGATE,
    REDUCE,
    Grouping,
    add_counts,
    as_aggregator,
    as_merger,
    nothing,
    zero,
)
from headrace.dsl.derived_serdes import session_windowed_key, time_windowed_key
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import (
    Materialization,
    MaterializedLike,
    as_materialized,
    materialize,
)
from headrace.serde.primitive import long
from headrace.serde.serde import SerdeLike
from headrace.topology.logical_tables import AggregatedTable
from headrace.topology.operators import (
    Aggregation,
    StreamSessionWindowAggregate,
    StreamSlidingWindowAggregate,
    StreamWindowAggregate,
    count_up,
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

K = TypeVar("K")
V = TypeVar("V")
VR = TypeVar("VR")


class TimeWindowedKStream(Generic[K, V]):
    """A grouped stream in time, unlimited or sliding windows.

    Each aggregation makes a table of `Windowed` keys. Records without a key or a value, and
    records that come after their window was closed, are dropped. If the key was changed before,
    the records go through a repartition topic first.
    """

    def __init__(
        self, grouping: Grouping, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> None:
        self._grouping = grouping
        self._windows = windows
        self._emit = EmitStrategy.ON_WINDOW_UPDATE

    def emit_strategy(self, strategy: EmitStrategy) -> TimeWindowedKStream[K, V]:
        """When results are emitted: at every update (the default), or once when the window is
        closed. Raises ArgumentError for unlimited windows, which are never closed."""
        require_type(
            strategy, EmitStrategy, "The emit strategy", "Use EmitStrategy.ON_WINDOW_CLOSE."
        )
        if strategy is EmitStrategy.ON_WINDOW_CLOSE and isinstance(self._windows, UnlimitedWindows):
            raise ArgumentError("Unlimited windows are never closed: emit them ON_WINDOW_UPDATE")
        self._emit = strategy
        return self

    def count(
        self, materialized: MaterializedLike[K, int] = None, *, name: str | None = None
    ) -> KTable[Windowed[K], int]:
        """Count the records of each key and window."""
        options = as_materialized(materialized)
        if options and not options.store_name and not isinstance(self._windows, SlidingWindows):
            self._grouping.graph.naming.generate_store(AGGREGATE)
        store = materialize(self._grouping.graph, options, AGGREGATE).or_serdes(value=long())
        return self._table(store, zero, count_up, name, AGGREGATE)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        materialized: MaterializedLike[K, V] = None,
        *,
        name: str | None = None,
    ) -> KTable[Windowed[K], V]:
        """Combine the values of each key and window: `reducer(aggregate, value)`, beginning with
        the first value."""
        require_function(reducer, "The reducer", "aggregate", "value")
        options = as_materialized(materialized)
        store = materialize(self._grouping.graph, options, REDUCE).or_serdes(
            value=self._grouping.value_serde
        )
        return self._table(store, nothing, as_aggregator(reducer), name, REDUCE)

    def aggregate(
        self,
        initializer: Callable[[], VR],
        aggregator: Callable[[K, V, VR], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        name: str | None = None,
    ) -> KTable[Windowed[K], VR]:
        """`aggregator(key, value, aggregate)` for the records of each key and window, beginning
        with `initializer()`. An aggregate of None deletes the row."""
        require_function(initializer, "The initializer")
        require_function(aggregator, "The aggregator", "key", "value", "aggregate")
        store = materialize(self._grouping.graph, as_materialized(materialized), AGGREGATE)
        return self._table(store, initializer, aggregator, name, AGGREGATE)

    def _table(
        self,
        store: Materialization,
        initializer: Function,
        aggregator: Function,
        name: str | None,
        prefix: str,
    ) -> KTable[Windowed[K], Any]:
        store = store.or_serdes(key=self._grouping.key_serde)
        node_name = self._grouping.graph.naming.name(name, prefix)
        spec = store.window_store(self._windows, self._emit)
        operator = window_operator(self._windows, spec, initializer, aggregator, self._emit)
        table = AggregatedTable(node_name, operator, spec, grace_ms=self._windows.grace_ms)
        table.output_versioned = False
        return aggregated(self._grouping, table, store, window_key_serde(store, self._windows))


class SessionWindowedKStream(Generic[K, V]):
    """A grouped stream in session windows: records of a key that follow each other closely.

    Each aggregation makes a table of `Windowed` keys. Sessions that grow together are merged: the
    old ones are deleted (an update to None) before the new one is emitted. Records without a key
    or a value, and those that come after their session was closed, are dropped. If the key was
    changed before, the records go through a repartition topic first.
    """

    def __init__(self, grouping: Grouping, windows: SessionWindows) -> None:
        self._grouping = grouping
        self._windows = windows
        self._emit = EmitStrategy.ON_WINDOW_UPDATE

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream[K, V]:
        """When results are emitted: at every update (the default), or once when the session is
        closed."""
        require_type(
            strategy, EmitStrategy, "The emit strategy", "Use EmitStrategy.ON_WINDOW_CLOSE."
        )
        self._emit = strategy
        return self

    def count(
        self, materialized: MaterializedLike[K, int] = None, *, name: str | None = None
    ) -> KTable[Windowed[K], int]:
        """Count the records of each session."""
        options = as_materialized(materialized)
        if options and not options.store_name:
            self._grouping.graph.naming.generate_store(AGGREGATE)
        store = materialize(self._grouping.graph, options, AGGREGATE).or_serdes(value=long())
        return self._table(store, zero, count_up, add_counts, name, AGGREGATE)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        materialized: MaterializedLike[K, V] = None,
        *,
        name: str | None = None,
    ) -> KTable[Windowed[K], V]:
        """Combine the values of each session: `reducer(aggregate, value)`, beginning with the
        first value; it also merges the values of two sessions."""
        require_function(reducer, "The reducer", "aggregate", "value")
        options = as_materialized(materialized)
        store = materialize(self._grouping.graph, options, REDUCE).or_serdes(
            value=self._grouping.value_serde
        )
        aggregator, merger = as_aggregator(reducer), as_merger(reducer)
        return self._table(store, nothing, aggregator, merger, name, REDUCE)

    def aggregate(
        self,
        initializer: Callable[[], VR],
        aggregator: Callable[[K, V, VR], VR],
        merger: Callable[[K, VR, VR], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        name: str | None = None,
    ) -> KTable[Windowed[K], VR]:
        """`aggregator(key, value, aggregate)` for the records of each session, beginning with
        `initializer()`; `merger(key, one, other)` makes one aggregate of two sessions."""
        require_function(initializer, "The initializer")
        require_function(aggregator, "The aggregator", "key", "value", "aggregate")
        require_function(merger, "The merger", "key", "one", "other")
        store = materialize(self._grouping.graph, as_materialized(materialized), AGGREGATE)
        return self._table(store, initializer, aggregator, merger, name, AGGREGATE)

    def _table(
        self,
        store: Materialization,
        initializer: Function,
        aggregator: Function,
        merger: Function,
        name: str | None,
        prefix: str,
    ) -> KTable[Windowed[K], Any]:
        store = store.or_serdes(key=self._grouping.key_serde)
        node_name = self._grouping.graph.naming.name(name, prefix)
        spec = store.session_store(self._windows, self._emit)
        operator = StreamSessionWindowAggregate(
            spec.name, self._windows, initializer, aggregator, merger, self._emit
        )
        table = AggregatedTable(node_name, operator, spec, grace_ms=self._windows.retention_ms)
        table.output_versioned = False
        return aggregated(self._grouping, table, store, session_windowed_key(store.key_serde))


def window_operator(
    windows: TimeWindows | UnlimitedWindows | SlidingWindows,
    spec: StoreSpec,
    initializer: Function,
    aggregator: Function,
    emit: EmitStrategy,
) -> Aggregation:
    if isinstance(windows, SlidingWindows):
        return StreamSlidingWindowAggregate(spec.name, windows, initializer, aggregator, emit)
    return StreamWindowAggregate(spec.name, windows, initializer, aggregator, emit)


def window_key_serde(
    store: Materialization, windows: TimeWindows | UnlimitedWindows | SlidingWindows
) -> SerdeLike:
    size_ms = windows.difference_ms if isinstance(windows, SlidingWindows) else windows.size_ms
    return time_windowed_key(store.key_serde, size_ms)


def aggregated(
    grouping: Grouping, table: AggregatedTable, store: Materialization, key_serde: SerdeLike
) -> KTable[Any, Any]:
    """Put an aggregation into the graph, and make a table of it."""
    return KTable(
        grouping.graph,
        table,
        key_serde=key_serde,
        value_serde=store.value_serde,
        sources=grouping.add(table, store_is_named=store.queryable),
        queryable_store_name=store.queryable_name,
    )
