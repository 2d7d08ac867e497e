"""LMDB's data file, as it is on disk: its meta pages, its pages and what they lead to.

LMDB trusts its file. Pages that it expects and that are not there kill the process (SIGBUS), and
bits that have changed are answers. So we look at it before LMDB does.
"""

from __future__ import annotations

import os
from array import array
from binascii import crc32
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple, Self

_MAGIC = 0xBEEFC0DE
_VERSION = 1
_META_FLAG = 0x08
_SMALLEST_PAGE, _LARGEST_PAGE = 512, 1 << 16
_NO_PAGE = 2**64 - 1
_FIRST_PAGE = 2
"""After the two meta pages."""

_HEADER = Struct("=8xHHHH")  # page number, pad, flags, bounds of free space
_PAGES = Struct("=12xI")  # of an overflow page: how many there are in a row
_TREE = "IHHQQQQQ"
"""Pad, flags, depth; branch, leaf and overflow pages, entries; the root's number."""
_META = Struct("=II16x" + 2 * _TREE + "QQ")
"""Magic and version, fixed address and map size, the two root trees, last page and transaction."""
_RECORD = Struct("=" + _TREE)
_NODE = Struct("=HHHH")  # size of the value, low and high; flags; size of the key
_CHILD = Struct("=IH")  # the number of a page
_NUMBER = Struct("=Q")
_PAGES_AT_ONCE = 64
_OVERFLOWS, _IS_TREE = 0x01, 0x02


class DamagedError(Exception):
    """What is on disk can't be used."""


class Tree(NamedTuple):
    """Where a tree begins, how many levels it has, and how many of its pages are overflow pages:
    values that have no room in a leaf."""

    depth: int
    overflows: int
    root: int


_EMPTY = Tree(0, 0, _NO_PAGE)


class Meta(NamedTuple):
    """A state of the file: the tree of free pages, the tree that has all others as its entries,
    and the checksum of the meta page that says so."""

    page_size: int
    last_page: int
    transaction: int
    free: Tree
    main: Tree
    checksum: int

    @property
    def needed(self) -> int:
        """The bytes that the file must have."""
        return (self.last_page + 1) * self.page_size


def read_meta(path: Path) -> Meta | None:
    """The newest state that the file has; None if it isn't there, or not LMDB's."""
    try:
        with DataFile(path) as file:
            metas = file.metas()
    except FileNotFoundError:
        return None
    return None if metas is None else metas[0]


class DataFile:
    """Opened for reading when it is made."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def stat(self) -> os.stat_result:
        return os.fstat(self._file)

    # States

    def check(self) -> tuple[Meta, Meta] | None:
        """The newest state and the one before; None if the file is empty. Raises DamagedError if
        it can't be mapped: it is something else, or cut off."""
        size = self.stat().st_size
        if size == 0:
            return None
        metas = self.metas()
        if metas is None:
            raise DamagedError(f"{self.name} is not a file of LMDB")
        needed = metas[0].needed
        if size < needed:
            raise DamagedError(f"{self.name} is cut off: it has {size} of {needed} bytes")
        return metas

    def metas(self) -> tuple[Meta, Meta] | None:
        """The newest state and the one before, if they can be read."""
        first = self._meta_at(0)
        if first is None:
            return None
        second = self._meta_at(first.page_size)
        if second is None or second.page_size != first.page_size:
            return None
        return (first, second) if first.transaction >= second.transaction else (second, first)

    def _meta_at(self, offset: int) -> Meta | None:
        data = os.pread(self._file, _HEADER.size + _META.size, offset)
        if len(data) < _HEADER.size + _META.size:
            return None
        _, flags, _, _ = _HEADER.unpack_from(data)
        magic, version, *trees, last_page, transaction = _META.unpack_from(data, _HEADER.size)
        page_size = trees[0]
        if magic != _MAGIC or version != _VERSION or not flags & _META_FLAG:
            return None
        if not _SMALLEST_PAGE <= page_size <= _LARGEST_PAGE or page_size & (page_size - 1):
            return None
        free, main = _tree(trees[:8]), _tree(trees[8:])
        return Meta(page_size, last_page, transaction, free, main, crc32(data))

    # Pages

    def verify(self, meta: Meta, expected: array[int]) -> None:
        """Raises DamagedError unless all pages of a state have the checksums that they should."""

        def check(number: int, checksum: int) -> None:
            if number >= len(expected) or checksum != expected[number]:
                raise DamagedError(f"page {number} of {self.name} is not as it was written")

        _Walk(self, meta, check).run(None)

    def added(self, after: Meta, before: Meta) -> dict[int, int]:
        """The checksums of the pages that a state has and the one before it had not.

        LMDB never writes to a page of the last state: what is in both has not changed.
        """
        found: dict[int, int] = {}
        _Walk(self, after, found.__setitem__).run(before)
        return found

    def read(self, meta: Meta, first: int, count: int = 1) -> memoryview:
        """Some pages in a row."""
        size = meta.page_size
        data = os.pread(self._file, count * size, first * size)
        if len(data) < count * size or first < _FIRST_PAGE or first + count > meta.last_page + 1:
            raise DamagedError(f"{self.name} leads to page {first}, which it doesn't have")
        return memoryview(data)


class _Walk:
    """Visits all pages of a state, or only those that another one has not, with their checksums.

    Pages that two states share have the same pages below them in both. So trees are compared level
    by level, the leaves being one level, and only what differs is followed.
    """

    def __init__(self, file: DataFile, meta: Meta, visit: Callable[[int, int], None]) -> None:
        self._file = file
        self._meta = meta
        self._visit = visit

    def run(self, other: Meta | None) -> None:
        meta = self._meta
        free, main = (other.free, other.main) if other is not None else (_EMPTY, _EMPTY)
        self._tree(meta.free, free)
        named, others = self._tree(meta.main, main, has_trees=True)
        for name, tree in named.items():
            known = others.get(name, _EMPTY)
            if tree != known:
                self._tree(tree, known)

    def _tree(
        self, tree: Tree, other: Tree, *, has_trees: bool = False
    ) -> tuple[dict[bytes, Tree], dict[bytes, Tree]]:
        """Visits a tree. Gives the trees that are entries of it, and those of the other, as far
        as they differ."""
        ours: set[int] = set()
        theirs: set[int] = set()
        for level in range(max(tree.depth, other.depth) - 1, 0, -1):
            _enter(level, tree, other, ours, theirs)
            ours = {child for page in self._visited(ours) for child in _children(page)}
            theirs = {child for page in self._known(theirs) for child in _children(page)}
        _enter(0, tree, other, ours, theirs)
        if not has_trees and not tree.overflows:
            for _ in self._visited(ours):
                pass
            return {}, {}
        mine, known = _Leaves(self._visited(ours)), _Leaves(self._known(theirs))
        for first in mine.overflows - known.overflows:
            (page,) = self._visited([first])
            (count,) = _PAGES.unpack_from(page)
            for _ in self._visited(range(first + 1, first + count)):
                pass
        return mine.trees, known.trees

    def _visited(self, numbers: Iterable[int]) -> Iterator[memoryview]:
        size, visit = self._meta.page_size, self._visit
        for first, count in _runs(numbers):
            data = self._file.read(self._meta, first, count)
            for number in range(count):
                page = data[number * size : (number + 1) * size]
                visit(first + number, crc32(page))
                yield page

    def _known(self, numbers: Iterable[int]) -> Iterator[memoryview]:
        return (self._file.read(self._meta, number) for number in numbers)


def _enter(level: int, tree: Tree, other: Tree, ours: set[int], theirs: set[int]) -> None:
    """Begin with trees that have no more levels than this, and go on with what they don't share."""
    if tree.depth == level + 1:
        ours.add(tree.root)
    if other.depth == level + 1:
        theirs.add(other.root)
    both = ours & theirs
    ours -= both
    theirs -= both


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Numbers that follow each other: the first, and how many there are."""
    first, count = 0, 0
    for number in sorted(numbers):
        if number == first + count and 0 < count < _PAGES_AT_ONCE:
            count += 1
        else:
            if count:
                yield first, count
            first, count = number, 1
    if count:
        yield first, count


class _Leaves:
    """What some leaves lead to: overflow pages and other trees."""

    def __init__(self, pages: Iterable[memoryview]) -> None:
        self.overflows: set[int] = set()
        self.trees: dict[bytes, Tree] = {}
        for page in pages:
            self._add(page)

    def _add(self, page: memoryview) -> None:
        for at in _nodes(page):
            _, _, flags, key_size = _NODE.unpack_from(page, at)
            start = at + _NODE.size
            value = start + key_size
            if flags & _OVERFLOWS:
                self.overflows.add(_NUMBER.unpack_from(page, value)[0])
            elif flags & _IS_TREE:
                self.trees[bytes(page[start:value])] = _tree(_RECORD.unpack_from(page, value))


def _tree(fields: Any) -> Tree:
    _, _, depth, _, _, overflows, _, root = fields
    return Tree(depth, overflows, root) if root != _NO_PAGE else _EMPTY


def _nodes(page: memoryview) -> list[int]:
    """Where the entries of a page are in it."""
    words = page.cast("H")
    return words[8 : words[6] >> 1].tolist()


def _children(page: memoryview) -> list[int]:
    """The pages that a branch leads to."""
    numbers = map(_CHILD.unpack_from, repeat(page), _nodes(page))
    return [low | high << 32 for low, high in numbers]
