"""Turns at computing, which threads take that have much to compute.

Threads of one interpreter compute no faster for being many. But whoever only has something small to
do, as the thread that talks to clients, queues behind all of those that compute, and does so anew
for each of its steps. So of those one computes, and the others wait in a line that costs nothing.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

_TURN_S = 0.005


class Turns:
    """One thread at a time has the turn; the others get it in the order in which they came."""

    def __init__(self, turn_s: float = _TURN_S) -> None:
        self._turn_s = turn_s
        self._lock = threading.Lock()
        self._is_taken = False
        self._line: deque[threading.Lock] = deque()
        """What those wait for who are to be called."""
        self._mine = _Mine()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Have the turn. What may block is done while `waiting`. A lock under which others take
        their turn is taken before, never after it."""
        self._take()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let others have the turn for now, if this thread has it."""
        if not self._mine.is_held:
            yield
            return
        self._leave()
        try:
            yield
        finally:
            self._take()

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """The items. Between them others get the turn, if this thread has had it for long."""
        for item in items:
            if self._line and time.monotonic() > self._mine.until:
                with self.waiting():
                    pass
            yield item

    def _take(self) -> None:
        called = threading.Lock()
        called.acquire()
        with self._lock:
            if self._is_taken:
                self._line.append(called)
            else:
                self._is_taken = True
                called.release()
        called.acquire()
        self._mine.is_held = True
        self._mine.until = time.monotonic() + self._turn_s

    def _leave(self) -> None:
        self._mine.is_held = False
        with self._lock:
            if self._line:
                self._line.popleft().release()  # it stays taken: the next one has it
            else:
                self._is_taken = False


class _Mine(threading.local):
    """What a thread knows of its turn."""

    is_held = False
    until = 0.0


TURNS = Turns()
"""Those of this process, as it has one interpreter."""
