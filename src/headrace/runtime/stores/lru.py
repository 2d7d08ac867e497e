"""A map that forgets what was not used for the longest time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

from headrace.runtime.stores.ordered_map import Item


class LruMap:
    """An OrderedMap of at most `max_entries`; `on_evict(key)` is told what it forgets."""

    def __init__(self, max_entries: int, on_evict: Callable[[bytes], None]) -> None:
        self._max_entries = max_entries
        self._on_evict = on_evict
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()

    def get(self, key: bytes) -> bytes | None:
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_entries:
            eldest = next(iter(self._entries))
            self._on_evict(eldest)
            del self._entries[eldest]

    def delete(self, key: bytes) -> None:
        self._entries.pop(key, None)

    def range(
        self,
        low: bytes | None,
        high: bytes | None,
        *,
        high_inclusive: bool = True,
        limit: int | None = None,
    ) -> Iterator[Item]:
        found = [
            item
            for item in sorted(self._entries.items())
            if (low is None or item[0] >= low)
            and (high is None or item[0] < high or (high_inclusive and item[0] == high))
        ]
        return iter(found[:limit])

    def reverse_range(self, low: bytes | None, high: bytes | None) -> Iterator[Item]:
        return reversed(list(self.range(low, high)))

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        self._entries.clear()
