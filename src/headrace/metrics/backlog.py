"""Which of many records are looked at."""

from __future__ import annotations

from collections.abc import Sequence
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
    nothing. Rows that won't be looked at are not kept.
    """

    __slots__ = ("_held", "_skip", "_step", "_waiting", "rows")

    def __init__(self) -> None:
        self._waiting: list[tuple[T, slice]] = []
        self._held = 0
        self._skip = 0
        """How many rows come before the next one to look at."""
        self._step = 1
        self.rows = 0

    def add(self, rows: T, count: int) -> bool:
        """Whether it is time to look at them."""
        self.rows += count
        skip = self._skip
        if skip >= count:
            self._skip = skip - count
            return False
        self._keep(rows, count)
        if self._step == 1 and self.rows > _FEW:
            self._thin_out()
        return self._held >= MANY

    def take(self) -> list[tuple[T, slice]]:
        """The rows that waited, and which of them to look at."""
        waiting, self._waiting = self._waiting, []
        self._held = self._skip = self.rows = 0
        self._step = 1
        return waiting

    def _keep(self, rows: T, count: int) -> None:
        first, step = self._skip, self._step
        self._waiting.append((rows, slice(first, count, step)))
        self._held += count
        looked_at = -(-(count - first) // step)
        self._skip = first + looked_at * step - count

    def _thin_out(self) -> None:
        """They have become many: look at some only."""
        waiting, self._waiting = self._waiting, []
        self._held, self._step = 0, _STEP
        for rows, part in waiting:
            if self._skip >= part.stop:
                self._skip -= part.stop
            else:
                self._keep(rows, part.stop)
