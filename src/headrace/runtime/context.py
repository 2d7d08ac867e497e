"""The registers of a task: what is being processed right now.

A compiled operator is a function of (key, value). The timestamp and the headers of the record, and
where it came from, are not passed along but kept here, in one object for the whole task: most
operators never look at them. An operator that changes the timestamp or the headers sets the
register for as long as it forwards, and puts the old one back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace.core.clock import Clock
from headrace.core.config import StreamsConfig
from headrace.core.record import NO_HEADERS, ConsumerRecord, Header, RecordMetadata, TaskId
from headrace.metrics.task import TaskMetrics

log = logging.getLogger("headrace.task")

Process = Callable[[Any, Any], None]
"""A compiled operator: `process(key, value)`."""


RawRecord = tuple[int, "bytes | None", "bytes | None"]
"""The offset, key and value of the record that is being processed, as it was read."""


class RecordContext(NamedTuple):
    """The registers at one moment."""

    timestamp: int
    headers: Sequence[Header]
    topic: str | None
    partition: int
    offset: int
    raw_key: bytes | None
    raw_value: bytes | None


NO_RECORD = RecordContext(-1, NO_HEADERS, None, -1, -1, None, None)
"""The registers when nothing is being processed."""


class TaskContext:
    """The registers, and what every operator of a task may ask for."""

    __slots__ = (
        "application_id",
        "clock",
        "commit_requested",
        "config",
        "headers",
        "metrics",
        "partition",
        "processor_metadata",
        "record",
        "stream_time",
        "task_id",
        "timestamp",
        "topic",
    )

    def __init__(
        self, task_id: TaskId, config: StreamsConfig, clock: Clock, metrics: TaskMetrics
    ) -> None:
        self.application_id = config.application_id
        self.task_id = task_id
        self.config = config
        self.clock = clock
        self.metrics = metrics
        self.stream_time = -1
        self.commit_requested = False
        self.processor_metadata: dict[str, int] = {}
        """What operators want to find again after a restart, as it was last committed."""
        self.timestamp: int
        self.headers: Sequence[Header]
        self.topic: str | None
        self.partition: int
        self.record: RawRecord
        self.restore(NO_RECORD)

    @property
    def offset(self) -> int:
        return self.record[0]

    def snapshot(self) -> RecordContext:
        return RecordContext(
            self.timestamp,
            self.headers,
            self.topic,
            self.partition,
            *self.record,
        )

    def restore(self, registers: RecordContext) -> None:
        self.timestamp, self.headers, self.topic, self.partition, offset, key, value = registers
        self.record = offset, key, value

    def metadata(self) -> RecordMetadata | None:
        """Where the current record was read, without a topic in a punctuation; None when nothing
        is being processed."""
        if self.timestamp < 0:
            return None
        return RecordMetadata(self.topic, self.partition, self.offset)

    def drop(self, reason: str, read: ConsumerRecord | None = None) -> None:
        """Count a record as dropped, and say why in the log: the current one, or one that was
        `read` and has not become it."""
        self.metrics.dropped_records.record()
        where = self.metadata() if read is None else RecordMetadata(*read[:3])
        log.warning("Skipping record at %s: %s", where, reason, extra=self.log_fields(where))

    def log_fields(self, where: RecordMetadata | None = None) -> dict[str, Any]:
        """Where we are, for structured logs."""
        where = where or RecordMetadata(self.topic, self.partition, self.offset)
        return {"task_id": str(self.task_id), **where._asdict()}

    def forward_at(self, forward: Process, key: Any, value: Any, timestamp: int) -> None:
        """Forward with another timestamp than the current record's."""
        before = self.timestamp
        self.timestamp = timestamp
        try:
            forward(key, value)
        finally:
            self.timestamp = before

    def forward_as(
        self, forward: Process, key: Any, value: Any, timestamp: int, headers: Sequence[Header]
    ) -> None:
        """Forward with another timestamp and other headers than the current record's."""
        before = self.timestamp, self.headers
        self.timestamp, self.headers = timestamp, headers
        try:
            forward(key, value)
        finally:
            self.timestamp, self.headers = before
