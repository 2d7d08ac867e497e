"""Aggregations by key and session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.core.record import NO_HEADERS, Change
from headrace.core.windowed import Window, Windowed
from headrace.runtime.context import Process
from headrace.runtime.operator import OperatorNode, compiles
from headrace.runtime.operators.emit_on_close import ClosedWindows
from headrace.runtime.operators.forwarding import FlushListener, forward_flushed
from headrace.runtime.operators.window import expired
from headrace.topology.operators import StreamSessionWindowAggregate
from headrace.topology.windows import EmitStrategy

_Emit = Callable[[Windowed[Any], Any, Any], None]
"""`emit(key, new, old)`: tells the children about a session."""


@compiles(StreamSessionWindowAggregate)
def compile_session_aggregate(
    operator: StreamSessionWindowAggregate, node: OperatorNode
) -> Process:
    """A record whose key is None is dropped, but a None value is aggregated. The sessions that a
    record connects are deleted, then their union is put; every result has the end of its session
    as timestamp."""
    initializer, aggregator, merger = operator.initializer, operator.aggregator, operator.merger
    gap, grace = operator.windows.gap_ms, operator.windows.grace_ms
    context, drop = node.context, node.context.drop
    store = node.stores[operator.store]
    find_sessions, put, remove = store.find_sessions, store.put, store.remove
    emit = _emit(operator, node)
    emit_closed = _emit_closed(operator, node)
    clock = node.operator_time()

    def process(key: Any, value: Any) -> None:
        if key is None:
            drop("null key")
            return
        timestamp = context.timestamp
        stream_time = clock.stream_time
        if timestamp > stream_time:
            clock.stream_time = stream_time = timestamp
        close_time = stream_time - grace - gap

        aggregate = initializer()
        start = end = timestamp
        connected = list(find_sessions(key, timestamp - gap, timestamp + gap))
        for session, old in connected:
            aggregate = merger(key, aggregate, old)
            start, end = min(start, session.window.start), max(end, session.window.end)

        if end < close_time:
            drop(expired(start, end, stream_time))
        else:
            if start != end:
                for session, old in connected:
                    remove(session)
                    if emit is not None:
                        emit(session, None, old)
            aggregate = aggregator(key, value, aggregate)
            union = Windowed(key, Window(start, end))
            put(union, aggregate)
            if emit is not None:
                emit(union, aggregate, None)
        if emit_closed is not None:
            emit_closed(close_time)

    return process


def _emit(operator: StreamSessionWindowAggregate, node: OperatorNode) -> _Emit | None:
    """How updates are forwarded: without headers. None if they aren't, as the store's cache does
    it or only closed windows are emitted."""
    store, send_old_values = node.stores[operator.store], operator.send_old_values
    if operator.emit is EmitStrategy.ON_WINDOW_CLOSE:
        return None
    if store.set_flush_listener(_flush_listener(store, node), send_old_values):
        return None
    forward_as, forward = node.context.forward_as, node.forward

    def emit(key: Windowed[Any], new: Any, old: Any) -> None:
        change = Change(new, old if send_old_values else None)
        forward_as(forward, key, change, key.window.end, NO_HEADERS)

    return emit


def _flush_listener(store: Any, node: OperatorNode) -> FlushListener:
    """Results of a cached store have the headers of the record that made them, unless the store
    keeps headers: then they have those in the store, and an aggregate has none."""
    if not store.keeps_headers:
        return forward_flushed(node)
    forward_as, forward = node.context.forward_as, node.forward

    def listener(key: Windowed[Any], new: Any, old: Any, timestamp: int) -> None:
        forward_as(forward, key, Change(new, old), timestamp, NO_HEADERS)

    return listener


def _emit_closed(
    operator: StreamSessionWindowAggregate, node: OperatorNode
) -> Callable[[int], None] | None:
    if operator.emit is not EmitStrategy.ON_WINDOW_CLOSE:
        return None
    find_sessions_by_end = node.stores[operator.store].find_sessions_by_end

    def scan(low: int, high: int) -> Iterator[tuple[Windowed[Any], Any, int]]:
        for key, aggregate in find_sessions_by_end(low, high):
            yield key, aggregate, key.window.end

    return ClosedWindows(operator.store, node, _closed_between, scan).emit_until


def _closed_between(last_close_time: int, close_time: int) -> tuple[int, int] | None:
    """The ends of the sessions that ended before the close time: their end is inclusive."""
    low, high = max(0, last_close_time), close_time - 1
    return (low, high) if high >= low else None
