"""The processes of a run, found by the session that its driver began."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    pid: int
    name: str
    state: str
    parent: int
    session: int

    @classmethod
    def read(cls, pid: int) -> Process | None:
        """None if there is no such process, or only what is left of it."""
        try:
            text = Path("/proc", str(pid), "stat").read_text()
        except OSError:
            return None
        # The name is in brackets, and may have brackets and spaces in it.
        name, _, rest = text.partition("(")[2].rpartition(")")
        state, parent, _, session = rest.split()[:4]
        return None if state in "ZX" else cls(pid, name, state, int(parent), int(session))


def of_session(session: int) -> list[Process]:
    return [process for process in _all() if process.session == session]


def python_workers(session: int) -> list[Process]:
    """Those that Spark's Python daemon forked: their grandparent is a JVM."""
    found = {process.pid: process for process in of_session(session)}
    workers = []
    for process in found.values():
        daemon = found.get(process.parent)
        jvm = found.get(daemon.parent) if daemon is not None else None
        if jvm is not None and jvm.name == "java":
            workers.append(process)
    return workers


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> bool:
    """Whether it was there."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def end_session(session: int) -> None:
    """Kill all that is left of a session."""
    for process in of_session(session):
        kill(process.pid)


def _all() -> Iterator[Process]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            process = Process.read(int(entry))
            if process is not None:
                yield process
