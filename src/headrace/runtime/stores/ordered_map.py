"""Where stores keep their entries: an ordered map of bytes to bytes, behind a small port."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Protocol

from sortedcontainers import SortedSet

Item = tuple[bytes, bytes]


class OrderedMap(Protocol):
    """Bytes to bytes, ordered by unsigned key bytes.

    A bound of None is open. A scan sees the map as it was when the scan was asked for, so that
    the caller may change the map while going through it.
    """

    def get(self, key: bytes) -> bytes | None: ...
    def put(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None:
        """Remove the key, if it is there."""
        ...

    def range(
        self,
        low: bytes | None,
        high: bytes | None,
        *,
        high_inclusive: bool = True,
        limit: int | None = None,
    ) -> Iterator[Item]:
        """Entries from `low` (inclusive) to `high`, ascending, at most `limit`."""
        ...

    def reverse_range(self, low: bytes | None, high: bytes | None) -> Iterator[Item]:
        """Entries from `high` down to `low`, both inclusive."""
        ...

    def __len__(self) -> int: ...


class KeyIndex:
    """The keys of a dict in order, brought up to date only when somebody scans.

    The owner tells of every key that it adds or removes (`touched.add(key)`), once `touched` is
    not None: before the first scan there is nothing to keep.
    """

    __slots__ = ("_keys", "_owner", "touched")

    def __init__(self, owner: Collection[bytes]) -> None:
        self._owner = owner
        self._keys: SortedSet | None = None
        self.touched: set[bytes] | None = None

    def reset(self) -> None:
        self._keys = self.touched = None

    def between(
        self,
        low: bytes | None,
        high: bytes | None,
        *,
        high_inclusive: bool = True,
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[bytes]:
        found = self._in_order().irange(low, high, (True, high_inclusive), reverse)
        return list(found if limit is None else islice(found, limit))

    def _in_order(self) -> SortedSet:
        keys, touched, owner = self._keys, self.touched, self._owner
        if keys is None or touched is None or len(touched) * 8 > len(keys):
            self._keys, self.touched = SortedSet(owner), set()
            return self._keys
        for key in touched:
            if key in owner:
                keys.add(key)
            else:
                keys.discard(key)
        touched.clear()
        return keys


class InMemoryOrderedMap:
    """A dict, with an index of its keys that costs nothing until the first scan."""

    __slots__ = ("_entries", "_index", "get")

    def __init__(self) -> None:
        self._entries: dict[bytes, bytes] = {}
        self._index = KeyIndex(self._entries)
        self.get = self._entries.get

    def put(self, key: bytes, value: bytes) -> None:
        touched = self._index.touched
        if touched is not None and key not in self._entries:
            touched.add(key)
        self._entries[key] = value

    def delete(self, key: bytes) -> None:
        if self._entries.pop(key, None) is not None and self._index.touched is not None:
            self._index.touched.add(key)

    def range(
        self,
        low: bytes | None,
        high: bytes | None,
        *,
        high_inclusive: bool = True,
        limit: int | None = None,
    ) -> Iterator[Item]:
        entries = self._entries
        keys = self._index.between(low, high, high_inclusive=high_inclusive, limit=limit)
        return iter([(key, entries[key]) for key in keys])

    def reverse_range(self, low: bytes | None, high: bytes | None) -> Iterator[Item]:
        entries = self._entries
        return iter([(key, entries[key]) for key in self._index.between(low, high, reverse=True)])

    def __len__(self) -> int:
        return len(self._entries)
