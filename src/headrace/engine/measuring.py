"""What a slot measures of itself in a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns

from headrace.core.record import TopicPartition
from headrace.engine.chunk import Chunk
from headrace.metrics import catalogue
from headrace.metrics.level import RecordingLevel
from headrace.metrics.recorder import Distribution, Recorder


class ThreadMetrics(Recorder):
    """The instruments of one batch of one slot. All times are in nanoseconds."""

    def __init__(self, level: RecordingLevel) -> None:
        super().__init__(level)
        self.poll = self.distribution(catalogue.POLL)
        self.poll_records = self.distribution(catalogue.POLL_RECORDS)
        self.process = self.distribution(catalogue.PROCESS)
        self.process_records = self.distribution(catalogue.PROCESS_RECORDS)
        self.processed = self.counter(catalogue.PROCESSED)
        self.punctuate = self.distribution(catalogue.PUNCTUATE)
        self.commit = self.distribution(catalogue.COMMIT)
        self.blocked = self.distribution(catalogue.BLOCKED_TIME)
        self.restore = self.distribution(catalogue.RESTORE)
        self.restored = self.counter(catalogue.RESTORE_RECORDS)
        self.checkpoint = self.distribution(catalogue.CHECKPOINT)
        self.task_created = self.counter(catalogue.TASK_CREATED)
        self.task_closed = self.counter(catalogue.TASK_CLOSED)

    def polled(
        self, rows: Iterable[tuple[TopicPartition, Chunk]]
    ) -> Iterator[tuple[TopicPartition, Chunk]]:
        """The rows, while it is measured how long they are waited for."""
        began = perf_counter_ns()
        for partition, chunk in rows:
            self.poll.record(perf_counter_ns() - began)
            self.poll_records.record(chunk.size)
            yield partition, chunk
            began = perf_counter_ns()

    @contextmanager
    def timing(self, instrument: Distribution) -> Iterator[None]:
        """Record how long something takes, if it succeeds."""
        began = perf_counter_ns()
        yield
        instrument.record(perf_counter_ns() - began)
