"""Rows on their way to a task."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import BrokerError
from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.engine.chunk import Chunk
from headrace.runtime.columns import Columns

IN = TopicPartition("in", 0)


class Log:
    """Gives two records at a time, of which each has five bytes."""

    def __init__(self, *offsets: int) -> None:
        self._offsets = offsets
        self.asked: list[tuple[int, int]] = []

    def fetch(
        self, partition: TopicPartition, offset: int, max_records: int, timeout_s: float
    ) -> list[ConsumerRecord]:
        self.asked.append((offset, max_records))
        found = [one for one in self._offsets if one >= offset][: min(2, max_records)]
        return [ConsumerRecord(*partition, one, one, b"k", b"data", ()) for one in found]


def in_kafka(log: Any, first: int, last: int, size: int) -> Chunk:
    return Chunk.in_kafka(log, IN, first, last, size)


def loaded(chunk: Chunk) -> list[tuple[list[int], int]]:
    return [(list(columns.offsets), size) for columns, size in chunk.load()]


def test_rows_that_were_left_in_kafka_come_in_pieces() -> None:
    log = Log(3, 4, 5, 6, 7, 8)
    chunk = in_kafka(log, 3, 7, 5)
    assert (chunk.first, chunk.last, chunk.bytes) == (3, 7, 0)
    assert loaded(chunk) == [([3, 4], 10), ([5, 6], 10), ([7], 5)]
    assert log.asked == [(3, 5), (5, 3), (7, 1)]


def test_those_that_are_gone_are_passed_over() -> None:
    assert loaded(in_kafka(Log(4, 7), 3, 7, 5)) == [([4, 7], 10)]


def test_the_last_must_be_there() -> None:
    with pytest.raises(BrokerError, match="Could not read in-0@6 again") as seen:
        loaded(in_kafka(Log(3, 5), 3, 7, 5))
    assert seen.value.retriable


def test_rows_before_a_position_are_left_out() -> None:
    columns = Columns([3, 5, 7, 8], [1, 2, 3, 4], [b"k"] * 4, [b"v"] * 4)
    chunk = Chunk.of(columns)
    assert chunk.after(3) is chunk
    assert loaded(chunk.after(6)) == [([7, 8], 8)]
    assert loaded(in_kafka(Log(3, 4, 5, 6, 7), 3, 7, 5).after(5)) == [([5, 6], 10), ([7], 5)]
