"""The order in which a task of several partitions takes its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core.clock import PacedClock, SystemClock
from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.engine.chunk import Chunk, Piece, rows
from headrace.engine.merge import InputMerge
from headrace.engine.pace import Pace
from headrace.runtime.columns import Columns
from tests.simulation.clock import VirtualClock

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


class Task:
    """Takes notes in place of a StreamTask."""

    def __init__(self, *, takes_record_timestamps: bool = True) -> None:
        self.takes_record_timestamps = takes_record_timestamps
        self.positions: dict[TopicPartition, int] = {}
        self.taken: list[tuple[str, int]] = []
        self.queued: list[ConsumerRecord] = []

    def process_columns(self, partition: TopicPartition, columns: Columns, pace: Pace) -> int:
        self.taken += [(partition.topic, timestamp) for timestamp in columns.timestamps]
        self.positions[partition] = columns.offsets[-1] + 1
        return len(columns.offsets)

    def add_records(self, partition: TopicPartition, records: Iterable[ConsumerRecord]) -> None:
        self.queued += records

    def has_queued(self, partition: TopicPartition) -> bool:
        return any(record.topic == partition.topic for record in self.queued)

    def process_next(self) -> None:
        record = self.queued.pop(0)
        self.taken.append((record.topic, record.timestamp))
        self.positions[TopicPartition(record.topic, 0)] = record.offset + 1

    def punctuate_stream_time(self) -> None: ...


class SlowTask(Task):
    """Takes 30 ms for a record."""

    clock: VirtualClock

    def process_columns(self, partition: TopicPartition, columns: Columns, pace: Pace) -> int:
        self.clock.sleep(0.03 * len(columns.offsets))
        return super().process_columns(partition, columns, pace)


class Kafka:
    """Has what a batch didn't bring."""

    def __init__(self, **later: list[int]) -> None:
        self._later = later
        self.group = self.reader = self

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {part: len(self._later.get(part.topic, ())) for part in partitions}

    def fetch(
        self, partition: TopicPartition, offset: int, max_records: int, timeout_s: float
    ) -> list[ConsumerRecord]:
        timestamps = self._later[partition.topic][offset : offset + 1]
        return [
            ConsumerRecord(partition.topic, 0, offset, timestamp, None, b"", ())
            for timestamp in timestamps
        ]


def pace(clock: PacedClock | None = None) -> Pace:
    context: Any = SimpleNamespace(commit_requested=False)
    return Pace(clock or SystemClock(), context, 60)


def columns(*timestamps: int, first: int = 0) -> Columns:
    count = len(timestamps)
    return Columns(range(first, first + count), timestamps, [None] * count, [b""] * count)


def merged(task: Task, kafka: Any = None, idle_ms: int = 0, **batch: Columns) -> list[Any]:
    clients: Any = kafka or Kafka()
    kernel: Any = task
    merge = InputMerge(kernel, [A, B], clients, SystemClock(), idle_ms, pace())
    for topic, rows_ in batch.items():
        merge.add(TopicPartition(topic, 0), Chunk.of(rows_))
    list(merge.drain())
    return task.taken


def test_the_smallest_timestamp_goes_first() -> None:
    taken = merged(Task(), a=columns(1, 2, 7, 8), b=columns(3, 4, 9))
    assert taken == [("a", 1), ("a", 2), ("b", 3), ("b", 4), ("a", 7), ("a", 8), ("b", 9)]


def test_of_equal_timestamps_the_partition_that_waited_longer() -> None:
    taken = merged(Task(), a=columns(5, 5, 5), b=columns(5, 5))
    assert taken == [("a", 5), ("b", 5), ("a", 5), ("b", 5), ("a", 5)]


@pytest.mark.parametrize(("idle_ms", "enforced"), [(0, 2), (-1, 0)])
def test_records_that_are_taken_while_another_partition_is_empty(
    idle_ms: int, enforced: int
) -> None:
    kernel: Any = Task()
    clients: Any = Kafka()
    merge = InputMerge(kernel, [A, B], clients, SystemClock(), idle_ms, pace())
    merge.add(A, Chunk.of(columns(1, 2)))
    merge.add(B, Chunk.of(columns(3, 4)))
    list(merge.drain())
    assert merge.enforced == enforced


def test_a_record_out_of_order_holds_up_its_own_partition_only() -> None:
    taken = merged(Task(), a=columns(9, 1), b=columns(2, 3))
    assert taken == [("b", 2), ("b", 3), ("a", 9), ("a", 1)]


def test_a_partition_that_ran_empty_is_read_on_as_far_as_it_is_older() -> None:
    kafka = Kafka(b=[1, 4, 6])
    assert merged(Task(), kafka, a=columns(2, 5), b=columns(1)) == [
        ("b", 1),
        ("a", 2),
        ("b", 4),
        ("a", 5),
    ]


def test_without_idling_nothing_is_waited_for() -> None:
    kafka = Kafka(b=[1, 4, 6])
    assert merged(Task(), kafka, -1, a=columns(2, 5), b=columns(1)) == [
        ("b", 1),
        ("a", 2),
        ("a", 5),
    ]


def test_an_empty_partition_is_waited_for_if_that_is_asked_for() -> None:
    class Late(Kafka):
        asked = 0

        def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
            self.asked += 1
            return {part: int(self.asked > 2) for part in partitions}

    assert merged(Task(), Late(b=[1]), 1000, a=columns(2, first=1)) == [("b", 1), ("a", 2)]


def test_a_task_that_must_read_a_record_for_its_timestamp_orders_them_itself() -> None:
    task = Task(takes_record_timestamps=False)
    assert merged(task, a=columns(1, 2), b=columns(3)) == [("a", 1), ("a", 2), ("b", 3)]


def test_it_pauses_now_and_then_and_loads_rows_when_their_turn_comes() -> None:
    task, kafka, clock = SlowTask(), Kafka(), VirtualClock()
    task.clock = clock
    loaded: list[str] = []

    def chunk(name: str, *timestamps: int, first: int = 0) -> Chunk:
        def load() -> Iterator[Piece]:
            loaded.append(name)
            yield columns(*timestamps, first=first), 100

        return Chunk(first, first + len(timestamps) - 1, len(timestamps), 100, load)

    kernel: Any = task
    clients: Any = kafka
    merge = InputMerge(kernel, [A, B], clients, clock, 0, pace(clock))
    merge.add(A, chunk("a1", 1, 2))
    merge.add(A, chunk("a2", 5, 6, first=2))
    merge.add(B, chunk("b", 3, 4))
    seen = [(list(loaded), len(task.taken)) for _ in merge.drain()]
    assert seen == [(["a1", "b"], 2), (["a1", "b", "a2"], 4), (["a1", "b", "a2"], 6)]


@pytest.mark.parametrize("headers", [None, [[], [("h", b"1")], []]])
def test_rows(headers: Any) -> None:
    some = rows(Columns([5, 6, 7], [1, 2, 3], [b"a", b"b", b"c"], [None] * 3, headers), 1)
    assert (some.offsets, some.timestamps, some.keys) == ([6, 7], [2, 3], [b"b", b"c"])
    assert some.headers == (None if headers is None else headers[1:])


def test_rows_that_are_too_much_to_keep_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.engine.merge._HELD_BYTES", 1000)
    task: Any = Task()
    clients: Any = Kafka(a=[1, 2, 3, 4], b=[5])
    merge = InputMerge(task, [A, B], clients, SystemClock(), 0, pace())
    merge.add(A, Chunk(0, 1, 2, 900, lambda: iter([(columns(1, 2), 900)])))
    merge.add(A, Chunk(2, 3, 2, 900, never_loaded))
    merge.add(B, Chunk(0, 0, 1, 900, never_loaded))
    list(merge.drain())
    assert task.taken == [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 5)]
    assert merge.take_progress() == (5, 900)
    assert merge.take_progress() == (0, 0)


def never_loaded() -> Iterator[Piece]:
    raise AssertionError
