"""An ordered map in LMDB, with what was changed since the last commit kept beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from heapq import merge
from itertools import groupby, islice, takewhile
from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple

import lmdb

from headrace.core.errors import StateError
from headrace.runtime.stores.ordered_map import Item, KeyIndex
from headrace.runtime.stores.storage import StorageError

LONGEST_KEY = 511
"""In bytes: what LMDB can take as a key. It takes no empty keys, either."""

DAMAGE = (
    lmdb.BadDbiError,
    lmdb.BadTxnError,
    lmdb.CorruptedError,
    lmdb.IncompatibleError,
    lmdb.InvalidError,
    lmdb.NotFoundError,
    lmdb.PageNotFoundError,
    lmdb.PanicError,
    lmdb.VersionMismatchError,
)
"""What LMDB raises when its file is not as it was written."""

_HASH = 16
_STEM = LONGEST_KEY - _HASH
_EMPTY = b"\0"
_ABSENT = object()
_LENGTH = Struct(">I")

Changed = tuple[bytes, "bytes | None"]
"""A key and its new value; None if it was deleted."""


class Trees(NamedTuple):
    """The databases of a map: that of its plain keys, and that of keys LMDB can't take.

    The second one has `stem ‖ hash` for a long key, and the key itself before the value. Keys with
    the same stem are in no order, and are sorted when they are scanned.
    """

    plain: Any
    odd: Any | None


class LmdbMap:
    """An OrderedMap. Only what was changed since the last commit is in memory.

    A deletion is kept as None, and only if LMDB has the key: deletions of what came and went since
    the last commit would be in the way of every scan.
    """

    __slots__ = (
        "_changes", "_has_deletions", "_index", "_on_damage", "_size", "_snapshot", "_stored_get",
        "_trees", "name",
    )  # fmt: skip

    def __init__(self, name: str, on_damage: Callable[[str], None]) -> None:
        self.name = name
        self._on_damage = on_damage
        self._changes: dict[bytes, bytes | None] = {}
        self._index = KeyIndex(self._changes)
        self._has_deletions = False
        self._size: int | None = None
        """Kept up to date from when it is first asked for until the next commit."""
        self.detach()

    # What TaskState does with it

    def attach(self, snapshot: Any, trees: Trees | None) -> None:
        """Read from now on what a transaction sees. `trees` None: nothing is stored yet."""
        self._snapshot = snapshot
        self._trees = trees
        self._stored_get: Callable[..., bytes | None] = snapshot.get
        self._size = None

    def detach(self) -> None:
        """Make every read an error until the map is attached."""
        self._snapshot = self._trees = None
        self._stored_get = self._out_of_turn

    def forget_changes(self) -> None:
        self._changes.clear()
        self._index.reset()
        self._has_deletions = False
        self._size = None

    @property
    def is_changed(self) -> bool:
        return bool(self._changes)

    @property
    def has_odd_changes(self) -> bool:
        changes = self._changes
        return b"" in changes or max(map(len, changes), default=0) > LONGEST_KEY

    def write(self, transaction: Any, trees: Trees) -> None:
        """Put the changes into the databases, in the order of their keys."""
        changes = self._changes
        keys = sorted(changes)
        if trees.odd is not None:
            self._write_odd(transaction, trees.odd, [key for key in keys if _is_odd(key)])
            keys = [key for key in keys if not _is_odd(key)]
        values: Iterable[bytes | None] = map(changes.__getitem__, keys)
        append = transaction.stat(trees.plain)["entries"] == 0
        if self._has_deletions:
            for key in keys:
                if changes[key] is None:
                    transaction.delete(key, db=trees.plain)
            keys = [key for key in keys if changes[key] is not None]
            values = map(changes.__getitem__, keys)
        transaction.cursor(trees.plain).putmulti(zip(keys, values, strict=True), append=append)

    def _write_odd(self, transaction: Any, tree: Any, keys: list[bytes]) -> None:
        for key in keys:
            value = self._changes[key]
            if value is None:
                transaction.delete(_tree_key(key), db=tree)
            else:
                transaction.put(_tree_key(key), _LENGTH.pack(len(key)) + key + value, db=tree)

    # OrderedMap

    def get(self, key: bytes) -> bytes | None:
        value = self._changes.get(key, _ABSENT)
        if value is not _ABSENT:
            return value  # type: ignore[return-value]
        return self._stored(key)

    def put(self, key: bytes, value: bytes) -> None:
        if self._size is not None and self.get(key) is None:
            self._size += 1
        touched = self._index.touched
        if touched is not None and key not in self._changes:
            touched.add(key)
        self._changes[key] = value

    def delete(self, key: bytes) -> None:
        changes, touched = self._changes, self._index.touched
        if self._size is not None and self.get(key) is not None:
            self._size -= 1
        if self._stored(key) is not None:
            if touched is not None:
                touched.add(key)
            changes[key] = None
            self._has_deletions = True
        elif changes.pop(key, None) is not None and touched is not None:
            touched.add(key)

    def range(
        self,
        low: bytes | None,
        high: bytes | None,
        *,
        high_inclusive: bool = True,
        limit: int | None = None,
    ) -> Iterator[Item]:
        stop = high + b"\0" if high is not None and high_inclusive else high
        if limit is not None:
            return iter(self._first(low, stop, limit))
        return self._scan(low, stop, self._changed(low, stop))

    def reverse_range(self, low: bytes | None, high: bytes | None) -> Iterator[Item]:
        stop = None if high is None else high + b"\0"
        return self._scan(low, stop, self._changed(low, stop, reverse=True), reverse=True)

    def __len__(self) -> int:
        if self._size is None:
            self._size = self._stored_count()
            for key, value in self._changes.items():
                if value is None:
                    self._size -= 1
                elif self._stored(key) is None:
                    self._size += 1
        return self._size

    # How it works

    def _stored(self, key: bytes) -> bytes | None:
        """What LMDB has."""
        trees = self._trees
        if trees is None:
            return self._stored_get(key) if self._snapshot is None else None
        try:
            if 0 < len(key) <= LONGEST_KEY:
                return self._stored_get(key, None, trees[0])
            if trees.odd is None:
                return None
            found = self._stored_get(_tree_key(key), None, trees.odd)
            return None if found is None else _odd_item(found)[1]
        except lmdb.Error as error:
            raise self._failed(error) from error

    def _stored_count(self) -> int:
        if self._trees is None:
            return 0
        try:
            trees = (tree for tree in self._trees if tree is not None)
            return sum(self._snapshot.stat(tree)["entries"] for tree in trees)
        except lmdb.Error as error:
            raise self._failed(error) from error

    def _changed(
        self,
        low: bytes | None,
        stop: bytes | None,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[Changed]:
        changes = self._changes
        if not changes:
            return []
        keys = self._index.between(low, stop, high_inclusive=False, reverse=reverse, limit=limit)
        return [(key, changes[key]) for key in keys]

    def _first(self, low: bytes | None, stop: bytes | None, limit: int) -> list[Item]:
        # Only as many changes are looked at as are needed; some of them may be deletions.
        wanted = limit
        while True:
            changed = self._changed(low, stop, limit=wanted)
            found = self._scan(low, stop, changed)
            if len(changed) < wanted:
                return list(islice(found, limit))
            last = changed[-1][0]
            result = list(islice(takewhile(lambda item: item[0] <= last, found), limit))  # noqa: B023
            if len(result) == limit:
                return result
            wanted *= 4

    def _scan(
        self,
        low: bytes | None,
        stop: bytes | None,
        changed: list[Changed],
        *,
        reverse: bool = False,
    ) -> Iterator[Item]:
        trees = self._trees
        if trees is None:
            if self._snapshot is None:
                self._out_of_turn()
            return iter(changed)  # type: ignore[arg-type]  # nothing is stored, so none is deleted
        items = self._plain_items(trees.plain, low, stop, reverse)
        if trees.odd is not None:
            odd = self._odd_items(trees.odd, low, stop, reverse)
            items = merge(items, odd, key=itemgetter(0), reverse=reverse)
        return _merged(items, changed, reverse) if changed else items

    def _plain_items(
        self, tree: Any, low: bytes | None, stop: bytes | None, reverse: bool
    ) -> Iterator[Item]:
        try:
            cursor = self._snapshot.cursor(tree)
            if reverse:
                if _to_last(cursor, stop):
                    for item in cursor.iterprev():
                        if low is not None and item[0] < low:
                            return
                        yield item
            elif _to_first(cursor, low):
                if stop is None:
                    yield from cursor.iternext()
                    return
                for item in cursor.iternext():
                    if item[0] >= stop:
                        return
                    yield item
        except lmdb.Error as error:
            raise self._failed(error) from error

    def _odd_items(
        self, tree: Any, low: bytes | None, stop: bytes | None, reverse: bool
    ) -> Iterator[Item]:
        first = None if low is None else low[:_STEM]
        last = None if stop is None else stop[:_STEM]
        try:
            cursor = self._snapshot.cursor(tree)
            if reverse:
                found = _to_last(cursor, None if last is None else last + b"\xff" * (_HASH + 1))
                stored = cursor.iterprev()
            else:
                found = _to_first(cursor, first)
                stored = cursor.iternext()
            if not found:
                return
            for stem, group in groupby(stored, lambda item: item[0][:_STEM]):
                if first is not None and stem < first:
                    return
                if last is not None and stem > last:
                    return
                items = [_odd_item(value) for _, value in group]
                for item in sorted(items, reverse=reverse):
                    if (low is None or item[0] >= low) and (stop is None or item[0] < stop):
                        yield item
        except lmdb.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: lmdb.Error) -> Exception:
        if isinstance(error, DAMAGE):
            self._on_damage(f"LMDB can't read map {self.name}: {error}")
            return StorageError(f"Map {self.name} can't be read: {error}. It will be restored.")
        return StateError(
            f"Map {self.name} can't be read: {error} A scan must be over before the next commit."
        )

    def _out_of_turn(self, *_: Any) -> Any:
        raise StateError(f"Map {self.name} is only readable between acquire() and release()")


def _is_odd(key: bytes) -> bool:
    return not 0 < len(key) <= LONGEST_KEY


def _tree_key(key: bytes) -> bytes:
    """Of an odd key: the empty one comes before all others, as none is as short."""
    return key[:_STEM] + blake2b(key, digest_size=_HASH).digest() if key else _EMPTY


def _odd_item(stored: bytes) -> Item:
    end = 4 + _LENGTH.unpack_from(stored)[0]
    return stored[4:end], stored[end:]


def _to_first(cursor: Any, low: bytes | None) -> bool:
    """Move to the first key that is not before `low`; False if there is none."""
    if not low:
        return bool(cursor.first())
    found = bool(cursor.set_range(low[:LONGEST_KEY]))
    if found and len(low) > LONGEST_KEY and cursor.key() < low:
        return bool(cursor.next())
    return found


def _to_last(cursor: Any, stop: bytes | None) -> bool:
    """Move to the last key before `stop`; False if there is none."""
    if stop == b"":
        return False
    if stop is None or not cursor.set_range(stop[:LONGEST_KEY]):
        return bool(cursor.last())
    return cursor.key() < stop or bool(cursor.prev())


def _merged(stored: Iterable[Item], changed: list[Changed], reverse: bool) -> Iterator[Item]:
    """What is stored with what has changed since, both in the order of the scan."""
    changes = iter(changed)
    change = next(changes, None)
    for item in stored:
        key = item[0]
        while change is not None and (change[0] > key if reverse else change[0] < key):
            if change[1] is not None:
                yield change  # type: ignore[misc]
            change = next(changes, None)
        if change is None:
            yield item
        elif change[0] == key:
            if change[1] is not None:
                yield change  # type: ignore[misc]
            change = next(changes, None)
        else:
            yield item
    while change is not None:
        if change[1] is not None:
            yield change  # type: ignore[misc]
        change = next(changes, None)
