"""Punctuations: callbacks that are due at a time."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headrace.topology.processor import PunctuationType

NEVER = 2**63 - 1

_PREFIX = "punctuation:"

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
        self._turns += 1
        self.add_again(schedule, self._turns)

    def add_again(self, schedule: Schedule, turn: int) -> None:
        """Add one that had its turn before: earlier ones have lower numbers, below 1."""
        schedule.turn = turn
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


class Punctuations:
    """All schedules of a task.

    When they are due is part of the task's metadata, as `punctuation:<node>:<n>` for the n-th
    schedule that the node asked for. The next task of the partition is given it, and its schedules
    go on from there. One that was made when the processors were initialized and is cancelled now
    is due NEVER: it will be asked for again, and must not come back.
    """

    def __init__(self, metadata: Mapping[str, int]) -> None:
        self.stream_time = PunctuationQueue()
        self.wall_clock = PunctuationQueue()
        remembered = {name: due for name, due in metadata.items() if is_punctuation(name)}
        self._remembered = {
            name: (due, turn - len(remembered))
            for turn, (name, due) in enumerate(remembered.items())
        }
        self._counts: Counter[str] = Counter()
        self._initial: dict[str, Schedule] = {}
        self._later: dict[str, Schedule] = {}

    def schedule(
        self,
        node: str,
        interval_ms: int,
        kind: PunctuationType,
        callback: Callable[[int], None],
        start_ms: int | None,
        now: int,
    ) -> Schedule:
        by_stream_time = kind is PunctuationType.STREAM_TIME
        if start_ms is None:
            # Stream time counts from the epoch on, the wall clock from now on.
            due = 0 if by_stream_time else now + interval_ms
            schedule = Schedule(due, 0, interval_ms, node, callback)
        else:
            schedule = Schedule(start_ms, 0, interval_ms, node, callback)
            if start_ms < now:
                schedule.advance_past(now)
        name = f"{_PREFIX}{node}:{self._counts[node]}"
        self._counts[node] += 1
        self._later[name] = schedule
        queue = self.stream_time if by_stream_time else self.wall_clock
        if name not in self._remembered:
            queue.add(schedule)
            return schedule
        due, turn = self._remembered.pop(name)
        if due == NEVER:
            schedule.cancel()
        else:
            # The interval of a wall-clock schedule may be shorter now, or the clock set back.
            schedule.due = due if by_stream_time else min(due, now + interval_ms)
            queue.add_again(schedule, turn)
        return schedule

    def initialized(self) -> None:
        """The schedules so far are those that every task of this partition asks for."""
        self._initial, self._later = self._later, {}

    def metadata(self) -> dict[str, int]:
        """When each schedule is due, in the order in which they take turns."""
        self._later = {name: made for name, made in self._later.items() if not made.cancelled}
        schedules = {**self._initial, **self._later}.items()
        return {
            name: NEVER if schedule.cancelled else schedule.due
            for name, schedule in sorted(schedules, key=lambda item: item[1].turn)
        }


def is_punctuation(name: str) -> bool:
    """Whether the metadata of that name tells when a punctuation is due."""
    return name.startswith(_PREFIX)
