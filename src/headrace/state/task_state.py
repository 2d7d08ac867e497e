"""The state of a task on local disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import lmdb

from headrace.core.errors import LockError, StateError, StreamsError
from headrace.runtime.stores.ordered_map import OrderedMap
from headrace.state.about import About, Facts
from headrace.state.boot import Moment
from headrace.state.checkpoint import Checkpoint
from headrace.state.checksums import DATA_FILE, Checksums
from headrace.state.data_file import DamagedError
from headrace.state.environment import (
    FILES,
    READERS_FILE,
    Environment,
    FileInfo,
    is_large,
    remove_files,
    sync_files,
)
from headrace.state.lmdb_map import DAMAGE, LmdbMap, Trees
from headrace.state.lock import DirectoryLock

LOCK_FILE = ".lock"

_FIRST_MAP_SIZE = 1 << 30
ABOUT = b"about"
_NO_ROOM = [os.strerror(number) for number in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)]
"""What LMDB says when a disk is full; the last one after a write that was cut short."""


class TaskState:
    """The maps and facts of a task, in LMDB, for one process at a time.

    A process makes one for each task and keeps it. Between `acquire` and `release` the state is
    its own: maps read what was last committed, by whichever process, and keep changes in memory
    until `commit` writes them all, with the checkpoint, in one transaction. Other processes may
    read meanwhile, and see only what was committed.

    `identity` says what the state is of: application and task in the first line, then the shape of
    its stores. State of another identity, and all that is damaged or doubtful, is wiped by
    `acquire`; `reset_reason` then says why.
    """

    def __init__(self, path: Path, identity: str, *, map_size: int = _FIRST_MAP_SIZE) -> None:
        self.path = path
        self.reset_reason: str | None = None
        self._identity = identity
        self._map_size = map_size
        self._lock = DirectoryLock(path / LOCK_FILE)
        self._checksums = Checksums(path)
        self._is_checked = False
        """Whether this process has read all of it."""
        self._environment: Environment | None = None
        self._snapshot: Any = None
        self._about = About(identity)
        self._seen = -1
        """The transaction that `_about` is of."""
        self._had_a_turn = False
        self._is_lost = False
        self._damage: str | None = None
        """What was found to be damaged while it was read."""
        self._maps: dict[str, LmdbMap] = {}
        self._dropped: set[str] = set()

    # Turns

    def acquire(self, timeout_s: float) -> None:
        """Wait until no other process has the state, and look at what was left.

        Raises LockError if that takes longer than `timeout_s`.
        """
        self._let_go_after_fork()
        if self._is_lost:
            raise StateError(
                f"The state in {self.path} was in use when this process was forked, and can't be "
                "used in it. Fork before a state is acquired, or start processes in another way."
            )
        if self._lock.is_held:
            raise StateError(f"The state in {self.path} was acquired already")
        self._close_snapshot()
        try:
            self._lock.acquire(timeout_s)
        except OSError as error:
            raise self._not_usable(error) from error
        try:
            self.reset_reason = self._damage or self._reason_for_distrust()
            self._damage = None
            if self.reset_reason is None:
                try:
                    self._open()
                except DamagedError as error:
                    self.reset_reason = str(error)
            if self.reset_reason is not None:
                self._start_empty()
            self._had_a_turn = True
        except BaseException:
            self.release()
            raise

    def share(self) -> None:
        """Let other processes change the state, and go on reading it as it is now."""
        self.rollback()
        self._lock.release()

    def release(self) -> None:
        """Let other processes have the state. What was not committed is forgotten."""
        self._let_go_after_fork()
        self.rollback()
        self._close_snapshot()
        if self._damage is not None and self._lock.is_held:
            # No other process is to find it.
            self._close_environment()
            remove_files(self.path)
        elif self._environment is not None and self._environment.is_large():
            self._close_environment()
        self._lock.release()

    def close(self) -> None:
        """Release the state, and see that it is on the disk unless another process has it now."""
        self.release()
        self._close_environment()
        if not self._had_a_turn or not (self.path / DATA_FILE).exists():
            # Nobody has looked whether it can be trusted, or there is nothing.
            return
        with suppress(LockError):
            sync(self.path, self._lock, 0)

    # Storage

    @property
    def checkpoint(self) -> Checkpoint | None:
        """What the state is the state of; None if it is empty."""
        return self._about.checkpoint

    def age_ms(self) -> float:
        """How long ago it was last committed; infinite if that can't be told."""
        return self._about.written.age_ms()

    def map(self, name: str) -> OrderedMap:
        found = self._maps.get(name)
        if found is None:
            found = self._maps[name] = LmdbMap(name, self._found_damage)
            if self._snapshot is not None:
                found.attach(self._snapshot, self._trees_of(name))
        return found

    def names(self, prefix: str) -> list[str]:
        stored = self._about.maps.keys() - self._dropped
        changed = {name for name, found in self._maps.items() if found.is_changed}
        return sorted(name for name in stored | changed if name.startswith(prefix))

    def drop(self, name: str) -> None:
        self._maps.pop(name, None)
        if name in self._about.maps:
            self._dropped.add(name)

    def facts(self, store: str) -> Mapping[str, int]:
        return self._about.facts.get(store, {})

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How many entries each store has, and how many bytes they take up on disk, as of the last
        commit."""
        if self._snapshot is None:
            return {}
        sizes: dict[str, tuple[int, int]] = {}
        for name in self._about.maps:
            store = name.partition("/")[0]
            entries, size = sizes.get(store, (0, 0))
            for tree in self._trees_of(name) or ():
                if tree is not None:
                    stat = self._snapshot.stat(tree)
                    pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
                    entries += stat["entries"]
                    size += pages * stat["psize"]
            sizes[store] = entries, size
        return sizes

    def file(self) -> FileInfo | None:
        """What LMDB says of its file; None if nothing is there yet."""
        if self._environment is None or self._snapshot is None:
            return None
        return self._environment.file()

    # Changes

    def commit(self, checkpoint: Checkpoint, facts: Facts) -> None:
        """Write all changes, the checkpoint and the facts: all, or nothing.

        Raises StreamsError if the disk is full. The changes are then lost, and the state is that
        of the commit before.
        """
        environment = self._require_turn()
        self._close_snapshot()
        about = self._about_after(checkpoint, facts)
        try:
            number = environment.write(
                lambda transaction, tree: self._write(about, transaction, tree)
            )
        except (lmdb.Error, DamagedError, OSError) as error:
            # LMDB may refuse everything from now on; what is on disk is as it was, or, if only its
            # checksums could not be written, as it should be.
            self.rollback()
            self._close_environment()
            if isinstance(error, (*DAMAGE, DamagedError)):
                self._found_damage(f"LMDB can't write it: {error}")
            else:
                self._open()
            raise self._not_written(error) from error
        self._about, self._seen = about, number
        self._forget_changes()
        self._open_snapshot(environment)

    def rollback(self) -> None:
        """Forget all changes since the last commit."""
        self._forget_changes()
        if self._snapshot is not None:
            self._attach_maps()

    def wipe(self) -> None:
        """Remove everything. Stores that were made with this storage must be made anew."""
        self._require_turn()
        self.rollback()
        self._close_snapshot()
        self._start_empty()

    # Opening and closing

    def _found_damage(self, reason: str) -> None:
        self._damage = reason

    def _reason_for_distrust(self) -> str | None:
        for name in FILES:
            if (self.path / name).is_symlink():
                return f"{name} is a symbolic link"
        lock = self._lock
        is_doubtful = lock.died or lock.rebooted or lock.is_first
        try:
            self._checksums.check(thorough=is_doubtful or not self._is_checked_or_large())
        except DamagedError as error:
            return str(error)
        self._is_checked = True
        return None

    def _is_checked_or_large(self) -> bool:
        return self._is_checked or is_large(self.path)

    def _open(self) -> None:
        """Raises DamagedError if what is there can't be used."""
        try:
            self._open_snapshot(self._current_environment())
        except BaseException as error:
            self._close_environment()
            if isinstance(error, DAMAGE):
                raise DamagedError(f"LMDB can't read it: {error}") from error
            if isinstance(error, lmdb.Error):
                raise self._not_usable(error) from error
            raise

    def _current_environment(self) -> Environment:
        if self._environment is not None and self._environment.is_current():
            return self._environment
        self._close_environment()
        self._environment = Environment(self.path, self._map_size)
        if not self._environment.is_current():
            # Somebody has put an older data file there, while processes had the other one open.
            self._close_environment()
            remove_files(self.path, READERS_FILE)
            self._environment = Environment(self.path, self._map_size)
        return self._environment

    def _let_go_after_fork(self) -> None:
        """In a child, everything that is open is still the parent's."""
        environment, snapshot = self._environment, self._snapshot
        if environment is not None and environment.is_inherited():
            if snapshot is not None:
                environment.abandon(snapshot)
                self._environment = self._snapshot = None
                self._is_lost = True
            self._close_environment()

    def _open_snapshot(self, environment: Environment) -> None:
        snapshot = environment.snapshot()
        if snapshot.id() != self._seen:
            snapshot.abort()
            self._about = self._read_about(environment)
            snapshot = environment.snapshot()
            self._seen = snapshot.id()
        self._snapshot = snapshot
        self._attach_maps()

    def _attach_maps(self) -> None:
        for name, found in self._maps.items():
            found.attach(self._snapshot, self._trees_of(name))

    def _read_about(self, environment: Environment) -> About:
        if environment.is_empty():
            return About(self._identity)
        environment.open_trees([ABOUT])
        with environment.snapshot() as snapshot:
            data = snapshot.get(ABOUT, db=environment.tree(ABOUT))
        about = About.from_bytes(data or b"")
        if about.identity != self._identity:
            theirs, ours = (text.partition("\n")[0] for text in (about.identity, self._identity))
            raise DamagedError(
                "its stores were of another kind"
                if theirs == ours
                else f"it belongs to {theirs}, and not to {ours}"
            )
        numbers = about.maps.values()
        environment.open_trees([*map(plain_tree, numbers), *map(odd_tree, about.odd)])
        return about

    def _start_empty(self) -> None:
        self._close_environment()
        remove_files(self.path)
        self._open()

    def _close_snapshot(self) -> None:
        if self._snapshot is not None:
            self._snapshot.abort()
            self._snapshot = None
        for found in self._maps.values():
            found.detach()

    def _close_environment(self) -> None:
        self._close_snapshot()
        if self._environment is not None:
            self._environment.close()
            self._environment = None
        self._about, self._seen = About(self._identity), -1

    def _require_turn(self) -> Environment:
        if not self._lock.is_held or self._environment is None:
            raise StateError(f"The state in {self.path} must be acquired first")
        return self._environment

    # Writing

    def _trees_of(self, name: str) -> Trees | None:
        number = self._about.maps.get(name)
        if number is None or name in self._dropped or self._environment is None:
            return None
        odd = self._environment.tree(odd_tree(number)) if number in self._about.odd else None
        return Trees(self._environment.tree(plain_tree(number)), odd)

    def _about_after(self, checkpoint: Checkpoint, facts: Facts) -> About:
        maps = {name: n for name, n in self._about.maps.items() if name not in self._dropped}
        odd = set(self._about.odd)
        taken = {*self._about.maps.values()}
        free = (number for number in count() if number not in taken)
        for name, found in self._maps.items():
            if found.is_changed:
                number = maps[name] if name in maps else maps.setdefault(name, next(free))
                if number not in odd and found.has_odd_changes:
                    odd.add(number)
        return About(self._identity, maps, frozenset(odd), facts, checkpoint, Moment.now())

    def _write(self, about: About, transaction: Any, tree: Callable[[bytes], Any]) -> None:
        for name in self._dropped:
            number = self._about.maps[name]
            transaction.drop(tree(plain_tree(number)), delete=False)
            if number in self._about.odd:
                transaction.drop(tree(odd_tree(number)), delete=False)
        for name, found in self._maps.items():
            if found.is_changed:
                number = about.maps[name]
                odd = tree(odd_tree(number)) if number in about.odd else None
                found.write(transaction, Trees(tree(plain_tree(number)), odd))
        transaction.put(ABOUT, about.to_bytes(), db=tree(ABOUT))

    def _forget_changes(self) -> None:
        self._dropped.clear()
        for found in self._maps.values():
            found.forget_changes()

    def _not_usable(self, error: Exception) -> StreamsError:
        return StreamsError(
            f"The state in {self.path} can't be used: {error}. See that the directory may be "
            "written to and that its disk has room, or set another state.dir."
        )

    def _not_written(self, error: Exception) -> StreamsError:
        text = f"The state in {self.path} could not be written: {error}."
        if any(reason in text for reason in _NO_ROOM):
            return StreamsError(f"{text} Its disk seems to be full: make room, or move state.dir.")
        return StreamsError(text)


def sync(path: Path, lock: DirectoryLock, timeout_s: float) -> None:
    """See that what is in a directory is on the disk. Raises LockError if a process has it for
    longer than `timeout_s`."""
    lock.acquire(timeout_s)
    is_synced = False
    try:
        sync_files(path)
        is_synced = True
    finally:
        lock.release(synced=is_synced)


def plain_tree(number: int) -> bytes:
    return b"%d" % number


def odd_tree(number: int) -> bytes:
    return b"%d+" % number
