"""Windows: how event time is cut up. Given as `timedelta`, and kept in milliseconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum

from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError
from headrace.core.windowed import LONG_MAX

_DAY_MS = 24 * 60 * 60 * 1000


def _not_negative(duration: timedelta, what: str) -> int:
    duration_ms = to_ms(duration, what)
    if duration_ms < 0:
        raise ArgumentError(f"{what} must not be negative, but is {duration_ms} ms")
    return duration_ms


def _grace_ms(grace: timedelta | None) -> int:
    return 0 if grace is None else _not_negative(grace, "The grace period")


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """Windows of a fixed size `[start, start + size)`, aligned to the epoch.

    They tumble, or hop when `advance_by` is less than the size. A record that comes later than
    `grace` after the end of its window is dropped.
    """

    size_ms: int
    advance_ms: int
    grace_ms: int

    @classmethod
    def of_size(cls, size: timedelta, *, grace: timedelta | None = None) -> TimeWindows:
        """Tumbling windows. `grace` is none by default: a record that comes after stream time has
        passed the end of its window is dropped. Raises ArgumentError if the size isn't positive."""
        size_ms = to_ms(size, "size")
        if size_ms <= 0:
            raise ArgumentError(f"Window size must be larger than zero, but is {size_ms} ms")
        return cls(size_ms, size_ms, _grace_ms(grace))

    def advance_by(self, advance: timedelta) -> TimeWindows:
        """Hopping windows: one begins every `advance`. Raises ArgumentError if that is more than
        the size, or not positive."""
        advance_ms = to_ms(advance, "advance")
        if not 0 < advance_ms <= self.size_ms:
            raise ArgumentError(
                f"A window's advance must be larger than zero and at most its size: "
                f"advance {advance_ms} ms, size {self.size_ms} ms"
            )
        return replace(self, advance_ms=advance_ms)

    @property
    def retention_ms(self) -> int:
        """How long a window can change."""
        return self.size_ms + self.grace_ms

    def starts_for(self, timestamp: int) -> Iterator[int]:
        """The starts of the windows that hold `timestamp`, ascending."""
        first = max(0, timestamp - self.size_ms + self.advance_ms)
        return iter(range(first - first % self.advance_ms, timestamp + 1, self.advance_ms))


@dataclass(frozen=True, slots=True)
class UnlimitedWindows:
    """One window that begins at `start_ms` and never ends."""

    start_ms: int

    @classmethod
    def of(cls, *, start_ms: int = 0) -> UnlimitedWindows:
        """`start_ms` is when the window begins; earlier records are left out."""
        if start_ms < 0:
            raise ArgumentError(f"Window start must not be negative, but is {start_ms}")
        return cls(start_ms)

    @property
    def size_ms(self) -> int:
        """As good as endless."""
        return LONG_MAX

    @property
    def grace_ms(self) -> int:
        """None is needed: nothing is late."""
        return 0

    @property
    def retention_ms(self) -> int:
        """Forever."""
        return LONG_MAX

    def starts_for(self, timestamp: int) -> Iterator[int]:
        """The start of the window, if it holds `timestamp`."""
        return iter((self.start_ms,) if timestamp >= self.start_ms else ())


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """Windows `[x, x + difference]` (both ends inclusive) that begin or end at a record."""

    difference_ms: int
    grace_ms: int

    @classmethod
    def of_time_difference(
        cls, difference: timedelta, *, grace: timedelta | None = None
    ) -> SlidingWindows:
        """Records are in one window that are at most `difference` apart. A record that comes later
        than `grace` (default: none) after the window's end is dropped."""
        difference_ms = _not_negative(difference, "The time difference")
        return cls(difference_ms, _grace_ms(grace))

    @property
    def retention_ms(self) -> int:
        """How long a window must be kept."""
        return 2 * self.difference_ms + self.grace_ms


@dataclass(frozen=True, slots=True)
class SessionWindows:
    """Windows of activity: records of a key at most `gap` apart belong to one session."""

    gap_ms: int
    grace_ms: int

    @classmethod
    def of_inactivity_gap(cls, gap: timedelta, *, grace: timedelta | None = None) -> SessionWindows:
        """A gap of more than `gap` ends a session. Later than `grace` (default: none) after that, a
        record is dropped."""
        return cls(_not_negative(gap, "The inactivity gap"), _grace_ms(grace))

    @property
    def retention_ms(self) -> int:
        """How long after its end a session can change."""
        return self.gap_ms + self.grace_ms


@dataclass(frozen=True, slots=True)
class JoinWindows:
    """How far apart two records may be and still join.

    A left record at `t` joins right records in `[t - before, t + after]`, both ends inclusive.
    """

    before_ms: int
    after_ms: int
    grace_ms: int
    emits_unmatched_late: bool = True
    """Left and outer joins wait until the window is closed before they emit an unmatched record.
    False in the windows of `JoinWindows.of`: there it is emitted at once."""

    @classmethod
    def of_time_difference(
        cls, difference: timedelta, *, grace: timedelta | None = None
    ) -> JoinWindows:
        """Records join that are at most `difference` apart, either way. A record that comes later
        than `grace` (default: none) after the window's end is dropped."""
        difference_ms = _not_negative(difference, "The time difference")
        return cls(difference_ms, difference_ms, _grace_ms(grace))

    @classmethod
    def of(cls, difference: timedelta, *, grace: timedelta | None = None) -> JoinWindows:
        """Windows whose left and outer joins emit unmatched records at once.

        Kept for applications that depend on it; use `of_time_difference` in new ones.
        """
        difference_ms = _not_negative(difference, "The time difference")
        grace_ms = max(_DAY_MS - 2 * difference_ms, 0) if grace is None else _grace_ms(grace)
        return cls(difference_ms, difference_ms, grace_ms, emits_unmatched_late=False)

    def before(self, difference: timedelta) -> JoinWindows:
        """Let the other record be earlier by that much. Raises ArgumentError if the window would
        end before it begins."""
        return replace(self, before_ms=to_ms(difference, "before"))._checked()

    def after(self, difference: timedelta) -> JoinWindows:
        """Let the other record be later by that much. Raises ArgumentError if the window would end
        before it begins."""
        return replace(self, after_ms=to_ms(difference, "after"))._checked()

    def _checked(self) -> JoinWindows:
        if self.before_ms + self.after_ms < 0:
            raise ArgumentError(
                f"A join window must not end before it begins: "
                f"before {self.before_ms} ms, after {self.after_ms} ms"
            )
        return self

    @property
    def size_ms(self) -> int:
        """From the earliest to the latest other record."""
        return self.before_ms + self.after_ms

    @property
    def retention_ms(self) -> int:
        """How long a record must be kept to find its partners."""
        return self.size_ms + self.grace_ms


class EmitStrategy(Enum):
    """When a windowed aggregation emits: at every update, or once when the window is closed."""

    ON_WINDOW_UPDATE = "on_window_update"
    ON_WINDOW_CLOSE = "on_window_close"
