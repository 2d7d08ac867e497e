"""The order of records within a task that reads several partitions."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

from headrace.core.record import NO_HEADERS, ConsumerRecord, TopicPartition
from headrace.engine.clients import Clients
from headrace.runtime.task import Columns, StreamTask

_READ_AHEAD = 1000
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
        self._queues: dict[TopicPartition, _Queue] = {part: _Queue() for part in inputs}
        self._arrivals = 0
        self._due: dict[TopicPartition, int] = {}
        self.read_ahead = 0

    def add(self, partition: TopicPartition, columns: Columns) -> None:
        self._append(partition, columns)
        self._due[partition] = columns.offsets[-1]

    def _append(self, partition: TopicPartition, columns: Columns) -> None:
        queue = self._queues[partition]
        if not queue.chunks:
            self._note_arrival(queue)
        queue.chunks.append(columns)

    def drain(self) -> None:
        """Process all that was added. What was read ahead and isn't older is left for later, as one
        would otherwise read on and on, here and there in turn."""
        if not self._due:
            return
        ahead = _Ahead(self._clients, self._position_of, list(self._queues), self._idle_ms)
        while any(self._position_of(part) <= last for part, last in self._due.items()):
            waiting = [(part, queue) for part, queue in self._queues.items() if queue.chunks]
            if len(waiting) < len(self._queues) and self._fill(ahead):
                continue
            part, queue = min(waiting, key=lambda item: (item[1].head, item[1].arrival))
            others = [other.head for _, other in waiting if other is not queue]
            columns = queue.take(min(others) if others else None)
            self._note_arrival(queue)
            self._process(part, columns)

    def _process(self, partition: TopicPartition, columns: Columns) -> None:
        task = self._task
        if task.takes_record_timestamps:
            task.process_columns(partition, columns)
            return
        # Only the task knows the order, as it must read a record to know its timestamp.
        task.add_records(partition, _records(partition, columns))
        for part, queue in self._queues.items():
            for chunk in queue.take_all():
                task.add_records(part, _records(part, chunk))
        while task.has_records:
            task.process_next()
            task.punctuate_stream_time()

    def _fill(self, ahead: _Ahead) -> bool:
        """Whether an empty partition has got something."""
        empty = [part for part, queue in self._queues.items() if not queue.chunks]
        found = ahead.read(empty)
        for part, columns in found.items():
            self.read_ahead += len(columns.offsets)
            self._append(part, columns)
        return bool(found)

    def _position_of(self, partition: TopicPartition) -> int:
        return self._task.positions.get(partition, 0)

    def _note_arrival(self, queue: _Queue) -> None:
        queue.arrival = self._arrivals
        self._arrivals += 1


class _Queue:
    """The records of a partition that wait."""

    __slots__ = ("arrival", "chunks", "first")

    def __init__(self) -> None:
        self.chunks: deque[Columns] = deque()
        self.first = 0
        """The first row of the first chunk that was not taken yet."""
        self.arrival = 0

    @property
    def head(self) -> int:
        return self.chunks[0].timestamps[self.first]

    def take(self, limit: int | None) -> Columns:
        """The head, and what follows it with timestamps below `limit`, as far as it is at hand."""
        chunk, first = self.chunks[0], self.first
        timestamps = chunk.timestamps
        end, last = first + 1, len(timestamps)
        if limit is None:
            end = last
        else:
            while end < last and timestamps[end] < limit:
                end += 1
        if end == last:
            self.chunks.popleft()
            self.first = 0
        else:
            self.first = end
        return chunk if (first, end) == (0, last) else rows(chunk, first, end)

    def take_all(self) -> Iterator[Columns]:
        while self.chunks:
            yield self.take(None)


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


def rows(columns: Columns, first: int, end: int | None = None) -> Columns:
    """Some rows of many."""
    return Columns(
        columns.offsets[first:end],
        columns.timestamps[first:end],
        columns.keys[first:end],
        columns.values[first:end],
        None if columns.headers is None else columns.headers[first:end],
    )


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
