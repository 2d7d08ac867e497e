"""The order of records within a task that reads several partitions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

from headrace.core.clock import PacedClock
from headrace.core.record import NO_HEADERS, ConsumerRecord, TopicPartition
from headrace.engine.chunk import Chunk, Piece, columns_of, rows
from headrace.engine.pace import Pace
from headrace.kafka.port import Kafka
from headrace.runtime.columns import Columns
from headrace.runtime.task import StreamTask

_READ_AHEAD = 1000
_HELD_BYTES = 64 * 1024 * 1024
"""Rows that wait are kept up to so much; others are left in Kafka, and read again in their turn."""
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
        self,
        task: StreamTask,
        inputs: Iterable[TopicPartition],
        kafka: Kafka,
        clock: PacedClock,
        idle_ms: int,
        pace: Pace,
    ) -> None:
        self._task = task
        self._pace = pace
        self._kafka = kafka
        self._clock = clock
        self._idle_ms = idle_ms
        self._knows_timestamps = task.takes_record_timestamps
        self._queues: dict[TopicPartition, _Queue] = {part: _Queue() for part in inputs}
        self._arrivals = 0
        self._held = 0
        self._taken = 0
        self.read_ahead = 0
        self.enforced = 0
        """How many records were processed while another partition was empty, at its end too."""

    def add(self, partition: TopicPartition, chunk: Chunk) -> None:
        if self._held + chunk.bytes > _HELD_BYTES:
            reader = self._kafka.reader
            chunk = Chunk.in_kafka(reader, partition, chunk.first, chunk.last, chunk.size)
        self._held += chunk.bytes
        self._append(partition, chunk)
        self._queues[partition].end = chunk.last + 1

    def take_progress(self) -> tuple[int, int]:
        """How many records were processed since the last call, and how many bytes were loaded."""
        progress = self._taken, sum(queue.loaded for queue in self._queues.values())
        self._taken = 0
        for queue in self._queues.values():
            queue.loaded = 0
        return progress

    def _append(self, partition: TopicPartition, chunk: Chunk) -> None:
        queue = self._queues[partition]
        if queue.is_empty:
            self._note_arrival(queue)
        queue.chunks.append(chunk)

    def drain(self) -> Iterator[None]:
        """Process all that was added, and pause now and then: who doesn't come back leaves the
        rest, and the task's positions say so. What was read ahead and isn't older is left for
        later, as one would otherwise read on and on, here and there in turn."""
        self._pace.begin()
        yield from self._in_order() if self._knows_timestamps else self._in_extracted_order()

    def _in_order(self) -> Iterator[None]:
        ahead = self._read_ahead()
        while self._has_due():
            waiting = [(part, queue) for part, queue in self._queues.items() if not queue.is_empty]
            empty = [part for part, queue in self._queues.items() if queue.is_empty]
            if empty and self._fill(ahead, empty):
                continue
            part, queue = min(waiting, key=lambda item: (item[1].head, item[1].arrival))
            others = [other.head for _, other in waiting if other is not queue]
            columns = queue.take(min(others) if others else None)
            self._note_arrival(queue)
            size = len(columns.offsets)
            if empty and self._idle_ms >= 0:
                self.enforced += size
            done = 0
            while done < size:
                count = self._task.process_columns(part, rows(columns, done), self._pace)
                done += count
                self._taken += count
                if self._pace.is_over():
                    yield
                    self._pace.begin()

    def _in_extracted_order(self) -> Iterator[None]:
        """Only the task knows the order, as it must read a record to know its timestamp: so it has
        some of each partition."""
        task, pace, ahead = self._task, self._pace, self._read_ahead()
        step, done = pace(0), 0
        while self._feed(ahead):
            task.process_next()
            task.punctuate_stream_time()
            self._taken += 1
            done += 1
            if done == step:
                step, done = pace(done), 0
                if not step:
                    yield
                    pace.begin()
                    step = pace(0)

    def _feed(self, ahead: _Ahead) -> bool:
        """Give the task records of the partitions of which it has none. False: all that was added
        is processed."""
        task = self._task
        if not self._has_due():
            return False
        hungry = [part for part in self._queues if not task.has_queued(part)]
        if empty := [part for part in hungry if self._queues[part].is_empty]:
            self._fill(ahead, empty)
        for part in hungry:
            queue = self._queues[part]
            if not queue.is_empty:
                task.add_records(part, _records(part, queue.take(None)))
            elif self._idle_ms >= 0:
                self.enforced += 1
        return True

    def _has_due(self) -> bool:
        """Whether rows of the batch are left."""
        return any(self._position_of(part) < queue.end for part, queue in self._queues.items())

    def _read_ahead(self) -> _Ahead:
        return _Ahead(
            self._kafka, self._clock, self._position_of, list(self._queues), self._idle_ms
        )

    def _fill(self, ahead: _Ahead, empty: list[TopicPartition]) -> bool:
        """Whether an empty partition has got something."""
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

    __slots__ = ("_first", "_pieces", "_rows", "arrival", "chunks", "end", "loaded")

    def __init__(self) -> None:
        self.chunks: deque[Chunk] = deque()
        self.arrival = 0
        self.end = 0
        """The offset after the last row of the batch."""
        self.loaded = 0
        self._rows: Columns | None = None
        """The first piece of the first chunk, once it was looked at, without those that were taken
        before `_first`."""
        self._first = 0
        self._pieces: Iterator[Piece] = iter(())

    @property
    def is_empty(self) -> bool:
        return self._rows is None and not self.chunks

    @property
    def head(self) -> int:
        """The timestamp of the first."""
        return self._loaded().timestamps[self._first]

    def take(self, limit: int | None) -> Columns:
        """The head, and what follows it with timestamps below `limit`, as far as it is at hand."""
        columns, first = self._loaded(), self._first
        timestamps = columns.timestamps
        end, last = first + 1, len(timestamps)
        if limit is None:
            end = last
        else:
            while end < last and timestamps[end] < limit:
                end += 1
        self._first = end
        if end == last:
            self._next_piece()
        return columns if (first, end) == (0, last) else rows(columns, first, end)

    def _loaded(self) -> Columns:
        if self._rows is None:
            self._pieces = self.chunks.popleft().load()
            self._next_piece()
        assert self._rows is not None
        return self._rows

    def _next_piece(self) -> None:
        self._rows, size = next(self._pieces, (None, 0))
        self._first = 0
        self.loaded += size


class _Ahead:
    """Reads on in partitions, up to the end that they had when the first ran empty."""

    def __init__(
        self,
        kafka: Kafka,
        clock: PacedClock,
        position_of: Callable[[TopicPartition], int],
        partitions: list[TopicPartition],
        idle_ms: int,
    ) -> None:
        self._kafka = kafka
        self._clock = clock
        self._position_of = position_of
        self._idle_ms = idle_ms
        self._partitions = partitions
        self._ends: dict[TopicPartition, int] | None = None
        self._given_up: dict[TopicPartition, float] = {}

    def read(self, empty: Iterable[TopicPartition]) -> dict[TopicPartition, Columns]:
        if self._idle_ms < 0:
            return {}
        if self._ends is None:
            self._ends = self._kafka.group.end_offsets(self._partitions)
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
        records = self._kafka.reader.fetch(part, at, _READ_AHEAD, _FETCH_S)
        if not records:
            # Only markers of transactions are left.
            self._ends[part] = at
            return None
        return columns_of(records)

    def _wait(self, part: TopicPartition, at: int) -> int:
        """The end of a partition after the idle time, once in a batch."""
        now = self._clock.seconds()
        deadline = self._given_up.setdefault(part, now + self._idle_ms / 1000)
        while self._clock.seconds() < deadline:
            end = self._kafka.group.end_offsets([part])[part]
            if end > at:
                return end
            self._clock.sleep(min(_POLL_S, self._idle_ms / 1000))
        return at


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
