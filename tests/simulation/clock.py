"""A clock for which waiting costs nothing."""

from __future__ import annotations

import threading


class VirtualClock:
    """Stands still until somebody sleeps. `skew_ms` is how far the wall clock was set."""

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._seconds = 0.0
        self._start_ms = start_ms
        self.skew_ms = 0

    def now_ms(self) -> int:
        return self._start_ms + self.skew_ms + int(self._seconds * 1000)

    def nanoseconds(self) -> int:
        return int(self._seconds * 1e9)

    def seconds(self) -> float:
        return self._seconds

    def sleep(self, seconds: float) -> None:
        self._seconds += seconds

    def wait(self, event: threading.Event, seconds: float) -> bool:
        if not event.is_set():
            self.sleep(seconds)
        return event.is_set()
