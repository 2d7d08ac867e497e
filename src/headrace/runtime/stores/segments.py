"""Segments: spans of event time whose entries are kept, and in the end dropped, together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from headrace.runtime.stores.storage import Storage

S = TypeVar("S")

_MIN_INTERVAL_MS = 60_000


def default_segment_interval(retention_ms: int) -> int:
    return max(retention_ms // 2, _MIN_INTERVAL_MS)


class Segments(Generic[S]):
    """The segments of a store, by number; those that the storage has already, to begin with.

    `make(name)` makes one of the maps `name` and, if it has several, `name` with each of `parts`.
    """

    __slots__ = (
        "_first_live", "_interval_ms", "_last", "_make", "_parts", "_prefix", "_retention_ms",
        "_segments", "_storage",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        retention_ms: int,
        interval_ms: int,
        storage: Storage,
        make: Callable[[str], S],
        parts: tuple[str, ...] = (),
    ) -> None:
        self._prefix = f"{name}/"
        self._retention_ms = retention_ms
        self._interval_ms = interval_ms
        self._storage = storage
        self._make = make
        self._parts = parts
        self._segments = {
            start // interval_ms: make(f"{self._prefix}{start}") for start in self._stored_starts()
        }
        self._first_live = 0
        self._last: tuple[int, int, S | None] = (0, -1, None)
        """What `make_if_live` was given and gave last; it is given the same again and again."""

    def _stored_starts(self) -> list[int]:
        names = self._storage.names(self._prefix)
        starts = (name.removeprefix(self._prefix) for name in names)
        return [int(start) for start in starts if start.removeprefix("-").isdecimal()]

    def number_of(self, timestamp: int) -> int:
        # Rounds towards zero, as Kafka Streams does.
        interval = self._interval_ms
        return timestamp // interval if timestamp >= 0 else -(-timestamp // interval)

    def of(self, timestamp: int) -> S | None:
        """The segment, if it is there."""
        return self._segments.get(self.number_of(timestamp))

    def make_if_live(self, number: int, stream_time: int) -> S | None:
        """The segment, made if need be; None if it ended before the retention.

        Drops what has expired.
        """
        last_number, last_time, segment = self._last
        if segment is None or number != last_number or stream_time != last_time:
            if number < self.number_of(stream_time - self._retention_ms):
                return None
            segment = self._segments.get(number)
            if segment is None:
                segment = self._segments[number] = self._make(self._name_of(number))
            self.expire(stream_time)
            self._last = number, stream_time, segment
        return segment

    def expire(self, stream_time: int) -> None:
        first_live = self.number_of(stream_time - self._retention_ms)
        if first_live > self._first_live:
            self._first_live = first_live
            for number in [number for number in self._segments if number < first_live]:
                del self._segments[number]
                name = self._name_of(number)
                for part in ("", *self._parts):
                    self._storage.drop(name + part)

    def between(self, first: int, last: int, *, forward: bool = True) -> list[tuple[int, S]]:
        """Numbers and segments of a span of time, in order."""
        low, high = self.number_of(first), self.number_of(last)
        numbers = [number for number in self._segments if low <= number <= high]
        return [(n, self._segments[n]) for n in sorted(numbers, reverse=not forward)]

    def _name_of(self, number: int) -> str:
        return f"{self._prefix}{number * self._interval_ms}"
