"""The checksums of LMDB's pages, in a file beside them.

LMDB writes a page once, and never again while a state has it. So after a commit only the pages that
are new have to be read and summed, and a state can be checked at any time, all of it, before LMDB
believes a word of it. ADR 7 has why by page and not by value.

The seal at the file's beginning says of which commit the checksums are, and how LMDB's file was
left: as long as nobody else has touched it since, it need not be read again.
"""

from __future__ import annotations

import os
import struct
import time
from array import array
from binascii import crc32
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from headrace.state import boot, private
from headrace.state.data_file import DamagedError, DataFile, Meta

DATA_FILE: Final = "data.mdb"
CHECKSUMS_FILE: Final = "checksums"

_MAGIC = b"headrace"
_VERSION = 1
_SEAL = Struct("<8sIIQQqqqI")
_CHECKSUM = Struct("<I")
_TABLE_AT = 64

_CHECK_EVERY_MS = 3_600_000
_CHECK_MS_PER_PAGE = 3
"""A thousand times as long as a page takes: no more than a thousandth of the time is for it."""
_COMMIT_S = 1.0
"""So long a commit may take from LMDB's file to the seal."""


class _Seal(NamedTuple):
    """`transaction` is that of the commit, and `meta` the checksum of its meta page; `pending` the
    one that is being written, or 0. The times are those of LMDB's file after it."""

    boot: int
    transaction: int
    pending: int
    modified_ns: int
    changed_ns: int
    checked_ms: int
    meta: int

    @classmethod
    def of(cls, meta: Meta, found: os.stat_result, checked_ms: int) -> _Seal:
        times = found.st_mtime_ns, found.st_ctime_ns
        return cls(_boot(), meta.transaction, 0, *times, checked_ms, meta.checksum)

    def is_of(self, meta: Meta) -> bool:
        return (self.transaction, self.meta) == (meta.transaction, meta.checksum)

    def fits(self, found: os.stat_result) -> bool:
        """Whether nobody has written to the file since, nor put another in its place."""
        return (self.modified_ns, self.changed_ns) == (found.st_mtime_ns, found.st_ctime_ns)


class Checksums:
    """Of the state in a directory. `begin` and `finish` are for who writes it and `check` for who
    has its lock, the others are for those who only look."""

    def __init__(self, directory: Path) -> None:
        self._data_file = directory / DATA_FILE
        self._path = directory / CHECKSUMS_FILE

    # A commit

    def begin(self, before: Meta) -> None:
        """What comes after a state is going to be written."""
        seal = self._read()
        if seal is None or before.transaction == 0:
            self._path.unlink(missing_ok=True)
            seal = _Seal.of(before, self._data_file.stat(), _now_ms())
        self._write({}, seal._replace(pending=before.transaction + 1))

    def finish(self, before: Meta, after: Meta) -> None:
        """It is written: note its new pages."""
        with _as_damage(), DataFile(self._data_file) as file:
            added = file.added(after, before)
        seal = self._read()
        checked = _now_ms() if seal is None else seal.checked_ms
        # A time that no write gives a file: clocks of file systems are too coarse to tell.
        mark = time.time_ns() // 10**9 * 10**9 + 1
        os.utime(self._data_file, ns=(mark, mark))
        self._write(added, _Seal.of(after, self._data_file.stat(), checked))

    # Checks

    def check(self, *, thorough: bool) -> None:
        """Raises DamagedError if the state can't be used. Unless it is to be thorough, pages are
        read only if somebody else has touched the file, or if nobody has read them for long."""
        try:
            file = DataFile(self._data_file)
        except FileNotFoundError:
            return
        with _as_damage(), file:
            metas = file.check()
            if metas is None:
                return
            meta, before = metas
            seal = self._read()
            if seal is None:
                if meta.transaction != 0:
                    raise DamagedError(f"there are no {CHECKSUMS_FILE} of its pages")
                return
            if not thorough and self._is_trusted(seal, meta, file.stat()):
                return
            if seal.is_of(before) and seal.pending == meta.transaction:
                # Its writer died before it could say so. Not so the system, which has all of it.
                file.verify(before, self._table())
                self.finish(before, meta)
            elif seal.is_of(meta):
                file.verify(meta, self._table())
            else:
                raise DamagedError(f"its {CHECKSUMS_FILE} are of another commit")
            self._write({}, _Seal.of(meta, file.stat(), _now_ms()))

    def check_snapshot(self, meta: Meta, *, thorough: bool) -> None:
        """The same, for a process that doesn't have the lock, but a snapshot of this state."""
        with _as_damage(), DataFile(self._data_file) as file:
            seal = self._seal_of(meta)
            if thorough or not self._is_trusted(seal, meta, file.stat()):
                if seal.transaction == meta.transaction and not seal.is_of(meta):
                    raise DamagedError(f"its {CHECKSUMS_FILE} are of another commit")
                file.verify(meta, self._table())

    def is_disturbed(self) -> bool:
        """Whether somebody else has touched the file since the last commit."""
        with _as_damage():
            seal = self._read()
            found = self._data_file.stat()
            if seal is None or seal.pending or seal != self._read():
                return False
            return not seal.fits(found)

    def _seal_of(self, meta: Meta) -> _Seal:
        """The seal, when it is that of a state or of a later one."""
        deadline = time.monotonic() + _COMMIT_S
        while (seal := self._read()) is not None and seal.pending == meta.transaction:
            if time.monotonic() > deadline:
                break
            time.sleep(0.001)
        if seal is None or seal.transaction < meta.transaction:
            raise DamagedError(f"its {CHECKSUMS_FILE} are of an earlier commit")
        return seal

    def _is_trusted(self, seal: _Seal, meta: Meta, found: os.stat_result) -> bool:
        age = _now_ms() - seal.checked_ms
        return (
            seal.is_of(meta)
            and seal.fits(found)
            and seal.boot == _boot()
            and 0 <= age < max(_CHECK_EVERY_MS, _CHECK_MS_PER_PAGE * meta.last_page)
        )

    # The file

    def _read(self) -> _Seal | None:
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        try:
            data = os.pread(file, _TABLE_AT, 0)
        finally:
            os.close(file)
        magic, version, *fields = _SEAL.unpack_from(data)
        (checksum,) = _CHECKSUM.unpack_from(data, _SEAL.size)
        if magic != _MAGIC or checksum != crc32(data[: _SEAL.size]):
            raise DamagedError(f"its {CHECKSUMS_FILE} are damaged")
        if version != _VERSION:
            raise DamagedError(f"its {CHECKSUMS_FILE} have format {version}, and not {_VERSION}")
        return _Seal(*fields)

    def _table(self) -> array[int]:
        data = self._path.read_bytes()[_TABLE_AT:]
        table = array("I")
        table.frombytes(data[: len(data) - len(data) % table.itemsize])
        return table

    def _write(self, sums: Mapping[int, int], seal: _Seal) -> None:
        """The sums first: without the seal they are of no commit."""
        file = private.open_file(self._path, os.O_WRONLY)
        try:
            for first, row in _rows(sums):
                os.pwrite(file, row, _TABLE_AT + row.itemsize * first)
            data = _SEAL.pack(_MAGIC, _VERSION, *seal)
            os.pwrite(file, data + _CHECKSUM.pack(crc32(data)), 0)
        finally:
            os.close(file)


def _rows(sums: Mapping[int, int]) -> Iterator[tuple[int, array[int]]]:
    """Checksums of pages that follow each other, with the number of the first."""
    row: array[int] = array("I")
    first = -1
    for number in sorted(sums):
        if number != first + len(row):
            if row:
                yield first, row
            first, row = number, array("I")
        row.append(sums[number])
    if row:
        yield first, row


@contextmanager
def _as_damage() -> Iterator[None]:
    """What can't be read as what it should be is damaged."""
    try:
        yield
    except (IndexError, OverflowError, struct.error) as error:
        raise DamagedError(f"its pages lead nowhere: {error}") from error


def _boot() -> int:
    return crc32(boot.boot_id().encode())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
