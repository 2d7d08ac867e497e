"""Wall-clock time, as a thing that can be replaced."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        ...

    def nanoseconds(self) -> int:
        """Of no particular beginning: to tell how long something takes."""
        ...


class PacedClock(Clock, Protocol):
    """A clock that can be waited for. The engine has all its time from one, so that a simulation
    can have another."""

    def seconds(self) -> float:
        """Of no particular beginning, and never set back: for deadlines."""
        ...

    def sleep(self, seconds: float) -> None: ...

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Whether the event was set within that time."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def nanoseconds(self) -> int:
        return time.perf_counter_ns()

    def seconds(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds)


class ManualClock:
    """A clock that stands still until it is advanced."""

    def __init__(self, start_ms: int) -> None:
        self._now_ms = start_ms

    def now_ms(self) -> int:
        return self._now_ms

    def nanoseconds(self) -> int:
        return self._now_ms * 1_000_000

    def advance(self, by_ms: int) -> None:
        self._now_ms += by_ms
