"""Entries of a key and a span of time, in segments: what window and session stores are made of.

Each segment has its entries by key, then time. Stores that are in memory or laid out by time have
them by time, then key, as well: lookups of a key take the first, scans of a span of time the
second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.core.windowed import LONG_MAX
from headrace.runtime.stores.ordered_map import Item, OrderedMap
from headrace.runtime.stores.segments import Segments
from headrace.runtime.stores.storage import Storage


@dataclass(frozen=True, slots=True)
class Layout:
    """How a kind of store treats time.

    `by_time`: entries are kept by time, too. `strict`: a put is refused as soon as its time has
    expired, and not only when the whole segment has. `ranges_by_time`: scans of a range of keys go
    by time first. `grace_of_reads`: expired entries stay readable for so many milliseconds.
    """

    by_time: bool
    strict: bool
    ranges_by_time: bool
    grace_of_reads: int = 0


PERSISTENT = Layout(by_time=False, strict=False, ranges_by_time=False)
IN_MEMORY = Layout(by_time=True, strict=True, ranges_by_time=True)
TIME_ORDERED_WINDOWS = Layout(by_time=True, strict=False, ranges_by_time=False, grace_of_reads=1)
TIME_ORDERED_SESSIONS = Layout(by_time=True, strict=False, ranges_by_time=False)


_BY_TIME = "/by-time"


class TimeSegment:
    """The entries of one segment."""

    __slots__ = ("by_key", "by_time")

    def __init__(self, by_key: OrderedMap, by_time: OrderedMap | None) -> None:
        self.by_key = by_key
        self.by_time = by_time


class TimeEntries:
    """Entries by store key (key first). `to_time_key` and `from_time_key` turn store keys into
    those of the layout by time, and back."""

    def __init__(
        self,
        name: str,
        layout: Layout,
        retention_ms: int,
        interval_ms: int,
        storage: Storage,
        to_time_key: Callable[[bytes], bytes],
        from_time_key: Callable[[bytes], bytes],
    ) -> None:
        self.layout = layout
        self.observed_time = storage.facts(name).get("observed_time", -1)
        self._retention_ms = retention_ms
        self._to_time_key = to_time_key
        self._from_time_key = from_time_key
        self._storage = storage
        self._segments: Segments[TimeSegment] = Segments(
            name,
            retention_ms,
            interval_ms,
            storage,
            self._make_segment,
            (_BY_TIME,) if layout.by_time else (),
        )
        self.segment_number = self._segments.number_of

    def _make_segment(self, name: str) -> TimeSegment:
        by_time = self._storage.map(name + _BY_TIME) if self.layout.by_time else None
        return TimeSegment(self._storage.map(name), by_time)

    @property
    def first_readable(self) -> int:
        """The earliest time that a read may see."""
        return self.observed_time - self._retention_ms + 1 - self.layout.grace_of_reads

    def put(
        self, time: int, key: bytes, stored: bytes | None, latest_restored: int = LONG_MAX
    ) -> bool:
        """False if the time has expired and nothing was put."""
        if time > self.observed_time:
            self.observed_time = max(self.observed_time, min(time, latest_restored))
        if self.layout.strict and time <= self.observed_time - self._retention_ms:
            return False
        segment = self._segments.make_if_live(self.segment_number(time), self.observed_time)
        if segment is None:
            return False
        if stored is None:
            self._delete(segment, key)
        else:
            segment.by_key.put(key, stored)
            if segment.by_time is not None:
                segment.by_time.put(self._to_time_key(key), stored)
        return True

    def remove(self, time: int, key: bytes) -> None:
        """Delete, in a segment that is there already."""
        if not self.layout.strict and time > self.observed_time:
            self.observed_time = time
        segment = self._segments.of(time)
        if segment is not None:
            self._delete(segment, key)

    def get(self, time: int, key: bytes) -> bytes | None:
        if time < self.first_readable:
            return None
        segment = self._segments.of(time)
        return None if segment is None else segment.by_key.get(key)

    def scan_keys(
        self, first: int, last: int, low: bytes | None, high: bytes | None, *, forward: bool
    ) -> list[Item]:
        """By segment, then by store key."""
        found: list[Item] = []
        for _, segment in self._segments.between(first, last, forward=forward):
            by_key = segment.by_key
            found += by_key.range(low, high) if forward else by_key.reverse_range(low, high)
        return found

    def scan_times(
        self, first: int, last: int, low: bytes, high: bytes | None, *, forward: bool
    ) -> list[Item]:
        """By time, between keys of the layout by time; `high` is inclusive."""
        found: list[Item] = []
        for _, segment in self._segments.between(first, last, forward=forward):
            by_time = segment.by_time
            if by_time is not None:
                items = by_time.range(low, high) if forward else by_time.reverse_range(low, high)
                found += ((self._from_time_key(key), stored) for key, stored in items)
        return found

    def _delete(self, segment: TimeSegment, key: bytes) -> None:
        segment.by_key.delete(key)
        if segment.by_time is not None:
            segment.by_time.delete(self._to_time_key(key))


def upper_bound(key: bytes, suffix: bytes) -> bytes:
    """A bound above `key ‖ suffix` for all keys up to `key` of whatever length, whose own suffix
    is at most `suffix`."""
    first = suffix[0]
    if first == 0:
        return key + suffix
    end = 1
    while end < len(key) and key[end] >= first:
        end += 1
    return key[:end] + suffix


def clamped(time: int) -> int:
    """A time as it can be written in a key."""
    return min(max(time, 0), LONG_MAX)
