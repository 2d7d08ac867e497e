"""What a task has committed, for those who only look."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import lmdb

from headrace.core.errors import StateError
from headrace.runtime.stores.ordered_map import OrderedMap
from headrace.state.about import About
from headrace.state.checkpoint import RESTORING, Checkpoint
from headrace.state.checksums import DATA_FILE, Checksums
from headrace.state.data_file import DamagedError, DataFile, read_meta
from headrace.state.environment import FILES, MAX_TREES, is_large
from headrace.state.lmdb_map import LmdbMap, Trees
from headrace.state.task_state import ABOUT, odd_tree, plain_tree

_MAP_SIZE = 1 << 36
"""Room for the state to grow while it is open here; addresses cost nothing."""
_SPARE = 8
_LOOK_EVERY_S = 0.05
"""How long it may take to notice that the state was made anew. To look costs as much as to read."""


class StateReader:
    """Reads the state of a task while another process may change it. Neither waits for the other.

    A snapshot is of one commit, the last one when it is taken. Old ones keep LMDB from using pages
    again, so they are to be released soon. Snapshots may be taken by any thread, each for itself.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self._path = path
        self._data_file = str(path / DATA_FILE)
        self._checksums = Checksums(path)
        self._judged: tuple[os.stat_result, bool] | None = None
        """How a file was when somebody else had changed it, and whether it is sound for all
        that."""
        self._identity = identity
        self._is_closed = False
        self._look_at = 0.0
        self._lock = threading.Lock()
        self._files: _Files | None = None
        self._free: list[Snapshot] = []

    def snapshot(self) -> Snapshot | None:
        """None if there is no state that can be used: it isn't there, is being restored, or belongs
        to something else."""
        try:
            files = self._current_files()
            if files is None:
                return None
            found = self._take(files)
            return found if found.begin(self._identity) else None
        except lmdb.MapResizedError:
            self._close_files()
            return self.snapshot()
        except (DamagedError, lmdb.Error, OSError):
            # It is just being made, or made anew, or closed.
            return None

    def _take(self, files: _Files) -> Snapshot:
        """One that was used before, as what was made of it may still be good."""
        try:
            found = self._free.pop()
        except IndexError:
            return Snapshot(self, files)
        return found if found.files is files else Snapshot(self, files)

    def give_back(self, snapshot: Snapshot) -> None:
        if snapshot.files is self._files:
            self._free.append(snapshot)

    def close(self) -> None:
        """From now on there are no snapshots, and those that there are can't be read any more."""
        self._is_closed = True
        self._close_files()

    def _current_files(self) -> _Files | None:
        files, now = self._files, time.monotonic()
        if files is not None and now < self._look_at:
            return files
        try:
            found = os.lstat(self._data_file)
        except FileNotFoundError:
            return None
        self._look_at = now + _LOOK_EVERY_S
        with self._lock:
            if self._is_closed:
                return None
            if self._judged is not None and _is_same(self._judged[0], found):
                return self._files if self._judged[1] else None
            if self._files is None or self._files.inode != found.st_ino:
                self._replace_files(found)
            elif self._checksums.is_disturbed():
                self._judge(self._files, found)
            return self._files

    def _replace_files(self, found: os.stat_result) -> None:
        self._close_files()
        if any((self._path / name).is_symlink() for name in FILES):
            return
        with DataFile(self._path / DATA_FILE) as file:
            file.check()
        files = _Files(self._path, found.st_ino)
        self._judge(files, found, thorough=not is_large(self._path))
        self._files = files

    def _judge(self, files: _Files, found: os.stat_result, *, thorough: bool = False) -> None:
        """Raises DamagedError if it can't be read; whoever has the state will mend it."""
        try:
            files.check(self._checksums, thorough=thorough)
        except DamagedError:
            self._judged = found, False
            files.close()
            self._close_files()
            raise
        self._judged = (found, True) if self._checksums.is_disturbed() else None

    def _close_files(self) -> None:
        files, self._files = self._files, None
        self._free.clear()
        if files is not None:
            files.close()


class Snapshot:
    """The maps and facts of one commit: a Storage that can only be read.

    `kept` is for what was made of it, and is emptied when it comes to be of another commit.
    """

    def __init__(self, reader: StateReader, files: _Files) -> None:
        self.files = files
        self.kept: dict[str, Any] = {}
        self._reader = reader
        self._transaction: Any = None
        self._number = -1
        self._about = About("")
        self._maps: dict[str, tuple[LmdbMap, Trees | None]] = {}

    def begin(self, identity: str) -> bool:
        """Whether there is something to be read."""
        transaction = self.files.begin()
        if transaction.id() != self._number:
            self.kept.clear()
            self._maps.clear()
            self._number = -1
            transaction.abort()
            transaction, about = self.files.read_about()
            if about is None or about.identity != identity or not _is_complete(about):
                transaction.abort()
                return False
            self._about, self._number = about, transaction.id()
        self._transaction = transaction
        for found, trees in self._maps.values():
            found.attach(transaction, trees)
        return True

    def release(self) -> None:
        if self._transaction is not None:
            self._transaction.abort()
            self._transaction = None
            for found, _ in self._maps.values():
                if found.is_changed:  # by a store that counts its reads
                    found.forget_changes()
            self._reader.give_back(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    @property
    def checkpoint(self) -> Checkpoint:
        assert self._about.checkpoint is not None
        return self._about.checkpoint

    # Storage

    def map(self, name: str) -> OrderedMap:
        if name not in self._maps:
            found, trees = LmdbMap(name, _ignore), self._trees_of(name)
            found.attach(self._transaction, trees)
            self._maps[name] = found, trees
        return self._maps[name][0]

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self._about.maps if name.startswith(prefix))

    def drop(self, name: str) -> None:
        raise StateError(f"Map {name} is only read here, and can't be dropped")

    def facts(self, store: str) -> Mapping[str, int]:
        return self._about.facts.get(store, {})

    def _trees_of(self, name: str) -> Trees | None:
        number = self._about.maps.get(name)
        if number is None:
            return None
        odd = self.files.tree(odd_tree(number)) if number in self._about.odd else None
        return Trees(self.files.tree(plain_tree(number)), odd)


class _Files:
    """An environment that is open for reading."""

    def __init__(self, path: Path, inode: int) -> None:
        self.inode = inode
        self._data_file = path / DATA_FILE
        self._lock = threading.Lock()
        self._trees: dict[bytes, Any] = {}
        self._lmdb: Any = lmdb.open(
            str(path),
            readonly=True,
            create=False,
            map_size=_MAP_SIZE,
            max_dbs=MAX_TREES,
            max_spare_txns=_SPARE,
            readahead=False,
        )
        self.begin = self._lmdb.begin

    def check(self, checksums: Checksums, *, thorough: bool) -> None:
        """Raises DamagedError if what was last committed is not as it was written."""
        while True:
            # As long as it is open, nothing of what it sees can be written over.
            with self.begin() as transaction:
                meta = read_meta(self._data_file)
                if meta is not None and meta.transaction == transaction.id():
                    if meta.transaction != 0:
                        checksums.check_snapshot(meta, thorough=thorough)
                    return

    def tree(self, name: bytes) -> Any:
        return self._trees[name]

    def read_about(self) -> tuple[Any, About | None]:
        """A transaction that sees all trees, and what the state says of itself; None if nothing was
        ever written."""
        while True:
            known = len(self._trees)
            transaction = self.begin()
            if self._open([ABOUT]) == known:
                data = transaction.get(ABOUT, db=self._trees[ABOUT])
                if data is None:
                    return transaction, None
                about = About.from_bytes(data)
                numbers = about.maps.values()
                if self._open([*map(plain_tree, numbers), *map(odd_tree, about.odd)]) == known:
                    return transaction, about
            # A transaction doesn't see trees that were opened after it began.
            transaction.abort()

    def _open(self, names: list[bytes]) -> int:
        """Open those that are not open yet, and say how many are then."""
        with self._lock:
            for name in names:
                if name not in self._trees:
                    self._trees[name] = self._lmdb.open_db(name, create=False)
            return len(self._trees)

    def close(self) -> None:
        self._lmdb.close()


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return os.path.samestat(one, other) and (one.st_mtime_ns, one.st_ctime_ns) == (
        other.st_mtime_ns,
        other.st_ctime_ns,
    )


def _is_complete(about: About) -> bool:
    return about.checkpoint is not None and about.checkpoint.sequence != RESTORING


def _ignore(reason: str) -> None:
    """Damage is mended by who has the state."""
