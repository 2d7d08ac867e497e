"""The order of records within a task that reads several partitions."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

from headrace.core.record import NO_HEADERS, ConsumerRecord, TopicPartition
from headrace.engine.chunk import Chunk, rows
from headrace.engine.clients import Clients
from headrace.runtime.columns import Columns
from headrace.runtime.task import StreamTask

_READ_AHEAD = 1000
_REST_AFTER = 20_000
_FETCH_S = 1.0
_POLL_S = 0.05


class InputMerge:
    """Gives a task its records in Kafka Streams' order: smallest timestamp at the head of a
    partition first, of equal ones the partition that has waited longer.

    A partition that has run empty, but of which Kafka has more than came with the batch, is read
    on: its records may be older than those that wait. Later batches will drop them. With
    `max.task.idle.ms` an empty partition is waited for, at its end too.
    """

    def __init__(
        self, task: StreamTask, inputs: Iterable[TopicPartition], clients: Clients, idle_ms: int
    ) -> None:
        self._task = task
        self._clients = clients
        self._idle_ms = idle_ms
        self._knows_timestamps = task.takes_record_timestamps
        self._queues: dict[TopicPartition, _Queue] = {part: _Queue() for part in inputs}
        self._arrivals = 0
        self._due = 0
        """How many rows of the batch are left."""
        self.read_ahead = 0
        self.enforced = 0
        """How many records were processed while another partition was empty, at its end too."""

    def add(self, partition: TopicPartition, chunk: Chunk) -> None:
        self._append(partition, chunk)
        self._queues[partition].due += chunk.size
        self._due += chunk.size

    def _append(self, partition: TopicPartition, chunk: Chunk) -> None:
        queue = self._queues[partition]
        if queue.is_empty:
            self._note_arrival(queue)
        queue.chunks.append(chunk)

    def drain(self) -> Iterator[None]:
        """Process all that was added, and stop now and then. What was read ahead and isn't older is
        left for later, as one would otherwise read on and on, here and there in turn."""
        if not self._due:
            return
        ahead = _Ahead(self._clients, self._position_of, list(self._queues), self._idle_ms)
        taken = 0
        while self._due:
            waiting = [(part, queue) for part, queue in self._queues.items() if not queue.is_empty]
            if len(waiting) < len(self._queues) and self._fill(ahead):
                continue
            part, queue = min(waiting, key=lambda item: (item[1].head, item[1].arrival))
            others = [other.head for _, other in waiting if other is not queue]
            columns = queue.take(min(others) if others else None)
            self._note_arrival(queue)
            size = len(columns.offsets)
            self._due -= min(queue.due, size)
            queue.due -= min(queue.due, size)
            if len(waiting) < len(self._queues) and self._idle_ms >= 0:
                self.enforced += size
            self._process(part, columns)
            taken += size
            if taken >= _REST_AFTER:
                taken = 0
                yield

    def _process(self, partition: TopicPartition, columns: Columns) -> None:
        task = self._task
        if self._knows_timestamps:
            task.process_columns(partition, columns)
            return
        # Only the task knows the order, as it must read a record to know its timestamp.
        task.add_records(partition, _records(partition, columns))
        for part, queue in self._queues.items():
            while not queue.is_empty:
                task.add_records(part, _records(part, queue.take(None)))
            queue.due = 0
        self._due = 0
        while task.has_records:
            task.process_next()
            task.punctuate_stream_time()

    def _fill(self, ahead: _Ahead) -> bool:
        """Whether an empty partition has got something."""
        empty = [part for part, queue in self._queues.items() if queue.is_empty]
        found = ahead.read(empty)
        for part, columns in found.items():
            self.read_ahead += len(columns.offsets)
            self._append(part, Chunk.of(columns))
        return bool(found)

    def _position_of(self, partition: TopicPartition) -> int:
        return self._task.positions.get(partition, 0)

    def _note_arrival(self, queue: _Queue) -> None:
        queue.arrival = self._arrivals
        self._arrivals += 1


class _Queue:
    """The records of a partition that wait."""

    __slots__ = ("_first", "_rows", "arrival", "chunks", "due")

    def __init__(self) -> None:
        self.chunks: deque[Chunk] = deque()
        self.arrival = 0
        self.due = 0
        self._rows: Columns | None = None
        """The first chunk, once it was looked at, without those that were taken before `_first`."""
        self._first = 0

    @property
    def is_empty(self) -> bool:
        return self._rows is None and not self.chunks

    @property
    def head(self) -> int:
        """The timestamp of the first."""
        if self._rows is None:
            self._rows = self.chunks.popleft().load()
            self._first = 0
        return self._rows.timestamps[self._first]

    def take(self, limit: int | None) -> Columns:
        """The head, and what follows it with timestamps below `limit`, as far as it is at hand."""
        columns, first = self._rows, self._first
        if columns is None:
            columns, first = self.chunks.popleft().load(), 0
        timestamps = columns.timestamps
        end, last = first + 1, len(timestamps)
        if limit is None:
            end = last
        else:
            while end < last and timestamps[end] < limit:
                end += 1
        self._rows, self._first = (None, 0) if end == last else (columns, end)
        return columns if (first, end) == (0, last) else rows(columns, first, end)


class _Ahead:
    """Reads on in partitions, up to the end that they had when the first ran empty."""

    def __init__(
        self,
        clients: Clients,
        position_of: Callable[[TopicPartition], int],
        partitions: list[TopicPartition],
        idle_ms: int,
    ) -> None:
        self._clients = clients
        self._position_of = position_of
        self._idle_ms = idle_ms
        self._partitions = partitions
        self._ends: dict[TopicPartition, int] | None = None
        self._given_up: dict[TopicPartition, float] = {}

    def read(self, empty: Iterable[TopicPartition]) -> dict[TopicPartition, Columns]:
        if self._idle_ms < 0:
            return {}
        if self._ends is None:
            self._ends = self._clients.group.end_offsets(self._partitions)
        found = {}
        for part in empty:
            columns = self._read(part)
            if columns is not None:
                found[part] = columns
        return found

    def _read(self, part: TopicPartition) -> Columns | None:
        assert self._ends is not None
        at = self._position_of(part)
        end = self._ends[part]
        if at >= end and self._idle_ms:
            end = self._wait(part, at)
        if at >= end:
            return None
        records = self._clients.reader.fetch(part, at, _READ_AHEAD, _FETCH_S)
        if not records:
            # Only markers of transactions are left.
            self._ends[part] = at
            return None
        return _columns(records)

    def _wait(self, part: TopicPartition, at: int) -> int:
        """The end of a partition after the idle time, once in a batch."""
        now = time.monotonic()
        deadline = self._given_up.setdefault(part, now + self._idle_ms / 1000)
        while time.monotonic() < deadline:
            end = self._clients.group.end_offsets([part])[part]
            if end > at:
                return end
            time.sleep(min(_POLL_S, self._idle_ms / 1000))
        return at


def _columns(records: list[ConsumerRecord]) -> Columns:
    return Columns(
        [record.offset for record in records],
        [record.timestamp for record in records],
        [record.key for record in records],
        [record.value for record in records],
        [record.headers for record in records],
    )


def _records(partition: TopicPartition, columns: Columns) -> Iterator[ConsumerRecord]:
    return map(
        ConsumerRecord,
        repeat(partition.topic),
        repeat(partition.partition),
        columns.offsets,
        columns.timestamps,
        columns.keys,
        columns.values,
        columns.headers or repeat(NO_HEADERS),
    )
