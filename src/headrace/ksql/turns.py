"""Turns at computing, which threads take that have much to compute.

Threads of one interpreter compute no faster for being many. But whoever only has something small to
do, as the thread that talks to clients, queues behind all of those that compute, and does so anew
for each of its steps. So of those one computes, and the others wait in lines that cost nothing.
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
    """One thread at a time has the turn; the others get it in the order in which they came. Those
    who are brief have a line of their own, and whoever is next is of the other line, if it has
    anybody: neither waits for all of the other."""

    def __init__(self, turn_s: float = _TURN_S) -> None:
        self._turn_s = turn_s
        self._lock = threading.Lock()
        self._is_taken = False
        self._long: deque[threading.Lock] = deque()
        self._brief: deque[threading.Lock] = deque()
        """What those wait for who are to be called."""
        self._mine = _Mine()

    @contextmanager
    def computing(self, *, brief: bool = False) -> Iterator[None]:
        """Have the turn. What may block is done while `waiting`. A lock under which others take
        their turn is taken before, never after it."""
        if self._mine.is_held:
            yield
            return
        self._take(brief)
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
            self._take(self._mine.is_brief)

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """The items. Between them others get the turn, if this thread has had it for long."""
        for item in items:
            if self.waiters and time.monotonic() > self._mine.until:
                with self.waiting():
                    pass
            yield item

    @property
    def waiters(self) -> int:
        """How many wait for the turn."""
        return len(self._long) + len(self._brief)

    def _take(self, brief: bool) -> None:
        called = threading.Lock()
        called.acquire()
        with self._lock:
            if self._is_taken:
                (self._brief if brief else self._long).append(called)
            else:
                self._is_taken = True
                called.release()
        called.acquire()
        mine = self._mine
        mine.is_held, mine.is_brief = True, brief
        mine.until = time.monotonic() + self._turn_s

    def _leave(self) -> None:
        self._mine.is_held = False
        with self._lock:
            line = self._next_line()
            if line:
                line.popleft().release()  # it stays taken: the next one has it
            else:
                self._is_taken = False

    def _next_line(self) -> deque[threading.Lock]:
        if self._mine.is_brief:
            return self._long or self._brief
        return self._brief or self._long


class _Mine(threading.local):
    """What a thread knows of its turn."""

    is_held = False
    is_brief = False
    until = 0.0


TURNS = Turns()
"""Those of this process, as it has one interpreter."""
