"""An LMDB environment, as one process has it open."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import lmdb

from headrace.state import private
from headrace.state.checksums import CHECKSUMS_FILE, DATA_FILE, Checksums
from headrace.state.data_file import Meta, read_meta

READERS_FILE: Final = "lock.mdb"
"""LMDB's own lock file, with its table of readers."""
FILES: Final = (DATA_FILE, READERS_FILE, CHECKSUMS_FILE)

MAX_TREES = 4096
_LARGE = 32 << 20
_ABANDONED: list[Any] = []
"""What belongs to a parent process: here it must not even be closed."""


class FileInfo(NamedTuple):
    """Bytes of LMDB's file that were ever in use, how many there may be before its map is made
    larger, and how many readers it has had at once."""

    used: int
    map_size: int
    readers: int


class Environment:
    """Opened when it is made. Only for the holder of the directory's lock.

    Nothing is synced: the state is a cache, and what a dead process has written is in the hands
    of the system.
    """

    def __init__(self, path: Path, map_size: int) -> None:
        self._path = path
        self._process = os.getpid()
        self._lmdb: Any = lmdb.open(
            str(path),
            mode=private.FILE_MODE,
            map_size=map_size,
            max_dbs=MAX_TREES,
            max_spare_txns=0,  # a child could not close the environment without harm
            sync=False,
            metasync=False,
            readahead=False,
        )
        self._checksums = Checksums(path)
        self._trees: dict[bytes, Any] = {}
        self._files = self._stats()
        self._lmdb.reader_check()

    def is_inherited(self) -> bool:
        """Whether it was opened by a process that this one was forked from."""
        return self._process != os.getpid()

    def abandon(self, snapshot: Any) -> None:
        """In a child: never touch it, nor a snapshot of it, again. LMDB has the snapshots of all
        processes in one table; to close one here would take it from the parent."""
        _ABANDONED.append((self._lmdb, snapshot))

    def is_current(self) -> bool:
        """Whether its files are still those on disk, and LMDB has not seen a later state of them
        than they have now."""
        files, meta = self._stats(), read_meta(self._path / DATA_FILE)
        if len(files) != 2 or not all(map(os.path.samestat, self._files, files)):
            return False
        with self.snapshot() as snapshot:
            return meta is not None and bool(snapshot.id() == meta.transaction)

    def snapshot(self) -> Any:
        """A read transaction that sees what was last committed."""
        return self._begin(write=False)

    def is_empty(self) -> bool:
        """Whether nothing was ever written."""
        return bool(self._lmdb.stat()["entries"] == 0)

    def open_trees(self, names: Iterable[bytes]) -> None:
        """Make trees that are there known to this process, before a snapshot is taken."""
        unknown = [name for name in names if name not in self._trees]
        if unknown:
            with self._begin(write=True) as transaction:
                for name in unknown:
                    self._trees[name] = self._lmdb.open_db(name, txn=transaction, create=False)

    def tree(self, name: bytes) -> Any:
        return self._trees[name]

    def write(self, change: Callable[[Any, Callable[[bytes], Any]], None]) -> int:
        """Run `change(transaction, tree)` in a transaction, again with a larger map if it doesn't
        fit, and say the number of the transaction. `tree(name)` makes a tree. There must be no
        snapshot open."""
        before = self._meta()
        if before is not None:
            self._checksums.begin(before)
        number = self._write(change)
        after = self._meta()
        if before is not None and after is not None:
            self._checksums.finish(before, after)
        return number

    def _write(self, change: Callable[[Any, Callable[[bytes], Any]], None]) -> int:
        while True:
            made: dict[bytes, Any] = {}

            def tree(name: bytes) -> Any:
                found = self._trees.get(name) or made.get(name)  # noqa: B023
                if found is None:
                    found = made[name] = self._lmdb.open_db(name, txn=transaction)  # noqa: B023
                return found

            transaction = self._begin(write=True)
            try:
                change(transaction, tree)
                number = int(transaction.id())
                transaction.commit()
            except lmdb.MapFullError:
                transaction.abort()
                self._lmdb.set_mapsize(self._lmdb.info()["map_size"] * 2)
            except BaseException:
                transaction.abort()
                raise
            else:
                self._trees.update(made)
                self._fill_up()
                return number

    def is_large(self) -> bool:
        """Whether it should not stay open without need: the pages that LMDB has touched count as
        memory of this process, and it also keeps the buffers of its largest transaction."""
        return is_large(self._path)

    def file(self) -> FileInfo:
        """What LMDB says of its file."""
        info, page = self._lmdb.info(), self._lmdb.stat()["psize"]
        return FileInfo((info["last_pgno"] + 1) * page, info["map_size"], info["num_readers"])

    def close(self) -> None:
        self._lmdb.close()

    def _begin(self, *, write: bool) -> Any:
        try:
            return self._lmdb.begin(write=write)
        except lmdb.MapResizedError:
            # Another process has made the map larger.
            self._lmdb.set_mapsize(0)
            return self._lmdb.begin(write=write)

    def _fill_up(self) -> None:
        """LMDB doesn't write pages that were used and freed in one transaction. If they are the
        last ones, the file would look as if it were cut off: give it its length."""
        meta = self._meta()
        file = self._path / DATA_FILE
        if meta is not None and file.stat().st_size < meta.needed:
            os.truncate(file, meta.needed)

    def _meta(self) -> Meta | None:
        return read_meta(self._path / DATA_FILE)

    def _stats(self) -> tuple[os.stat_result, ...]:
        try:
            return (self._path / DATA_FILE).stat(), (self._path / READERS_FILE).stat()
        except FileNotFoundError:
            return ()


def is_large(path: Path) -> bool:
    """Whether the state in a directory is; what is gone should not stay open either."""
    try:
        return (path / DATA_FILE).stat().st_size > _LARGE
    except FileNotFoundError:
        return True


def sync_files(path: Path) -> None:
    """Wait until all that any process has written is on the disk."""
    for name in (DATA_FILE, CHECKSUMS_FILE):
        try:
            file = os.open(path / name, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue  # nothing was ever committed
        try:
            os.fsync(file)
        finally:
            os.close(file)


def remove_files(path: Path, *names: str) -> None:
    """Delete files of an environment, all unless some are named. Other processes that have it open
    will notice."""
    for name in names or FILES:
        (path / name).unlink(missing_ok=True)
