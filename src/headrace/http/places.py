"""Places: so many may do something at once, and others are turned away."""

from __future__ import annotations

import threading


class Places:
    """At most `most` at once. Nobody waits for one: who would wait is better asked to come again.
    For any thread."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken = 0
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Whether there was one left. Who has it gives it back by `leave`."""
        with self._lock:
            if self._taken >= self.most:
                return False
            self._taken += 1
            return True

    def leave(self) -> None:
        with self._lock:
            self._taken -= 1

    @property
    def taken(self) -> int:
        return self._taken
