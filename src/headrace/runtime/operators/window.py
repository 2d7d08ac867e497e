"""Aggregations by key and time window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.core.windowed import Windowed
from headrace.runtime.context import Process
from headrace.runtime.operator import OperatorNode, compiles
from headrace.runtime.operators.emit_on_close import NOT_YET, Bounds, ClosedWindows
from headrace.runtime.operators.forwarding import is_cached, window_update
from headrace.topology.operators import StreamWindowAggregate
from headrace.topology.windows import EmitStrategy, TimeWindows, UnlimitedWindows

Aggregate = Callable[[Any, Any, int, int], None]
"""`aggregate(key, value, window_start, timestamp)`: takes a record into one window."""


@compiles(StreamWindowAggregate)
def compile_window_aggregate(operator: StreamWindowAggregate, node: OperatorNode) -> Process:
    """A record whose key is None is dropped, but a None value is aggregated. A window that is
    closed takes no record any more; windows are closed by the stream time of this operator."""
    windows = operator.windows
    aggregate = _aggregate(operator, node)
    if isinstance(windows, TimeWindows):
        if operator.emit is EmitStrategy.ON_WINDOW_CLOSE:
            return _emitting_on_close(operator, windows, aggregate, node)
        if windows.advance_ms == windows.size_ms:
            if is_cached(node.stores[operator.store], node, operator.send_old_values):
                return _tumbling_cached(operator, windows, node)
            return _tumbling(windows, aggregate, node)
    return _in_all_windows(windows, aggregate, node)


def _aggregate(operator: StreamWindowAggregate, node: OperatorNode) -> Aggregate:
    initializer, aggregator = operator.initializer, operator.aggregator
    store = node.stores[operator.store]
    fetch_value = store.fetch_value
    update = window_update(
        store, node, operator.windows.size_ms, operator.emit, operator.send_old_values
    )

    def aggregate(key: Any, value: Any, start: int, timestamp: int) -> None:
        row = fetch_value(key, start)
        if row is None:
            old = initializer()
        else:
            old, latest = row
            if latest > timestamp:
                timestamp = latest
        update(key, start, aggregator(key, value, old), old, timestamp)

    return aggregate


def _tumbling(windows: TimeWindows, aggregate: Aggregate, node: OperatorNode) -> Process:
    context, drop = node.context, node.context.drop
    size, open_for = windows.size_ms, windows.size_ms + windows.grace_ms
    clock = node.operator_time()

    def process(key: Any, value: Any) -> None:
        if key is None:
            drop("null key")
            return
        timestamp = context.timestamp
        stream_time = clock.stream_time
        if timestamp > stream_time:
            clock.stream_time = stream_time = timestamp
        start = timestamp - timestamp % size
        if start + open_for > stream_time:
            aggregate(key, value, start, timestamp)
        else:
            drop(expired(start, start + size, stream_time))

    return process


def _tumbling_cached(
    operator: StreamWindowAggregate, windows: TimeWindows, node: OperatorNode
) -> Process:
    """As `_tumbling`, but with as few calls as possible, as this is the most common of all."""
    context, drop = node.context, node.context.drop
    store = node.stores[operator.store]
    aggregate = store.aggregation(operator.initializer, operator.aggregator)
    serialize_key, key_suffix = store.serialize_key, store.key_suffix
    failed = node.failed
    node.guards_itself = True
    # Most records are of the same window as the one before.
    last_start, suffix = 0, key_suffix(0)
    size, open_for = windows.size_ms, windows.size_ms + windows.grace_ms
    clock = node.operator_time()

    def process(key: Any, value: Any) -> None:
        nonlocal last_start, suffix
        if key is None:
            drop("null key")
            return
        timestamp = context.timestamp
        stream_time = clock.stream_time
        if timestamp > stream_time:
            clock.stream_time = stream_time = timestamp
        start = timestamp - timestamp % size
        if start + open_for <= stream_time:
            drop(expired(start, start + size, stream_time))
            return
        if start != last_start:
            last_start, suffix = start, key_suffix(start)
        try:
            aggregate(serialize_key(key) + suffix, key, value, timestamp)
        except Exception as error:
            failed(key, value, error)

    return process


def _in_all_windows(
    windows: TimeWindows | UnlimitedWindows,
    aggregate: Aggregate,
    node: OperatorNode,
    then: Callable[[int], None] | None = None,
) -> Process:
    """Takes a record into each of its windows, then calls `then(close_time)`."""
    context, drop = node.context, node.context.drop
    starts_for, size, grace = windows.starts_for, windows.size_ms, windows.grace_ms
    clock = node.operator_time()

    def process(key: Any, value: Any) -> None:
        if key is None:
            drop("null key")
            return
        timestamp = context.timestamp
        stream_time = clock.stream_time
        if timestamp > stream_time:
            clock.stream_time = stream_time = timestamp
        close_time = stream_time - grace
        for start in starts_for(timestamp):
            if start + size > close_time:
                aggregate(key, value, start, timestamp)
            else:
                drop(expired(start, start + size, stream_time))
        if then is not None:
            then(close_time)

    return process


def _emitting_on_close(
    operator: StreamWindowAggregate, windows: TimeWindows, aggregate: Aggregate, node: OperatorNode
) -> Process:
    scan = scan_windows(node.stores[operator.store])
    closed = ClosedWindows(operator.store, node, _closed_between(windows), scan)
    return _in_all_windows(windows, aggregate, node, closed.emit_until)


def scan_windows(store: Any) -> Callable[[int, int], Iterator[tuple[Windowed[Any], Any, int]]]:
    """Scans a timestamped window store by window start."""

    def scan(low: int, high: int) -> Iterator[tuple[Windowed[Any], Any, int]]:
        for key, (value, timestamp) in store.fetch_all(low, high):
            yield key, value, timestamp

    return scan


def _closed_between(windows: TimeWindows) -> Bounds:
    """The starts of the windows that have closed: those that ended at the close time or before,
    as the end of a time window is exclusive."""
    size, starts_for = windows.size_ms, windows.starts_for

    def bounds(last_close_time: int, close_time: int) -> tuple[int, int] | None:
        high = close_time - size
        if high < 0:
            return None
        if last_close_time == NOT_YET:
            return 0, high
        last_high = max(0, last_close_time - size)
        if list(starts_for(last_high)) == list(starts_for(high)):
            return None
        return last_high + 1, high

    return bounds


def expired(start: int, end: int, stream_time: int) -> str:
    """Why a record that came too late is dropped."""
    return f"its window [{start}, {end}] is closed at stream time {stream_time}"
