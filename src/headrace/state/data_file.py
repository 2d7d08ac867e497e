"""A look at LMDB's data file before LMDB maps it.

LMDB trusts its file: pages that it expects and that are not there kill the process (SIGBUS). The
two meta pages at the beginning tell how many pages there must be.
"""

from __future__ import annotations

import os
from pathlib import Path
from struct import Struct
from typing import NamedTuple

_MAGIC = 0xBEEFC0DE
_VERSION = 1
_META_FLAG = 0x08
_LARGEST_PAGE = 1 << 16

_HEADER = Struct("=8xHHHH")  # page number, pad, flags, bounds of free space
_META = Struct("=II16x" + 2 * "IHHQQQQQ" + "QQ")
"""Magic and version, fixed address and map size, the two root trees, last page and transaction."""


class Meta(NamedTuple):
    """The newest state that the file has."""

    page_size: int
    last_page: int
    transaction: int

    @property
    def needed(self) -> int:
        """The bytes that the file must have."""
        return (self.last_page + 1) * self.page_size


def damage(path: Path) -> str | None:
    """Why the file can't be mapped; None if it can, or if there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        size = os.fstat(file).st_size
        if size == 0:
            return None
        meta = _newest(file)
    finally:
        os.close(file)
    if meta is None:
        return f"{path.name} is not a file of LMDB"
    if size < meta.needed:
        return f"{path.name} is cut off: it has {size} of {meta.needed} bytes"
    return None


def read_meta(path: Path) -> Meta | None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return _newest(file)
    finally:
        os.close(file)


def _newest(file: int) -> Meta | None:
    first = _meta_at(file, 0)
    if first is None:
        return None
    second = _meta_at(file, first.page_size)
    if second is None or second.page_size != first.page_size:
        return None
    return max(first, second, key=lambda meta: meta.transaction)


def _meta_at(file: int, offset: int) -> Meta | None:
    data = os.pread(file, _HEADER.size + _META.size, offset)
    if len(data) < _HEADER.size + _META.size:
        return None
    _, flags, _, _ = _HEADER.unpack_from(data)
    fields = _META.unpack_from(data, _HEADER.size)
    magic, version, page_size = fields[:3]
    last_page, transaction = fields[-2:]
    if magic != _MAGIC or version != _VERSION or not flags & _META_FLAG:
        return None
    if not 512 <= page_size <= _LARGEST_PAGE:
        return None
    return Meta(page_size, last_page, transaction)
