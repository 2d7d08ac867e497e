"""The input of a task: sources, and the queues of records that wait for their turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.core.errors import StreamsError
from headrace.core.handlers import Stage
from headrace.core.hash_order import grown_set_order, partition_hash_code
from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.runtime.consumption import Consumption
from headrace.runtime.context import Process, TaskContext
from headrace.runtime.failure import FailureHandling
from headrace.topology.nodes import TimestampExtractor

UNKNOWN = -1


@dataclass(slots=True)
class Source:
    """How the records of a source node are read."""

    name: str
    forward: Process
    deserialize_key: Callable[[bytes], Any]
    deserialize_value: Callable[[bytes], Any]
    timestamp_of: TimestampExtractor
    context: TaskContext
    failures: FailureHandling

    def read(self, raw: ConsumerRecord, partition_time: int) -> StampedRecord | None:
        """The record deserialized and stamped, or None if it is to be skipped."""
        stage = Stage.DESERIALIZE_KEY
        try:
            key = None if raw.key is None else self.deserialize_key(raw.key)
            stage = Stage.DESERIALIZE_VALUE
            value = None if raw.value is None else self.deserialize_value(raw.value)
        except Exception as error:
            self.failures.deserialization_failed(stage, self.name, raw, error)
            return None
        timestamp = self._timestamp(raw._replace(key=key, value=value), partition_time)
        if timestamp < 0:
            self.context.drop(f"its timestamp {timestamp} is negative", raw)
            return None
        return StampedRecord(raw, key, value, timestamp)

    def _timestamp(self, record: ConsumerRecord, partition_time: int) -> int:
        try:
            return self.timestamp_of(record, partition_time)
        except StreamsError:
            raise
        except Exception as error:
            raise StreamsError(
                f"The timestamp extractor of source {self.name} failed at "
                f"{record.topic}-{record.partition}@{record.offset}: {error!r}"
            ) from error


class StampedRecord(NamedTuple):
    raw: ConsumerRecord
    key: Any
    value: Any
    timestamp: int


class RecordQueue:
    """The records of one partition that wait. The head is already read, for its timestamp.

    If none of those that wait can be used, the last of them stays as a head without a record, so
    that its offset is committed when its turn comes.
    """

    def __init__(self, partition: TopicPartition, source: Source, consumption: Consumption) -> None:
        self.partition = partition
        self.source = source
        self.consumption = consumption
        self.partition_time = UNKNOWN
        self.head: StampedRecord | None = None
        self.skipped: ConsumerRecord | None = None
        self._waiting: deque[ConsumerRecord] = deque()

    def __len__(self) -> int:
        return len(self._waiting) + (self.head is not None or self.skipped is not None)

    @property
    def head_timestamp(self) -> int:
        return self.head.timestamp if self.head is not None else UNKNOWN

    @property
    def read_up_to(self) -> int | None:
        """The offset before which all records are processed or skipped; None: nothing waits."""
        if self.head is not None:
            return self.head.raw.offset
        return None if self.skipped is None else self.skipped.offset + 1

    def add(self, records: Iterable[ConsumerRecord]) -> None:
        self._waiting.extend(records)
        self._read_head()

    def clear(self) -> None:
        self.head = self.skipped = None
        self._waiting.clear()

    def poll(self) -> tuple[StampedRecord | None, int]:
        """The head (None if it is to be skipped) and its offset."""
        head, skipped = self.head, self.skipped
        self.head = self.skipped = None
        if head is not None:
            self.partition_time = max(self.partition_time, head.timestamp)
            offset = head.raw.offset
        else:
            assert skipped is not None
            offset = skipped.offset
        self._read_head()
        return head, offset

    def _read_head(self) -> None:
        while self.head is None and self._waiting:
            raw = self._waiting.popleft()
            self.consumption.read(raw)
            self.head = self.source.read(raw, self.partition_time)
            self.skipped = raw if self.head is None else None


class PartitionGroup:
    """The queues of all input partitions of a task: which record is next.

    The smallest timestamp at the head of a queue goes first; of equal ones, the queue that has been
    waiting longer. With `max.task.idle.ms` > 0, an empty queue is waited for that long.
    """

    def __init__(self, queues: Iterable[RecordQueue], max_idle_ms: int) -> None:
        self.queues = {queue.partition: queue for queue in queues}
        self._in_hash_order = grown_set_order(self.queues, partition_hash_code)
        self._max_idle_ms = max_idle_ms
        self._deadlines: dict[TopicPartition, int] = {}
        self._arrivals: dict[TopicPartition, int] = {}
        self._arrival = 0

    def add(self, partition: TopicPartition, records: Iterable[ConsumerRecord]) -> None:
        queue = self.queues[partition]
        was_empty = not len(queue)
        queue.add(records)
        if was_empty:
            self._note_arrival(partition)

    def has_records(self) -> bool:
        return any(len(queue) for queue in self.queues.values())

    def is_ready(self, now_ms: int) -> bool:
        """Whether a record may be taken now, or an empty queue is still waited for."""
        if not self.has_records():
            return False
        if self._max_idle_ms <= 0:
            return True
        # Empty queues are waited for one after the other: so it is in Kafka Streams.
        for partition in self._in_hash_order:
            if len(self.queues[partition]):
                self._deadlines.pop(partition, None)
            elif now_ms < self._deadlines.setdefault(partition, now_ms + self._max_idle_ms):
                return False
        return True

    @property
    def is_forced(self) -> bool:
        """Whether the next record is taken though an input is empty, which was waited for."""
        return self._max_idle_ms >= 0 and not all(map(len, self.queues.values()))

    def next_queue(self) -> RecordQueue:
        queue = min(
            (queue for queue in self.queues.values() if len(queue)),
            key=lambda queue: (queue.head_timestamp, self._arrivals[queue.partition]),
        )
        self._note_arrival(queue.partition)
        return queue

    def _note_arrival(self, partition: TopicPartition) -> None:
        self._arrivals[partition] = self._arrival
        self._arrival += 1
