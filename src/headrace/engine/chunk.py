"""Rows on their way to a task."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from headrace.core.errors import BrokerError
from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.kafka.port import Records
from headrace.runtime.columns import Columns

_FETCH_S = 1.0
_FETCHES = 30
"""So often nothing may come in a row."""

Piece = tuple[Columns, int]
"""Some rows, and about how many bytes they have."""


class Chunk(NamedTuple):
    """Rows of one partition that are made into Python objects only when their turn comes, as those
    take several times the memory."""

    first: int
    last: int
    """The first and the last offset."""
    size: int
    """How many rows there are at most."""
    bytes: int
    """How much memory they take until then."""
    load: Callable[[], Iterator[Piece]]
    """Gives them in pieces that aren't too large."""

    @classmethod
    def of(cls, columns: Columns) -> Chunk:
        offsets, size = columns.offsets, size_of(columns)
        return cls(offsets[0], offsets[-1], len(offsets), size, lambda: iter([(columns, size)]))

    @classmethod
    def in_kafka(
        cls, reader: Records, partition: TopicPartition, first: int, last: int, size: int
    ) -> Chunk:
        """Rows that are left in Kafka, and read again when their turn comes."""
        return cls(first, last, size, 0, partial(_fetched, reader, partition, first, last, size))

    def after(self, position: int) -> Chunk:
        """Without the rows before an offset."""
        if self.first >= position:
            return self
        size = min(self.size, self.last - position + 1)
        return self._replace(first=position, size=size, load=partial(_from, self.load, position))


def _from(load: Callable[[], Iterator[Piece]], position: int) -> Iterator[Piece]:
    for columns, size in load():
        if columns.offsets[-1] >= position:
            yield rows(columns, bisect_left(columns.offsets, position)), size


def _fetched(
    reader: Records, partition: TopicPartition, first: int, last: int, size: int
) -> Iterator[Piece]:
    """What was compacted away since is passed over; only the last must be there, as it can't be
    told from one that doesn't come."""
    at, in_vain = first, 0
    while at <= last:
        records = reader.fetch(partition, at, max(1, size), _FETCH_S)
        if not records:
            in_vain += 1
            if in_vain == _FETCHES:
                raise BrokerError(f"Could not read {partition}@{at} again.", retriable=True)
            continue
        in_vain, size = 0, size - len(records)
        at = records[-1].offset + 1
        columns = columns_of([record for record in records if record.offset <= last])
        if columns.offsets:
            yield columns, size_of(columns)


def columns_of(records: Sequence[ConsumerRecord]) -> Columns:
    return Columns(
        [record.offset for record in records],
        [record.timestamp for record in records],
        [record.key for record in records],
        [record.value for record in records],
        [record.headers for record in records],
    )


def size_of(columns: Columns) -> int:
    """The bytes of keys and values."""
    return sum(map(len, filter(None, columns.keys))) + sum(map(len, filter(None, columns.values)))


def rows(columns: Columns, first: int, end: int | None = None) -> Columns:
    """Some rows of many."""
    if first == 0 and end is None:
        return columns
    return Columns(
        columns.offsets[first:end],
        columns.timestamps[first:end],
        columns.keys[first:end],
        columns.values[first:end],
        None if columns.headers is None else columns.headers[first:end],
    )
