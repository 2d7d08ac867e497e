"""Stores that measure what is done to them, where the recording level asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.metrics import catalogue
from headrace.metrics.level import RecordingLevel
from headrace.metrics.recorder import Distribution
from headrace.runtime.context import TaskContext
from headrace.runtime.stores.cache import RecordCache
from headrace.runtime.stores.cached import CachedStore
from headrace.runtime.stores.join_buffer import JoinBuffer
from headrace.runtime.stores.store import Store
from headrace.runtime.stores.suppress_buffer import SuppressBuffer
from headrace.topology.stores import (
    Backend,
    SessionStoreSpec,
    StoreSpec,
    SuppressBufferSpec,
    WindowStoreSpec,
)

_OPERATIONS = {
    "put": "put put_value",
    "put-if-absent": "put_if_absent",
    "put-all": "put_all",
    "get": "get get_value get_as_of",
    "delete": "delete",
    "fetch": "fetch fetch_one fetch_value fetch_range fetch_all fetch_session find_sessions"
    " find_sessions_range find_sessions_by_end backward_fetch backward_fetch_range"
    " backward_fetch_all backward_find_sessions backward_find_sessions_range",
    "all": "all reverse_all backward_all",
    "range": "range reverse_range",
    "prefix-scan": "prefix_scan",
    "remove": "remove",
    "flush": "flush",
    "commit": "flush",
    "restore": "restore",
}
"""Which methods count as which operation of Kafka Streams."""


def scope_of(spec: StoreSpec) -> str:
    """What Kafka Streams calls a store of this kind; the persistent ones are rocksdb there."""
    if isinstance(spec, SuppressBufferSpec):
        return "in-memory-suppression"
    place = "rocksdb" if spec.backend is Backend.PERSISTENT else "in-memory"
    if isinstance(spec, WindowStoreSpec):
        return f"{place}-window-state"
    if isinstance(spec, SessionStoreSpec):
        return f"{place}-session-state"
    return f"{place}-lru-state" if spec.backend is Backend.LRU else f"{place}-state"


class StoreMetering:
    """Puts measuring functions in the place of a store's methods: a store that nobody wants to
    measure pays nothing."""

    def __init__(self, context: TaskContext, cache: RecordCache) -> None:
        self._context = context
        self._cache = cache
        self._metrics = context.metrics
        self._cache_size = context.metrics.gauge(catalogue.CACHE_SIZE)
        self._iterators: list[_Iterators] = []

    def meter(self, store: Store) -> None:
        """Before anybody asks the store for its methods."""
        tags = scope_of(store.spec), store.name
        iterators = _Iterators(self._context, *tags)
        self._iterators.append(iterators)
        for operation, methods in _OPERATIONS.items():
            found = [name for name in methods.split() if hasattr(store, name)]
            if not found:
                continue
            sensor = catalogue.STORE_OPERATIONS[operation]
            timing = _Timing(self._context, self._metrics.distribution(sensor, *tags), iterators)
            for name in found:
                setattr(store, name, timing.of(getattr(store, name)))
            if operation == "put":
                self._meter_puts(store, timing, found, tags)

    def measure(self, stores: Mapping[str, Any]) -> None:
        """What is looked at once in a report."""
        self._cache_size.record(self._cache.size)
        for iterators in self._iterators:
            iterators.measure()
        for name, store in stores.items():
            tags = scope_of(store.spec), name
            if isinstance(store, SuppressBuffer | JoinBuffer):
                records, size = store.num_records, store.buffer_size
                self._metrics.distribution(catalogue.BUFFER_COUNT, *tags).record(records)
                self._metrics.distribution(catalogue.BUFFER_SIZE, *tags).record(size)
            elif isinstance(store, CachedStore):
                ratio = store.take_hit_ratio()
                if ratio is not None:
                    self._metrics.distribution(catalogue.HIT_RATIO, name).record(ratio)

    def _meter_puts(
        self, store: Any, timing: _Timing, names: list[str], tags: tuple[str, str]
    ) -> None:
        aggregation = getattr(store, "aggregation", None)
        if aggregation is not None:
            # Reads, aggregates and puts in one step.
            store.aggregation = lambda *functions: self._puts(
                timing.of(aggregation(*functions)), tags
            )
        for name in names:
            setattr(store, name, self._puts(getattr(store, name), tags))

    def _puts(self, put: Callable[..., Any], tags: tuple[str, str]) -> Callable[..., Any]:
        if not self._metrics.records(RecordingLevel.TRACE):
            return put
        context, now = self._context, self._context.clock.now_ms
        latency = self._metrics.distribution(catalogue.STORE_LATENCY, *tags)

        def traced(*arguments: Any) -> Any:
            latency.record(now() - context.timestamp)
            return put(*arguments)

        return traced


class _Timing:
    """Times one operation of a store, which several methods may do, one by calling another."""

    def __init__(self, context: TaskContext, latency: Distribution, iterators: _Iterators) -> None:
        self._now = context.clock.nanoseconds
        self._latency = latency
        self._iterators = iterators
        self._busy = False

    def of(self, method: Callable[..., Any]) -> Callable[..., Any]:
        now, latency, iterators = self._now, self._latency, self._iterators

        def timed(*arguments: Any, **options: Any) -> Any:
            if self._busy:
                return method(*arguments, **options)
            self._busy = True
            began = now()
            try:
                result = method(*arguments, **options)
            finally:
                self._busy = False
            latency.record(now() - began)
            return iterators.watched(result) if hasattr(result, "__next__") else result

        return timed


class _Iterators:
    """The iterators that a store has given away."""

    def __init__(self, context: TaskContext, scope: str, store: str) -> None:
        self._clock = context.clock
        metrics = context.metrics
        self._duration = metrics.distribution(catalogue.ITERATOR_DURATION, scope, store)
        self._count = metrics.gauge(catalogue.OPEN_ITERATORS, scope, store)
        self._oldest = metrics.gauge(catalogue.OLDEST_ITERATOR, scope, store)
        self._open: dict[object, int] = {}
        """When each was begun, in ms since the epoch; in that order."""

    def watched(self, iterator: Iterator[Any]) -> Iterator[Any]:
        began, me = self._clock.nanoseconds(), object()
        self._open[me] = self._clock.now_ms()
        try:
            yield from iterator
        finally:
            del self._open[me]
            self._duration.record(self._clock.nanoseconds() - began)

    def measure(self) -> None:
        self._count.record(len(self._open))
        self._oldest.record(next(iter(self._open.values()), 0))
