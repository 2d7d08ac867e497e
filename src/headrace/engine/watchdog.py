"""A watchdog for functions that don't come back."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.runtime.context import TaskContext
from headrace.runtime.failure import TooSlow

_SIGNAL = getattr(signal, "SIGRTMIN", signal.SIGUSR2)
_LOOKS = 20
"""In the time that a record may take."""


class Watchdog:
    """Interrupts a function that takes longer than `limit_s` for one record, wherever it waits.

    A thread looks at the registers of the task at work. If they stay the same for too long, it
    sends the main thread, which must be the one that works, a signal, and its handler raises
    TooSlow: so the error comes out of the function itself, through its operator.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._context: TaskContext | None = None
        self._overdue: tuple[Any, ...] | None = None
        self._began = 0.0
        signal.signal(_SIGNAL, self._interrupt)
        self._closed = threading.Event()
        threading.Thread(target=self._run, name="headrace-watchdog", daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    @contextmanager
    def watching(self, context: TaskContext) -> Iterator[None]:
        """While the functions of a task are called."""
        self._context = context
        try:
            yield
        finally:
            self._context = None

    def _run(self) -> None:
        seen: tuple[Any, ...] | None = None
        while not self._closed.wait(self._limit_s / _LOOKS):
            now, found = time.monotonic(), self._registers()
            if found is None or found != seen:
                seen, self._began = found, now
            elif now - self._began > self._limit_s:
                self._overdue = found
                signal.pthread_kill(threading.main_thread().ident or 0, _SIGNAL)

    def _registers(self) -> tuple[Any, ...] | None:
        """What tells one record, or punctuation, from another; None between them."""
        context = self._context
        if context is None or context.timestamp < 0:
            return None
        return context.topic, context.partition, context.offset, context.timestamp

    def _interrupt(self, *_: object) -> None:
        overdue, self._overdue = self._overdue, None
        if overdue is not None and overdue == self._registers():
            raise TooSlow(time.monotonic() - self._began)
