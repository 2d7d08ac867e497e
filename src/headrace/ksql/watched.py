"""What is looked at again and again, for those who can't wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_FRESH_S = 2.0
_OVERDUE_S = 10.0


class Watched(Generic[T]):
    """An answer that may take long to find. If it isn't fresh any more when somebody asks for it,
    it is looked for again, in a thread of its own, and who asks gets the last one. For any
    thread."""

    def __init__(self, look: Callable[[], T]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._looking = False
        self._found: T | None = None
        self._at = 0.0
        """When it was found, or if it is being looked for, since when."""

    def look(self) -> None:
        """Find it now."""
        try:
            self._found = self._look()
        finally:
            with self._lock:
                self._at = time.monotonic()
                self._looking = False

    def value(self) -> T | None:
        """The last answer; None if there is none yet, or the next one takes too long."""
        with self._lock:
            age_s = time.monotonic() - self._at
            if self._looking:
                return None if age_s > _OVERDUE_S else self._found
            if age_s > _FRESH_S:
                self._looking, self._at = True, time.monotonic()
                threading.Thread(target=self.look, name="ksql-look", daemon=True).start()
        return self._found
