"""Which of many records are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

MANY = 4096
"""So many records wait at most, to be looked at together."""
_FEW = 1000
_STEP = 61
"""A prime, so that records which take turns are all met."""


def sample(rows: Sequence[T]) -> Sequence[T]:
    """All rows if they are few, else every 61st."""
    return rows if len(rows) <= _FEW else rows[::_STEP]


class Backlog(Generic[T]):
    """Rows that were processed, and are going to be looked at for their sizes and timestamps.

    All of them, if there are few when a report is due; else every 61st, so that it costs next to
    nothing.
    """

    __slots__ = ("_skip", "_waiting", "rows")

    def __init__(self) -> None:
        self._waiting: list[tuple[T, int]] = []
        self._skip = 0
        self.rows = 0

    def add(self, rows: T, count: int) -> bool:
        """Whether it is time to look at them."""
        self._waiting.append((rows, count))
        self.rows += count
        return self.rows >= MANY

    def take(self) -> Iterator[tuple[T, slice]]:
        """The rows that waited, and which of them to look at."""
        waiting, self._waiting = self._waiting, []
        step = 1 if self.rows <= _FEW else _STEP
        first = self._skip if step > 1 else 0
        self.rows = 0
        for rows, count in waiting:
            if first < count:
                yield rows, slice(first, count, step)
                first += -(-(count - first) // step) * step
            first -= count
        self._skip = first % _STEP
