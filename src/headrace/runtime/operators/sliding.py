"""Aggregations by key and sliding window.

There is no window for every millisecond, only those that differ: a record at `t` has a *left*
window `[t - difference, t]` that ends with it, and a *right* window `[t + 1, t + 1 + difference]`
that begins right after it, which is made once there is a record in it. The timestamp of a window's
aggregate is that of its last record, and so tells whether a window holds anything after `t`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.errors import ArgumentError
from headrace.core.record import ValueAndTimestamp
from headrace.runtime.context import Process, TaskContext
from headrace.runtime.operator import OperatorNode, compiles
from headrace.runtime.operators.emit_on_close import NOT_YET, Bounds, ClosedWindows
from headrace.runtime.operators.forwarding import window_update
from headrace.runtime.operators.window import expired, scan_windows
from headrace.topology.operators import StreamSlidingWindowAggregate
from headrace.topology.windows import EmitStrategy


@compiles(StreamSlidingWindowAggregate)
def compile_sliding_aggregate(
    operator: StreamSlidingWindowAggregate, node: OperatorNode
) -> Process:
    """A record whose key or value is None is dropped, and one whose right window is closed."""
    context, drop = node.context, node.context.drop
    difference, grace = operator.windows.difference_ms, operator.windows.grace_ms
    windows = _SlidingWindowsOfKey(operator, node)
    emit_closed = _emit_closed(operator, node)
    clock = node.operator_time()

    def process(key: Any, value: Any) -> None:
        if key is None or value is None:
            drop("null key or value")
            return
        timestamp = context.timestamp
        stream_time = clock.stream_time
        if timestamp > stream_time:
            clock.stream_time = stream_time = timestamp
        close_time = stream_time - grace
        if timestamp + difference < close_time:
            drop(expired(timestamp, timestamp + difference, stream_time))
        elif timestamp < difference:
            # Nothing is emitted after such a record, even if it has closed a window.
            windows.add_early(key, value, timestamp, close_time)
        else:
            windows.add(key, value, timestamp, close_time)
            if emit_closed is not None:
                emit_closed(close_time)

    return process


def _emit_closed(
    operator: StreamSlidingWindowAggregate, node: OperatorNode
) -> Callable[[int], None] | None:
    if operator.emit is not EmitStrategy.ON_WINDOW_CLOSE:
        return None
    scan = scan_windows(node.stores[operator.store])
    bounds = _closed_between(operator.windows.difference_ms)
    return ClosedWindows(operator.store, node, bounds, scan).emit_until


def _closed_between(difference: int) -> Bounds:
    """The starts of the windows that ended before the close time: their end is inclusive."""

    def bounds(last_close_time: int, close_time: int) -> tuple[int, int] | None:
        high = close_time - difference - 1
        if high < 0:
            return None
        return (0 if last_close_time == NOT_YET else max(0, last_close_time - difference)), high

    return bounds


class _SlidingWindowsOfKey:
    """Takes records into the windows of their key, and makes the windows that they need."""

    def __init__(self, operator: StreamSlidingWindowAggregate, node: OperatorNode) -> None:
        store = node.stores[operator.store]
        self._context: TaskContext = node.context
        self._difference = operator.windows.difference_ms
        self._initializer = operator.initializer
        self._aggregator = operator.aggregator
        self._fetch = store.fetch
        self._backward_fetch = store.backward_fetch
        self._update = window_update(
            store, node, self._difference, operator.emit, operator.send_old_values
        )

    def add(self, key: Any, value: Any, timestamp: int, close_time: int) -> None:
        """Take in a record that has a left window: one at or after `difference`."""
        difference = self._difference
        left_start, right_start = timestamp - difference, timestamp + 1
        starts: set[int] = set()
        right_exists = left_exists = False
        right: ValueAndTimestamp | None = None
        before: ValueAndTimestamp | None = None
        previous: int | None = None

        for start, row in self._windows_around(key, timestamp):
            starts.add(start)
            if start == right_start:
                right_exists = True
            elif start > left_start:
                right = right or row
                self._take_in(key, value, timestamp, start, row, close_time)
            elif start == left_start:
                left_exists = True
                self._take_in(key, value, timestamp, start, row, close_time)
                if row.timestamp >= timestamp:
                    # There was a record at this very time: all windows have been made for it.
                    return
                previous = row.timestamp
            else:
                before = row
                previous = row.timestamp

        if previous is not None:
            start = previous + 1
            if start not in starts and start + difference >= timestamp:
                self._begin(key, value, timestamp, start, close_time)
        if not left_exists:
            self._check_difference()
            if before is not None and before.timestamp >= left_start:
                left = ValueAndTimestamp(before.value, timestamp)
                self._take_in(key, value, timestamp, left_start, left, close_time)
            else:
                self._begin(key, value, timestamp, left_start, close_time)
        if not right_exists:
            self._make_right(key, timestamp, right)

    def add_early(self, key: Any, value: Any, timestamp: int, close_time: int) -> None:
        """Take in a record before `difference`, whose left window would begin before the epoch.
        All such records have `[0, difference]` as their left window."""
        starts: set[int] = set()
        right_exists = False
        right: ValueAndTimestamp | None = None
        combined: ValueAndTimestamp | None = None
        previous: int | None = None

        for start, row in list(self._fetch(key, 0, timestamp + 1)):
            starts.add(start)
            if start == 0:
                combined = row
                if row.timestamp < timestamp:
                    previous = row.timestamp
            elif start <= timestamp:
                right = row
                self._take_in(key, value, timestamp, start, row, close_time)
            else:
                right_exists = True

        if not right_exists:
            # If no other window reaches beyond this record, all of the combined one that does is
            # in the right window: else a window of an earlier record would have been found.
            self._make_right(key, timestamp, combined if right is None else right)
        if previous is not None and previous + 1 not in starts:
            self._begin(key, value, timestamp, previous + 1, close_time)
        if combined is None:
            self._begin(key, value, timestamp, 0, close_time)
        else:
            self._take_in(key, value, timestamp, 0, combined, close_time)

    def _windows_around(self, key: Any, timestamp: int) -> list[tuple[int, ValueAndTimestamp]]:
        """From the right window of `timestamp` down to the last that ended before it. They are
        read before any is written, so that the scan doesn't see the updates."""
        left_start = timestamp - self._difference
        around: list[tuple[int, ValueAndTimestamp]] = []
        earliest = max(0, left_start - self._difference)
        for start, row in self._backward_fetch(key, earliest, timestamp + 1):
            around.append((start, row))
            if start < left_start:
                break
        return around

    def _begin(self, key: Any, value: Any, timestamp: int, start: int, close_time: int) -> None:
        """Make a window of which the record is the first."""
        first = ValueAndTimestamp(self._initializer(), timestamp)
        self._take_in(key, value, timestamp, start, first, close_time)

    def _take_in(
        self,
        key: Any,
        value: Any,
        timestamp: int,
        start: int,
        row: ValueAndTimestamp,
        close_time: int,
    ) -> None:
        end = start + self._difference
        if end < close_time:
            self._context.drop(f"its window [{start}, {end}] is closed since {close_time}")
            return
        old = row.value
        new = self._aggregator(key, value, old)
        self._update(key, start, new, old, max(timestamp, row.timestamp))

    def _make_right(self, key: Any, timestamp: int, later: ValueAndTimestamp | None) -> None:
        """Make the record's right window, if `later` holds records after it."""
        if later is not None and later.timestamp > timestamp:
            self._update(key, timestamp + 1, later.value, None, later.timestamp)

    def _check_difference(self) -> None:
        if self._difference == 0:
            raise ArgumentError(
                "Sliding windows of a difference of 0 can't be aggregated: a window must end after "
                "it begins. Give them a difference of at least 1 ms."
            )
