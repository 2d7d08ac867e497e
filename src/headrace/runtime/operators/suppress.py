"""Holds table updates back, so that fewer of them, or only the final ones, go on."""

from __future__ import annotations

from math import inf
from typing import Any

from headrace.core.errors import StreamsError
from headrace.core.record import Change
from headrace.metrics import catalogue
from headrace.runtime.context import Process
from headrace.runtime.operator import OperatorNode, compiles
from headrace.topology.operators import BufferFull, Suppress, SuppressTime


@compiles(Suppress)
def compile_suppress(operator: Suppress, node: OperatorNode) -> Process:
    """A row is let through with the time, headers and origin of its last update. Stream time is
    that of this operator: it moves with the updates that come here.

    Raises StreamsError if the buffer is full and is to shut down then.
    """
    context, forward = node.context, node.forward
    buffer = node.stores[operator.buffer_store]
    emitted = context.metrics.counter(catalogue.SUPPRESSION_EMIT, node.name)
    wait, by_window_end = operator.wait_ms, operator.time is SuppressTime.WINDOW_END
    max_records = inf if operator.max_records is None else operator.max_records
    max_bytes = inf if operator.max_bytes is None else operator.max_bytes
    drop_tombstones = operator.drop_tombstones
    clock = node.operator_time()

    def is_due() -> bool:
        return bool(buffer.min_timestamp <= clock.stream_time - wait)

    def is_full() -> bool:
        return bool(buffer.num_records > max_records or buffer.buffer_size > max_bytes)

    def emit(eviction: Any) -> None:
        if drop_tombstones and eviction.value.new is None:
            return
        before = context.snapshot()
        context.restore(eviction.registers)
        try:
            forward(eviction.key, eviction.value)
        finally:
            context.restore(before)
        emitted.record()

    def process(key: Any, change: Change) -> None:
        timestamp = context.timestamp
        clock.stream_time = max(clock.stream_time, timestamp)
        time = key.window.end if by_window_end else timestamp
        buffer.put(time, key, change, context.snapshot())
        buffer.evict_while(is_due, emit)
        if is_full():
            if operator.when_full is BufferFull.SHUT_DOWN:
                raise StreamsError(
                    f"The buffer of {node.name} exceeded its capacity: {buffer.num_records} of "
                    f"{max_records} records and {buffer.buffer_size} of {max_bytes} bytes. "
                    "Give it more room, or let it emit early when it is full."
                )
            buffer.evict_while(is_full, emit)

    return process
