"""Emits windows once, when they are closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.errors import StreamsError
from headrace.core.record import Change
from headrace.core.windowed import Windowed
from headrace.metrics import catalogue
from headrace.runtime.operator import OperatorNode

NOT_YET = -1
"""The last close time, before anything was emitted."""

Bounds = Callable[[int, int], "tuple[int, int] | None"]
"""`bounds(last_close_time, close_time)`: the range of windows that have closed in between, both
ends inclusive, or None if no window can have."""

Scan = Callable[[int, int], Iterable[tuple[Windowed[Any], Any, int]]]
"""`scan(low, high)`: the windows of that range, with value and timestamp."""


class ClosedWindows:
    """Emits the windows that have closed since it last did.

    It looks for them at most once in an interval of wall-clock time, after a record. Up to where
    it got is committed with the offsets, so that a restart doesn't emit a window again. The
    results carry the headers of the record that closed them.
    """

    def __init__(self, store: str, node: OperatorNode, bounds: Bounds, scan: Scan) -> None:
        self._store = store
        self._context = node.context
        self._forward = node.forward
        self._bounds = bounds
        self._scan = scan
        self._interval_ms: int = node.context.config[
            "__emit.interval.ms.kstreams.windowed.aggregation__"
        ]
        metrics = node.context.metrics
        self._emitted = metrics.counter(catalogue.FINAL_EMIT, node.name)
        self._emit_latency = metrics.distribution(catalogue.FINAL_EMIT_LATENCY, node.name)
        self._next_look = 0
        self._last_close_time = NOT_YET
        node.on_init.append(self._resume)

    def _resume(self) -> None:
        self._last_close_time = self._context.processor_metadata.get(self._store, NOT_YET)

    def emit_until(self, close_time: int) -> None:
        """Emit what has closed, now that windows which ended before `close_time` are closed."""
        now = self._context.clock.now_ms()
        if now < self._next_look:
            return
        self._next_look = now + self._interval_ms
        if self._last_close_time != NOT_YET and self._last_close_time >= close_time:
            return
        bounds = self._bounds(self._last_close_time, close_time)
        if bounds is not None:
            began = self._context.clock.nanoseconds()
            self._emit(*bounds)
            self._emit_latency.record(self._context.clock.nanoseconds() - began)
            self._last_close_time = close_time
            self._context.processor_metadata[self._store] = close_time

    def _emit(self, low: int, high: int) -> None:
        forward_at, forward = self._context.forward_at, self._forward
        for key, value, timestamp in self._scan(low, high):
            if timestamp < 0:
                raise StreamsError(
                    f"Store {self._store} gives no timestamp for {key}, so the closed window can't "
                    "be emitted. Use a store that keeps timestamps: stores.timestamped_window(…)."
                )
            forward_at(forward, key, Change(value), timestamp)
            self._emitted.record()
