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
from headrace.state import private
from headrace.state.lock import DirectoryLock
from headrace.state.task_state import LOCK_FILE, TaskState, sync

_IDENTITY_FILE = "headrace.json"
_LAST_BATCH_S = 10.0
"""So long a worker may still be at it when its application has ended."""
_GIVEN_UP_S = 1.0
"""The same of a worker that is not waited for any more."""
_SYNC_S = 5.0
_CLOCKS_DIFFER_S = 60.0
_NEW = f"{_IDENTITY_FILE}.new-"
_LONGEST_NAME = 255
"""In bytes: what file systems take."""


class StateDirectory:
    """`<root>/<application id>/<task>/`. It is made when it is first used.

    A file in it says whose it is: a directory of something else is neither used nor removed. It
    is private, and so is all that is in it; a link, or the directory of another user, is refused.
    """

    def __init__(self, root: Path, application_id: str) -> None:
        if not _is_name(application_id):
            raise ArgumentError(
                f"Application id {application_id!r} can't name a directory: see that it has no "
                f"slash and no unprintable characters, and at most {_LONGEST_NAME} bytes."
            )
        self.path = root / application_id
        self._root = root
        self._application_id = application_id

    def task(self, name: str) -> Path:
        """The directory of a task: `0_1`, or `global`."""
        self.claim()
        return self.path / name

    def tasks(self) -> list[str]:
        """The tasks that have something here."""
        try:
            with os.scandir(self.path) as entries:
                return sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return []

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
        if not os.path.lexists(self.path):
            return
        self._check()
        for name in self.tasks():
            self._remove(name, _LAST_BATCH_S)
        shutil.rmtree(self.path)

    def sync(self) -> None:
        """See that what tasks have left is on the disk, so that it outlasts the machine. For the
        end of an application: Spark kills its workers, and they can't do it themselves."""
        deadline = time.monotonic() + _SYNC_S
        for name in self.tasks():
            if time.monotonic() < deadline:
                with suppress(LockError, OSError):  # it is restored, if need be
                    self._sync(self.path / name)

    @classmethod
    def of(cls, config: StreamsConfig) -> StateDirectory:
        """Where `state.dir` says."""
        return cls(Path(config["state.dir"]).expanduser(), config.application_id)

    def claim(self) -> None:
        """Make the directory, if it isn't there. Raises StreamsError if it is somebody else's."""
        try:
            private.make_root(self._root)
            private.make_directory(self.path)
            # Several processes may be the first: each writes the same, in one step.
            if all(entry.name.startswith(_NEW) for entry in self.path.iterdir()):
                temporary = self.path / f"{_NEW}{os.getpid()}"
                whose = orjson.dumps({"application.id": self._application_id})
                private.write_file(temporary, whose)
                temporary.replace(self.path / _IDENTITY_FILE)
            self._check()
        except OSError as error:
            raise self._not_usable(error) from error

    def state(self, task: str, identity: str) -> TaskState:
        """The state of a task, see `task`."""
        return TaskState(self.task(task), identity)

    def read(self, name: str) -> str:
        """A small file of the directory; empty if there is none."""
        try:
            # What isn't ours is to be another text, and no error.
            return (self.path / name).read_text("utf-8", "replace")
        except OSError:
            return ""

    def write(self, name: str, text: str) -> None:
        """Write a small file into the directory."""
        self.claim()
        try:
            private.write_file(self.path / name, text.encode())
        except OSError as error:
            raise self._not_usable(error) from error

    def _not_usable(self, error: OSError) -> StreamsError:
        return StreamsError(
            f"State directory {self.path} can't be used: {error}. See that it may be written to "
            "and that its disk has room, or set another state.dir."
        )

    def _check(self) -> None:
        private.check_directory(self.path)
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
        unused_s = time.time() - used
        # If it is to come, the clock was set back, and nobody knows.
        return float("inf") if unused_s < -_CLOCKS_DIFFER_S else unused_s * 1000

    def _sync(self, path: Path) -> None:
        lock = DirectoryLock(path / LOCK_FILE)
        if not lock.is_synced():
            used = (path / LOCK_FILE).stat()
            sync(path, lock, _GIVEN_UP_S)
            # This was no use of it.
            os.utime(path / LOCK_FILE, ns=(used.st_atime_ns, used.st_mtime_ns))

    def _remove(self, name: str, timeout_s: float) -> None:
        lock = DirectoryLock(self.path / name / LOCK_FILE)
        lock.acquire(timeout_s)
        try:
            shutil.rmtree(self.path / name)
        finally:
            lock.release()


def _is_name(text: str) -> bool:
    """Whether it is the name of one file, and not a way to others."""
    if text in ("", ".", "..") or "/" in text or not text.isprintable():
        return False
    return len(text.encode(errors="surrogateescape")) <= _LONGEST_NAME
