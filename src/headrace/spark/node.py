"""The node of a host: a process that serves its state directory, and who starts it.

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
from contextlib import suppress
from pathlib import Path

import orjson

from headrace.spark.events import Address
from headrace.state import private
from headrace.state.directory import StateDirectory

LOCK_FILE = "node.lock"
_LOOK_EVERY_S = 5.0


def node_name(directory: StateDirectory) -> str:
    """What the driver knows a state directory by."""
    return f"{socket.gethostname()}:{directory.path}"


class NodeKeeper:
    """Looks now and then whether the node is there, and starts it if not.

    `program` is the module to run. It has from its input a line of JSON, which is the address of
    the driver's events, and then the plan: arguments can be read by everybody on the host.
    """

    def __init__(
        self, directory: StateDirectory, program: str, plan: bytes, events: Address
    ) -> None:
        self.name = node_name(directory)
        self._directory = directory
        self._program = program
        self._input = orjson.dumps(events) + b"\n" + plan
        self._looked_at = -_LOOK_EVERY_S
        self._process: subprocess.Popen[bytes] | None = None

    def look(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < _LOOK_EVERY_S:
            return
        self._looked_at = now
        self._directory.claim()
        if not _is_held(self._directory.path / LOCK_FILE):
            self.wait(0)
            self._start()

    def wait(self, timeout_s: float) -> None:
        """Wait for the end of the process that was started; it would stay in the system's list
        otherwise."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)

    def _start(self) -> None:
        log = self._directory.path / "node.log"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with os.fdopen(private.open_file(log, os.O_WRONLY | os.O_TRUNC), "wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._program],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        # It may have failed already; then its log says why, and the slot's work goes on without it.
        with suppress(BrokenPipeError), self._process.stdin as pipe:
            pipe.write(self._input)


def _is_held(path: Path) -> bool:
    file = private.open_file(path, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
