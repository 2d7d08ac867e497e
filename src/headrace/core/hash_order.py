"""The orders in which Java's hash and tree collections iterate.

The text of a topology's description has them in it, and so has the changelog of a suppression. Both
are compared between the two worlds: so the orders are reproduced here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
H = TypeVar("H")

_MIN_CAPACITY = 16
_TREE_CAPACITY = 64
_LONG_BUCKET = 8


def hash_code(text: str) -> int:
    """Java's `String.hashCode`, as an unsigned 32-bit number: over UTF-16 code units."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def partition_hash_code(partition: tuple[str, int]) -> int:
    """Java's `TopicPartition.hashCode`, unsigned."""
    topic, number = partition
    return (31 * (31 + number) + hash_code(topic)) & 0xFFFFFFFF


@overload
def grown_set_order(names: Iterable[str]) -> list[str]: ...
@overload
def grown_set_order(names: Iterable[H], code_of: Callable[[H], int]) -> list[H]: ...
def grown_set_order(names: Iterable[Any], code_of: Callable[[Any], int] = hash_code) -> list[Any]:
    """The order of a HashSet (or the keys of a HashMap) to which names were added one by one.

    The order within a bucket is that of insertion. Buckets of more than eight names in a large
    table become trees in Java, which could change it; names don't collide that often.
    """
    capacity = _MIN_CAPACITY
    added: dict[Any, None] = {}
    buckets: dict[int, list[Any]] = {}
    for name in names:
        if name in added:
            continue
        added[name] = None
        bucket = buckets.setdefault(_spread(code_of(name)) & capacity - 1, [])
        bucket.append(name)
        is_long = len(bucket) > _LONG_BUCKET and capacity < _TREE_CAPACITY
        for grows in (is_long, len(added) > capacity * 3 // 4):
            if grows:
                capacity *= 2
                buckets = _buckets(added, capacity, code_of)
    return _in_order(buckets)


def copied_set_order(names: Iterable[str]) -> list[str]:
    """The order of a HashSet made from a whole collection, which is sized for it beforehand."""
    unique = list(dict.fromkeys(names))
    capacity = _MIN_CAPACITY
    while capacity < int(len(unique) / 0.75) + 1:
        capacity *= 2
    return _in_order(_buckets(unique, capacity, hash_code))


def sized_map_order(names: Iterable[str]) -> list[str]:
    """The order of the keys of a HashMap that was made for as many as were added then."""
    unique = list(dict.fromkeys(names))
    capacity = 1
    while capacity < len(unique):
        capacity *= 2
    if len(unique) > capacity * 3 // 4:
        capacity *= 2
    return _in_order(_buckets(unique, capacity, hash_code))


def _spread(code: int) -> int:
    return code ^ code >> 16


def _buckets(names: Iterable[H], capacity: int, code_of: Callable[[H], int]) -> dict[int, list[H]]:
    buckets: dict[int, list[H]] = {}
    for name in names:
        buckets.setdefault(_spread(code_of(name)) & capacity - 1, []).append(name)
    return buckets


def _in_order(buckets: dict[int, list[H]]) -> list[H]:
    return [name for index in sorted(buckets) for name in buckets[index]]


class BytesHashSet:
    """A set of bytes that is gone through in the order in which a HashSet would be."""

    __slots__ = ("_capacity", "_keys")

    def __init__(self) -> None:
        self._keys: dict[bytes, None] = {}
        self._capacity = _MIN_CAPACITY

    def add(self, key: bytes) -> None:
        self._keys[key] = None
        while len(self._keys) > self._capacity * 3 // 4:
            self._capacity *= 2

    def clear(self) -> None:
        """Forgets the keys, but not the capacity it has grown to."""
        self._keys.clear()

    def __iter__(self) -> Iterator[bytes]:
        if len(self._keys) < 2:
            return iter(self._keys)
        return iter(sorted(self._keys, key=self._bucket))

    def _bucket(self, key: bytes) -> int:
        code = 1
        for byte in key:
            code = (31 * code + (byte if byte < 128 else byte - 256)) & 0xFFFFFFFF
        return (code ^ (code >> 16)) & (self._capacity - 1)


class _Entry(Generic[T]):
    __slots__ = ("black", "children", "item", "parent")

    def __init__(self, item: T, parent: _Entry[T] | None) -> None:
        self.item = item
        self.parent = parent
        self.children: list[_Entry[T] | None] = [None, None]
        self.black = False

    @property
    def side(self) -> int:
        """0 for a left child, 1 for a right one."""
        assert self.parent is not None
        return int(self.parent.children[1] is self)


class TreeSet(Generic[T]):
    """Java's TreeSet, which can only grow: a red-black tree.

    It is needed because the comparison may change between additions. The order then depends on
    the shape of the tree, and no sorting gives it.
    """

    def __init__(self, is_before: Callable[[T, T], bool]) -> None:
        self._is_before = is_before
        self._root: _Entry[T] | None = None

    def add(self, item: T) -> None:
        parent, side = None, 0
        entry = self._root
        while entry is not None:
            if entry.item is item:
                return
            parent, side = entry, int(not self._is_before(item, entry.item))
            entry = entry.children[side]
        added = _Entry(item, parent)
        if parent is None:
            self._root = added
        else:
            parent.children[side] = added
        self._rebalance(added)

    def __iter__(self) -> Iterator[T]:
        stack: list[_Entry[T]] = []
        entry = self._root
        while stack or entry is not None:
            while entry is not None:
                stack.append(entry)
                entry = entry.children[0]
            entry = stack.pop()
            yield entry.item
            entry = entry.children[1]

    def _rebalance(self, entry: _Entry[T]) -> None:
        while (parent := entry.parent) is not None and not parent.black:
            grandparent = parent.parent
            assert grandparent is not None  # the root is black
            side = parent.side
            uncle = grandparent.children[1 - side]
            if uncle is not None and not uncle.black:
                parent.black = uncle.black = True
                grandparent.black = False
                entry = grandparent
                continue
            if entry.side != side:
                self._rotate(parent, side)
                entry, parent = parent, entry
            parent.black = True
            grandparent.black = False
            self._rotate(grandparent, 1 - side)
        assert self._root is not None
        self._root.black = True

    def _rotate(self, entry: _Entry[T], side: int) -> None:
        """Move `entry` down to `side`, and its child of the other side up in its place."""
        riser = entry.children[1 - side]
        assert riser is not None
        if entry.parent is None:
            self._root = riser
        else:
            entry.parent.children[entry.side] = riser
        riser.parent = entry.parent
        inner = riser.children[side]
        entry.children[1 - side] = inner
        if inner is not None:
            inner.parent = entry
        riser.children[side] = entry
        entry.parent = riser
