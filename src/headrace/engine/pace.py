"""The pace of a task: how many records it processes before it looks up."""

from __future__ import annotations

from headrace.core.clock import PacedClock
from headrace.runtime.context import TaskContext
from headrace.runtime.failure import TooSlow

_PAUSE_S = 0.05
"""How long a task works before its caller may send what it has made, and commit."""
_LOOK_S = 0.01
"""How long it works before it looks at the clock."""
_MOST = 64
"""Records between two looks: so they cost a fast function nothing to speak of."""


class Pace:
    """Says how many records to process before the clock is looked at again: few if they are slow,
    down to one. What was never measured is taken for slow.

    `limit_s` is what one record may take at most.
    """

    def __init__(self, clock: PacedClock, context: TaskContext, limit_s: float) -> None:
        self._clock = clock
        self._context = context
        self._limit_s = limit_s
        self._step = 1
        self._looked = self._pauses = 0.0

    def begin(self) -> None:
        """Work begins, or goes on after a pause."""
        self._pauses = self._clock.seconds() + _PAUSE_S

    def __call__(self, processed: int) -> int:
        now = self._clock.seconds()
        if not processed:
            self._looked = now
            return self._step
        spent, self._looked = now - self._looked, now
        if processed == 1 and spent > self._limit_s:
            raise TooSlow(spent)
        if spent > _LOOK_S:
            self._step = max(1, self._step // 2)
        elif spent < _LOOK_S / 4:
            self._step = min(_MOST, self._step * 2)
        return 0 if self.is_over(now) else self._step

    def is_over(self, now: float | None = None) -> bool:
        """Whether it is time for a pause, or a processor has asked for a commit."""
        if now is None:
            now = self._clock.seconds()
        return now >= self._pauses or self._context.commit_requested
