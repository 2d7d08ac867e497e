"""Retries: how often an application is tried again after errors, and with which pauses."""

from __future__ import annotations

from headrace.core.clock import PacedClock

_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 30.0
MOST_REPLACEMENTS = 20
"""So many in a row, without progress in between, and it can't be hoped for any more. With the
pauses between them they take eight minutes."""


class Retries:
    """A row of failures, which only progress ends; or that nothing has failed for as long as
    passing errors are borne."""

    def __init__(self, clock: PacedClock, timeout_s: float) -> None:
        self._clock = clock
        self._timeout_s = timeout_s
        self._first: float | None = None
        self._last = 0.0
        self._replacements = 0

    def progressed(self) -> None:
        """Something was committed."""
        self._first = None
        self._replacements = 0

    def bears(self) -> bool:
        """Note a passing error: whether to try again, as they have not come for too long."""
        now = self._clock.seconds()
        if self._first is None or now - self._last > self._timeout_s:
            self._first = now
        self._last = now
        return now - self._first <= self._timeout_s

    def replacement_pause_s(self) -> float | None:
        """Note that all is to begin anew: after which pause; None if that was tried too often."""
        now = self._clock.seconds()
        if now - self._last > self._timeout_s:
            self._replacements = 0
        self._last = now
        self._replacements += 1
        if self._replacements > MOST_REPLACEMENTS:
            return None
        return float(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** (self._replacements - 1)))
