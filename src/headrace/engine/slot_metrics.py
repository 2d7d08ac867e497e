"""What a slot measures of itself in a batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns

from headrace.metrics import catalogue
from headrace.metrics.level import RecordingLevel
from headrace.metrics.recorder import Distribution, Recorder


class SlotMetrics(Recorder):
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

    @contextmanager
    def timing(self, instrument: Distribution) -> Iterator[None]:
        """Record how long something takes, if it succeeds."""
        began = perf_counter_ns()
        yield
        instrument.record(perf_counter_ns() - began)
