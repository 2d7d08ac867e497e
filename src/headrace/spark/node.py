"""Has a process run that serves the state directory of a host: its node.

It goes on when the worker that started it ends, or the executor is killed, and ends when the driver
does.
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from headrace.state.directory import StateDirectory

LOCK_FILE = "node.lock"
_LOOK_EVERY_S = 5.0
_PROGRAM = "headrace.server.node"


def node_name(directory: StateDirectory) -> str:
    """What the driver knows a state directory by."""
    return f"{socket.gethostname()}:{directory.path}"


class NodeKeeper:
    """Looks now and then whether the node is there, and starts it if not."""

    def __init__(
        self, directory: StateDirectory, plan: bytes, events: tuple[str, int, str]
    ) -> None:
        self.name = node_name(directory)
        self._directory = directory
        self._plan = plan
        self._events = events
        self._looked_at = -_LOOK_EVERY_S

    def look(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < _LOOK_EVERY_S:
            return
        self._looked_at = now
        self._directory.claim()
        if not _is_held(self._directory.path / LOCK_FILE):
            self._start()

    def _start(self) -> None:
        log = self._directory.path / "node.log"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", _PROGRAM, *map(str, self._events)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.write(self._plan)


def _is_held(path: Path) -> bool:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
