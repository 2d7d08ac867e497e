"""Where the tasks of an application have their state."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import orjson

from headrace.core.config import StreamsConfig
from headrace.core.errors import ArgumentError, LockError, StreamsError
from headrace.state.lock import DirectoryLock
from headrace.state.task_state import LOCK_FILE

_IDENTITY_FILE = "headrace.json"
_LAST_BATCH_S = 10.0
"""So long a worker may still be at it when its application has ended."""
_NEW = f"{_IDENTITY_FILE}.new-"


class StateDirectory:
    """`<root>/<application id>/<task>/`. It is made when it is first used.

    A file in it says whose it is: a directory of something else is neither used nor removed.
    """

    def __init__(self, root: Path, application_id: str) -> None:
        if application_id in ("", ".", "..") or "/" in application_id:
            raise ArgumentError(f"Application id {application_id!r} can't name a directory")
        self.path = root / application_id
        self._application_id = application_id

    def task(self, name: str) -> Path:
        """The directory of a task: `0_1`, or `global`."""
        self.claim()
        return self.path / name

    def tasks(self) -> list[str]:
        """The tasks that have something here."""
        if not self.path.is_dir():
            return []
        return sorted(entry.name for entry in self.path.iterdir() if entry.is_dir())

    def remove_unused(self, keep: Collection[str], delay_ms: int) -> list[str]:
        """Remove the state of other tasks than those, if nobody has used it for `delay_ms`; says
        of which."""
        removed = []
        for name in self.tasks():
            if name not in keep and self._unused_for_ms(name) >= delay_ms:
                with suppress(LockError):
                    self._remove(name, 0)
                    removed.append(name)
        return removed

    def wipe(self) -> None:
        """Remove everything. Raises LockError if a process has some of it, and keeps it."""
        if not self.path.exists():
            return
        self._check()
        for name in self.tasks():
            self._remove(name, _LAST_BATCH_S)
        shutil.rmtree(self.path)

    @classmethod
    def of(cls, config: StreamsConfig) -> StateDirectory:
        """Where `state.dir` says."""
        return cls(Path(config["state.dir"]).expanduser(), config.application_id)

    def claim(self) -> None:
        """Make the directory, if it isn't there. Raises StreamsError if it is somebody else's."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # Several processes may be the first: each writes the same, in one step.
            if all(entry.name.startswith(_NEW) for entry in self.path.iterdir()):
                temporary = self.path / f"{_NEW}{os.getpid()}"
                temporary.write_bytes(orjson.dumps({"application.id": self._application_id}))
                temporary.replace(self.path / _IDENTITY_FILE)
            self._check()
        except OSError as error:
            raise self._not_usable(error) from error

    def write(self, path: Path, text: str) -> None:
        """Write a small file into the directory."""
        self.claim()
        try:
            path.write_text(text)
        except OSError as error:
            raise self._not_usable(error) from error

    def _not_usable(self, error: OSError) -> StreamsError:
        return StreamsError(
            f"State directory {self.path} can't be used: {error}. See that it may be written to "
            "and that its disk has room, or set another state.dir."
        )

    def _check(self) -> None:
        try:
            form = orjson.loads((self.path / _IDENTITY_FILE).read_bytes())
            is_ours = form["application.id"] == self._application_id
        except (OSError, ValueError, KeyError, TypeError):
            is_ours = False
        if not is_ours:
            raise StreamsError(
                f"{self.path} is not the state directory of application {self._application_id}: "
                f"there is no {_IDENTITY_FILE} in it that says so. Set another state.dir, or move "
                "away what is there."
            )

    def _unused_for_ms(self, name: str) -> float:
        try:
            used = (self.path / name / LOCK_FILE).stat().st_mtime
        except FileNotFoundError:
            return float("inf")
        return (time.time() - used) * 1000

    def _remove(self, name: str, timeout_s: float) -> None:
        lock = DirectoryLock(self.path / name / LOCK_FILE)
        lock.acquire(timeout_s)
        try:
            shutil.rmtree(self.path / name)
        finally:
            lock.release()
