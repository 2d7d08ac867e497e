"""The lock of a task's directory, and what it tells of those who had it."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import orjson

from headrace.core.errors import LockError
from headrace.state import boot, private

_FIRST_WAIT_S = 0.000_5
LONGEST_WAIT_S = 0.02
"""Between two tries of who waits for a lock: if it is free for longer, it is had."""


class DirectoryLock:
    """An advisory lock on a file, which has in it who holds it or held it last.

    The system frees the lock of a process that dies, but the file then still says that its holder
    was busy: that is how a death is noticed. It also says in which boot of the machine something
    was written last, unless all of that is on the disk.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self.is_first = False
        """Whether nobody had the lock before."""
        self.died = False
        """Whether the holder before this one died with the lock."""
        self.rebooted = False
        """Whether the machine restarted before all that was written had reached the disk."""
        _LOCKS.add(self)

    @property
    def is_held(self) -> bool:
        return self._file is not None

    def is_synced(self) -> bool:
        """Whether all that its last holder has written is on the disk. For who doesn't have it."""
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return True  # nobody has ever written anything
        try:
            left = _read(file)
        finally:
            os.close(file)
        return not left.get("busy", False) and left.get("unsynced_boot") is None

    def acquire(self, timeout_s: float) -> None:
        """Wait for the lock, and say in it that this process is busy. Makes the directory."""
        file = self._wait(time.monotonic() + timeout_s)
        self._file = file
        before = _read(file)
        last_boot = before.get("unsynced_boot")
        self.is_first = not before
        self.died = bool(before.get("busy", False))
        self.rebooted = last_boot is not None and last_boot != boot.boot_id()
        self._write(busy=True, unsynced_boot=boot.boot_id())
        if before and last_boot is None:
            # Or the state might be written to the disk and this not, when the machine crashes.
            os.fsync(file)

    def release(self, *, synced: bool = False) -> None:
        """Let go. `synced`: all that was written is on the disk."""
        if self._file is not None:
            self._write(busy=False, unsynced_boot=None if synced else boot.boot_id())
            os.close(self._file)
            self._file = None

    def forget(self) -> None:
        """In a child process: the lock is the parent's, and so is what is written in it."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None

    def _wait(self, deadline: float) -> int:
        wait = _FIRST_WAIT_S
        while True:
            # Whoever removes an unused directory does so with the lock, and under its waiters.
            private.make_directory(self._path.parent)
            file = private.open_file(self._path, os.O_RDWR)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_still_at(file, self._path):
                    return file
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    holder = _read(file).get("pid", "that is not known")
                    os.close(file)
                    raise LockError(
                        f"State directory {self._path.parent} is in use by process {holder}. Stop "
                        "it, or set another state.dir."
                    ) from None
                time.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT_S)
            os.close(file)

    def _write(self, *, busy: bool, unsynced_boot: str | None) -> None:
        assert self._file is not None
        text = orjson.dumps(
            {
                "pid": os.getpid(),
                "busy": busy,
                "unsynced_boot": unsynced_boot,
            }
        )
        os.pwrite(self._file, text, 0)
        os.ftruncate(self._file, len(text))


def _is_still_at(file: int, path: Path) -> bool:
    """Whether the file was not deleted before it could be locked."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _read(file: int) -> dict[str, Any]:
    text = os.pread(file, 4096, 0)
    if not text:
        return {}
    try:
        form = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Its holder died while it wrote this.
        return {"busy": True}
    return form if isinstance(form, dict) else {"busy": True}


_LOCKS: WeakSet[DirectoryLock] = WeakSet()


def _forget_all() -> None:
    for lock in list(_LOCKS):
        lock.forget()


# A lock belongs to the open file, which a child would share, and so keep after its parent's death.
os.register_at_fork(after_in_child=_forget_all)
