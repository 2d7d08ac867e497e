"""Joins of two streams within a window of time.

A record is first joined with what the other side's store holds, and only then put in its own
side's store, so that two records never meet twice. Nothing checks whether a record is late: it
joins whatever the other store still has, and its own store decides whether to keep it.

Left and outer joins put a record without a partner in the outer store. It is emitted when stream
time, common to both sides, has passed its window and the grace period; a partner that comes
before removes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.core.windowed import LONG_MAX
from headrace.runtime.context import Process, TaskContext
from headrace.runtime.operator import OperatorNode, OperatorTime, compiles
from headrace.serde.outer_join import OuterJoinKey, OuterJoinValue
from headrace.topology.operators import (
    JoinSide,
    JoinWindowPut,
    StreamSelfJoin,
    StreamStreamJoin,
)
from headrace.topology.views import Function

EMIT_INTERVAL = "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__"

NULL_KEY_OR_VALUE = "null key or value"

Join = Callable[[Any, Any, Any], Any]
"""`join(key, this, other)`: a joiner as one side calls it."""


class TimeTracker(OperatorTime):
    """What both sides of a stream-stream join know about time.

    `min_time` is at most the time of the oldest record in the outer store; `next_emit` is the wall
    clock time before which the store is not looked through again.
    """

    __slots__ = ("min_time", "next_emit")

    def __init__(self, remembered: Mapping[str, int]) -> None:
        super().__init__(remembered)
        self.min_time = remembered.get("min-time", LONG_MAX)
        self.next_emit = 0

    def metadata(self) -> dict[str, int]:
        return {**super().metadata(), "min-time": self.min_time}


def as_side(joiner: Function, with_key: bool, side: JoinSide) -> Join:
    """`joiner` with the arguments in the order (key, this side's value, the other side's)."""
    if side is JoinSide.LEFT:
        return joiner if with_key else lambda key, this, other: joiner(this, other)
    if with_key:
        return lambda key, this, other: joiner(key, other, this)
    return lambda key, this, other: joiner(other, this)


@compiles(JoinWindowPut)
def compile_join_window_put(operator: JoinWindowPut, node: OperatorNode) -> Process:
    context, forward = node.context, node.forward
    put = node.stores[operator.store].put

    def process(key: Any, value: Any) -> None:
        forward(key, value)
        if key is not None:
            put(key, value, context.timestamp)

    return process


@compiles(StreamStreamJoin)
def compile_stream_stream_join(operator: StreamStreamJoin, node: OperatorNode) -> Process:
    if operator.emit_unmatched or operator.outer_store is not None:
        return _outer_join(operator, node)
    return _inner_join(operator, node)


def _reach(operator: StreamStreamJoin) -> tuple[int, int]:
    """How far before and after a record of this side its partners may be."""
    windows = operator.windows
    if operator.side is JoinSide.LEFT:
        return windows.before_ms, windows.after_ms
    return windows.after_ms, windows.before_ms


def _inner_join(operator: StreamStreamJoin, node: OperatorNode) -> Process:
    context, forward = node.context, node.forward
    fetch = node.stores[operator.other_store].fetch
    join = as_side(operator.joiner, operator.with_key, operator.side)
    before_ms, after_ms = _reach(operator)

    def process(key: Any, value: Any) -> None:
        if key is None or value is None:
            context.drop(NULL_KEY_OR_VALUE)
            return
        timestamp = context.timestamp
        partners = fetch(key, max(0, timestamp - before_ms), max(0, timestamp + after_ms))
        try:
            for time, other in partners:
                joined = join(key, value, other)
                context.timestamp = time if time > timestamp else timestamp
                forward(key, joined)
        finally:
            context.timestamp = timestamp

    return process


def _outer_join(operator: StreamStreamJoin, node: OperatorNode) -> Process:
    """A side of a left or outer join, also one whose own unmatched records are not emitted: it
    still finds partners for those of the other side, and moves time on."""
    context, forward = node.context, node.forward
    fetch = node.stores[operator.other_store].fetch
    join = as_side(operator.joiner, operator.with_key, operator.side)
    before_ms, after_ms = _reach(operator)
    is_left = operator.side is JoinSide.LEFT
    emit_unmatched = operator.emit_unmatched
    tracker = node.remembered(operator.join, TimeTracker)
    outer_store = None if operator.outer_store is None else node.stores[operator.outer_store]
    emit_closed = (
        None if outer_store is None else _closed_emitter(operator, node, outer_store, tracker)
    )

    def process(key: Any, value: Any) -> None:
        timestamp = context.timestamp
        if timestamp > tracker.stream_time:
            tracker.stream_time = timestamp
        if key is None or value is None:
            if emit_unmatched and value is not None:
                forward(key, join(key, value, None))
            else:
                context.drop(NULL_KEY_OR_VALUE)
            return
        if emit_closed is not None and timestamp == tracker.stream_time:
            emit_closed()
        time_to = max(0, timestamp + after_ms)
        unmatched = emit_unmatched
        try:
            for time, other in fetch(key, max(0, timestamp - before_ms), time_to):
                unmatched = False
                if outer_store is not None:
                    outer_store.put_if_absent(OuterJoinKey(time, not is_left, key), None)
                joined = join(key, value, other)
                context.timestamp = time if time > timestamp else timestamp
                forward(key, joined)
                context.timestamp = timestamp
        finally:
            context.timestamp = timestamp
        if not unmatched:
            return
        # A record whose window is already over can't wait for it to close: no grace here.
        if outer_store is None or time_to < tracker.stream_time:
            forward(key, join(key, value, None))
        else:
            tracker.min_time = min(tracker.min_time, timestamp)
            outer_store.put(OuterJoinKey(timestamp, is_left, key), OuterJoinValue(is_left, value))

    return process


def _closed_emitter(
    operator: StreamStreamJoin, node: OperatorNode, store: Any, tracker: TimeTracker
) -> Callable[[], None]:
    """Emits the unmatched records whose windows are closed, oldest first, at most once in the
    emit interval of the wall clock. They keep their timestamps and take the headers of the record
    that is being processed."""
    context, clock = node.context, node.context.clock
    emit = _unmatched_emitter(operator, context, node.forward)
    windows = operator.windows
    grace_ms = windows.grace_ms
    _, after_ms = _reach(operator)
    wait_ms = after_ms + grace_ms
    left_wait_ms, right_wait_ms = windows.after_ms + grace_ms, windows.before_ms + grace_ms
    interval_ms = context.config[EMIT_INTERVAL]

    def emit_closed() -> None:
        stream_time = tracker.stream_time
        # With nothing known to wait, `min_time` is the highest long: the sum then overflows, which
        # counts as "look", and so starts the emit interval.
        if stream_time <= tracker.min_time + wait_ms <= LONG_MAX:
            return
        now = clock.now_ms()
        if now < tracker.next_emit:
            return
        tracker.next_emit = now + interval_ms
        tracker.min_time = LONG_MAX
        left_open = right_open = False
        emitted: OuterJoinKey | None = None
        for outer_key, outer_value in store.all():
            tracker.min_time = outer_key.timestamp
            if left_open and right_open:
                break
            if outer_key.is_left:
                if outer_key.timestamp + left_wait_ms >= stream_time:
                    left_open = True
                    continue
            elif outer_key.timestamp + right_wait_ms >= stream_time:
                right_open = True
                continue
            emit(outer_key, outer_value)
            # A key has a list of values: it is deleted only when all of them are out.
            if emitted is not None and emitted != outer_key:
                store.put(emitted, None)
            emitted = outer_key
        if emitted is not None:
            store.put(emitted, None)

    return emit_closed


def _unmatched_emitter(
    operator: StreamStreamJoin, context: TaskContext, forward: Process
) -> Callable[[OuterJoinKey, OuterJoinValue], None]:
    join = as_side(operator.joiner, operator.with_key, JoinSide.LEFT)

    def emit(outer_key: OuterJoinKey, outer_value: OuterJoinValue) -> None:
        key, value = outer_key.key, outer_value.value
        joined = join(key, value, None) if outer_value.is_left else join(key, None, value)
        context.forward_at(forward, key, joined, outer_key.timestamp)

    return emit


@compiles(StreamSelfJoin)
def compile_stream_self_join(operator: StreamSelfJoin, node: OperatorNode) -> Process:
    """Emits in the order in which an inner join with two stores would: first the record as the left
    side, then as the right side, and with itself where its time comes in the second row."""
    context, forward = node.context, node.forward
    fetch = node.stores[operator.store].fetch
    join = as_side(operator.joiner, operator.with_key, JoinSide.LEFT)
    windows = operator.windows
    before_ms, after_ms, retention_ms = windows.before_ms, windows.after_ms, windows.retention_ms
    clock = node.operator_time()

    def process(key: Any, value: Any) -> None:
        if key is None or value is None:
            context.drop(NULL_KEY_OR_VALUE)
            return
        timestamp = context.timestamp
        with_itself = join(key, value, value)
        clock.stream_time = stream_time = max(clock.stream_time, timestamp)
        # An expired record would not have been found in the store of the other side.
        emit_itself = timestamp > stream_time - retention_ms + 1
        try:
            for time, other in fetch(
                key, max(0, timestamp - before_ms), max(0, timestamp + after_ms)
            ):
                joined = join(key, value, other)
                context.timestamp = max(timestamp, time)
                forward(key, joined)
            for time, other in fetch(
                key, max(0, timestamp - after_ms), max(0, timestamp + before_ms)
            ):
                if emit_itself and time > timestamp:
                    emit_itself = False
                    context.timestamp = timestamp
                    forward(key, with_itself)
                joined = join(key, other, value)
                context.timestamp = max(timestamp, time)
                forward(key, joined)
        finally:
            context.timestamp = timestamp
        if emit_itself:
            forward(key, with_itself)

    return process
