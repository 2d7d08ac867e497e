"""What a task has read: how much of which topic, and how old it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core.clock import Clock
from headrace.core.record import ConsumerRecord, Header
from headrace.metrics import catalogue
from headrace.metrics.backlog import Backlog
from headrace.metrics.task import TaskMetrics
from headrace.runtime.columns import Columns
from headrace.runtime.context import Process, TaskContext

_FIXED_SIZE = 8 + 8 + 4
"""Of every record, as Kafka Streams counts: timestamp, offset, partition."""


class Consumption:
    """Measures the records of one input partition. Chunk by chunk they are only counted; a sample
    is looked at when many have come together, or `measure` is called.

    How old they are then is taken for `terminal_nodes`, too, at which records end, as if all of
    them came there. What really comes there is measured by Arrivals, which costs too much for the
    lowest recording level.
    """

    def __init__(
        self,
        metrics: TaskMetrics,
        source: str,
        topic: str,
        clock: Clock,
        terminal_nodes: Iterable[str] = (),
    ) -> None:
        self._latencies = [
            metrics.distribution(catalogue.NODE_LATENCY, node)
            for node in (source, *sorted(terminal_nodes))
        ]
        self._processed = metrics.processed, metrics.counter(catalogue.NODE_PROCESSED, source)
        self._records = metrics.counter(catalogue.RECORDS_CONSUMED, source, topic)
        self._bytes = metrics.counter(catalogue.BYTES_CONSUMED, source, topic)
        self._clock = clock
        self._fixed_size = _FIXED_SIZE + len(topic.encode())
        self.backlog: Backlog[tuple[Columns, Sequence[int]]] = Backlog()

    def look_at(self, columns: Columns, timestamps: Sequence[int], count: int) -> None:
        """The first `count` records were processed, and one of them is due in the backlog.
        `timestamps` are those of the extractor."""
        if self.backlog.keep((columns, timestamps), count):
            self.measure()

    def read(self, record: ConsumerRecord) -> None:
        """A record was taken from its queue."""
        self._records.record()
        size = len(record.key or b"") + len(record.value or b"") + _size_of(record.headers)
        self._bytes.record(self._fixed_size + size)

    def processed(self, timestamp: int) -> None:
        """A record of a queue was processed."""
        for counter in self._processed:
            counter.record()
        age = self._clock.now_ms() - timestamp
        for latency in self._latencies:
            latency.record(age)

    def measure(self) -> None:
        rows = self.backlog.rows
        if not rows:
            return
        self._records.record(rows)
        for counter in self._processed:
            counter.record(rows)
        now = self._clock.now_ms()
        # Put together first: they may have come in hundreds of small chunks.
        keys: list[bytes | None] = []
        values: list[bytes | None] = []
        headers: list[Sequence[Header]] = []
        timestamps: list[int] = []
        for (columns, extracted), part in self.backlog.take():
            keys += columns.keys[part]
            values += columns.values[part]
            timestamps += extracted[part]
            if columns.headers is not None:
                headers += columns.headers[part]
        size = sum(map(len, filter(None, keys))) + sum(map(len, filter(None, values)))
        size += sum(map(_size_of, headers))
        self._bytes.record(rows * self._fixed_size + size * rows // len(keys))
        ages = [now - timestamp for timestamp in timestamps]
        for latency in self._latencies:
            latency.record_all(ages)


def timed(forward: Process, context: TaskContext) -> Process:
    """Forward, and measure how long each record takes and how late it is."""
    now = context.clock.nanoseconds
    latency = context.metrics.distribution(catalogue.TASK_PROCESS)
    lateness = context.metrics.distribution(catalogue.RECORD_LATENESS)

    def process(key: Any, value: Any) -> None:
        lateness.record(context.stream_time - context.timestamp)
        began = now()
        forward(key, value)
        latency.record(now() - began)

    return process


def _size_of(headers: Sequence[Header]) -> int:
    return sum(len(name) + len(value or b"") for name, value in headers) if headers else 0
