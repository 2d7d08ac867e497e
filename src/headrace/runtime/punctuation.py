"""Punctuations: callbacks that are due at a time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

NEVER = 2**63 - 1

Fire = Callable[[str, int, Callable[[int], None]], None]
"""`fire(node, timestamp, callback)` runs a callback in the name of its node."""


@dataclass(order=True, slots=True)
class Schedule:
    """A repeating callback. `due` moves by whole intervals; missed ones collapse into one call."""

    due: int
    turn: int
    interval: int = field(compare=False)
    node: str = field(compare=False)
    callback: Callable[[int], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True

    def advance_past(self, now: int) -> None:
        missed = max((now - self.due) // self.interval, 0)
        self.due += (missed + 1) * self.interval


class PunctuationQueue:
    """The schedules of one clock, ordered by when they are due."""

    def __init__(self) -> None:
        self._heap: list[Schedule] = []
        self._turns = 0

    @property
    def next_due(self) -> int:
        return self._heap[0].due if self._heap else NEVER

    def add(self, schedule: Schedule) -> None:
        """Of two that are due at the same time, the one added first goes first."""
        schedule.turn = self._turns
        self._turns += 1
        heapq.heappush(self._heap, schedule)

    def punctuate(self, now: int, fire: Fire) -> int:
        """Fire all that are due at `now`; says how many."""
        fired = 0
        while self._heap and self._heap[0].due <= now:
            schedule = heapq.heappop(self._heap)
            if schedule.cancelled:
                continue
            fired += 1
            fire(schedule.node, now, schedule.callback)
            if not schedule.cancelled:
                schedule.advance_past(now)
                self.add(schedule)
        return fired
