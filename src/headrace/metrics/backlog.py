"""Which of many records are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

MANY = 4096
"""So many records wait at most, to be looked at together."""
_FEW = 250
_STEP = 127
"""A prime, so that records which take turns are all met."""


def sample(rows: Sequence[T]) -> Sequence[T]:
    """All rows if they are few, else every 127th."""
    return rows if len(rows) <= _FEW else rows[::_STEP]


class Backlog(Generic[T]):
    """Rows that were processed, and are going to be looked at for their sizes and timestamps.

    All of them, if there are few when a report is due; else every 127th, so that it costs next to
    nothing. Rows that won't be looked at are not kept.
    """

    __slots__ = ("_held", "_step", "_waiting", "due", "rows")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._waiting: list[tuple[T, int, int]] = []
        """Rows, which of them is the first to look at, how many there are."""
        self._held = 0
        self._step = 1
        self.rows = 0
        """How many came since the last look."""
        self.due = 0
        """How many come before the next one to look at."""

    def add(self, rows: T, count: int) -> bool:
        """Whether it is time to look at them."""
        self.rows += count
        return self.rows > self.due and self.keep(rows, count)

    def keep(self, rows: T, count: int) -> bool:
        """The same, for who has counted the rows and found that one of them is due. To do so where
        they are processed is cheaper than a call, if they come in twos and threes."""
        step = self._step
        first = self.due + count - self.rows
        self._waiting.append((rows, first, count))
        self._held += count
        looked_at = -(-(count - first) // step)
        self.due += looked_at * step
        if step == 1 and self.rows > _FEW:
            self._thin_out()
        return self._held >= MANY

    def take(self) -> list[tuple[T, slice]]:
        """The rows that waited, and which of them to look at."""
        waiting, step = self._waiting, self._step
        self._clear()
        return [(rows, slice(first, count, step)) for rows, first, count in waiting]

    def _thin_out(self) -> None:
        """They have become many: look at some only."""
        waiting = self._waiting
        self._clear()
        self._step = _STEP
        for rows, _, count in waiting:
            self.add(rows, count)
