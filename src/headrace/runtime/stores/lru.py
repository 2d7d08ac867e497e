"""A map that forgets what was not used for the longest time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct

from headrace.runtime.stores.ordered_map import Item
from headrace.runtime.stores.storage import Storage

_pack_use = Struct(">Q").pack


class LruMap:
    """An OrderedMap of at most `max_entries`; `on_evict(key)` is told what it forgets.

    Uses are numbered. An entry has the number of its last use before its value, and a second map
    has the keys by those numbers.
    """

    def __init__(
        self, name: str, max_entries: int, storage: Storage, on_evict: Callable[[bytes], None]
    ) -> None:
        self._max_entries = max_entries
        self._on_evict = on_evict
        self._entries = storage.map(name)
        self._by_use = storage.map(f"{name}/by-use")
        remembered = storage.facts(name)
        self._uses = remembered.get("uses", 0)
        self._count = remembered.get("entries", 0)
        self._eldest = b""
        """No entry was last used before this."""

    def facts(self) -> dict[str, int]:
        return {"uses": self._uses, "entries": self._count}

    def get(self, key: bytes) -> bytes | None:
        stored = self._entries.get(key)
        if stored is None:
            return None
        value = stored[8:]
        self._by_use.delete(stored[:8])
        self._use(key, value)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        before = self._entries.get(key)
        if before is None:
            self._count += 1
        else:
            self._by_use.delete(before[:8])
        self._use(key, value)
        if self._count > self._max_entries:
            self._eldest, eldest = next(self._by_use.range(self._eldest, None, limit=1))
            self._on_evict(eldest)
            self.delete(eldest)

    def delete(self, key: bytes) -> None:
        stored = self._entries.get(key)
        if stored is not None:
            self._count -= 1
            self._by_use.delete(stored[:8])
            self._entries.delete(key)

    def range(
        self,
        low: bytes | None,
        high: bytes | None,
        *,
        high_inclusive: bool = True,
        limit: int | None = None,
    ) -> Iterator[Item]:
        items = self._entries.range(low, high, high_inclusive=high_inclusive, limit=limit)
        return ((key, stored[8:]) for key, stored in items)

    def reverse_range(self, low: bytes | None, high: bytes | None) -> Iterator[Item]:
        return ((key, stored[8:]) for key, stored in self._entries.reverse_range(low, high))

    def __len__(self) -> int:
        return self._count

    def _use(self, key: bytes, value: bytes) -> None:
        self._uses += 1
        use = _pack_use(self._uses)
        self._by_use.put(use, key)
        self._entries.put(key, use + value)
