"""The record cache: updates of a key are held back, and merged, until the next commit.

All stores of a task share one budget of bytes, counted as Kafka Streams counts them. An update
that goes over it evicts the least recently used entries of the store it is made in. When an evicted
entry has not been written yet, all such entries of that store are written with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from operator import attrgetter
from typing import Any, Final

from headrace.core.record import Header
from headrace.runtime.context import RawRecord, TaskContext
from headrace.runtime.stores.ordered_map import KeyIndex

UNKNOWN: Final = object()
"""Stands in a cache entry for a value that has to be deserialized afresh at every read."""

IMMUTABLE: Final = frozenset((int, str, float, bytes, bool))
"""Types whose values a cache entry may share with its readers."""

_FIXED_SIZE: Final = 24 + 1 + 8 + 8 + 4
"""Of every entry: three references, the dirty flag, timestamp, offset, partition."""

Aggregation = Callable[[bytes, Any, Any, int], None]
"""`aggregate(store_key, key, value, timestamp)`"""

tick = count().__next__
"""Numbers uses and updates of entries, so that they can be put in order when that is needed."""


class CacheEntry:
    """The last update of a key. `raw` None is a deletion.

    `value` is the value that `raw` was made of, or UNKNOWN. `timestamp` is the value's own, which
    only timestamped stores use. `used` and `updated` tell when that was last (see `tick`). The
    registers of the update are kept with it, `record_timestamp` and those that follow. A `plain`
    entry is dirty, no deletion, and has no headers.
    """

    __slots__ = (
        "dirty", "headers", "key", "key_size", "partition", "plain", "raw", "raw_size", "record",
        "record_timestamp", "size", "timestamp", "topic", "updated", "used", "value",
    )  # fmt: skip

    def __init__(self, key: bytes, key_size: int) -> None:
        self.key = key
        self.key_size = key_size
        self.raw: bytes | None = None
        self.value: Any = UNKNOWN
        self.timestamp = 0
        self.dirty = False
        self.plain = False
        self.raw_size = 0
        self.size = 0
        self.used = 0
        self.updated = 0
        self.record_timestamp: int
        self.headers: Sequence[Header]
        self.topic: str | None
        self.partition: int
        self.record: RawRecord

    def update(self) -> Update:
        return (
            self.record_timestamp,
            self.headers,
            self.topic,
            self.partition,
            self.record,
            self.key,
            self.raw,
            self.value,
            self.timestamp,
        )


Update = tuple[int, Sequence[Header], "str | None", int, RawRecord, bytes, "bytes | None", Any, int]
"""The registers of the record that made an update, then key, raw, value and timestamp."""

Write = Callable[[bytes, "bytes | None", Any, int], None]
"""`write(key, raw, value, timestamp)` writes an update out; the registers are those of the record
that made it."""


class RecordCache:
    """The budget that the caches of a task's stores share."""

    __slots__ = ("budget", "context", "size")

    def __init__(self, budget: int, context: TaskContext) -> None:
        self.budget = budget
        self.context = context
        self.size = 0

    def of_store(
        self, write: Write, *, key_overhead: int = 0, value_overhead: int = 0
    ) -> StoreCache:
        """A new cache. The overheads are what each key and each value take up beyond the bytes
        that `put` is given, such as the timestamp of a value."""
        return StoreCache(self, write, key_overhead, value_overhead)


class StoreCache:
    """The cached entries of one store, by store key.

    Who reads `entries` directly marks what it finds as used: `entry.used = tick()`.
    """

    __slots__ = (
        "_context", "_dirty", "_eldest", "_index", "_key_overhead", "_shared", "_value_overhead",
        "_write", "entries", "size",
    )  # fmt: skip

    def __init__(
        self, shared: RecordCache, write: Write, key_overhead: int, value_overhead: int
    ) -> None:
        self._shared = shared
        self._context = shared.context
        self._write = write
        self._key_overhead = _FIXED_SIZE + key_overhead
        self._value_overhead = value_overhead
        self.entries: dict[bytes, CacheEntry] = {}
        self._dirty: list[CacheEntry] = []
        self._eldest: Iterator[tuple[int, CacheEntry]] = iter(())
        self._index = KeyIndex(self.entries)
        self.size = 0

    def put(self, key: bytes, raw: bytes | None, value: Any, timestamp: int) -> None:
        """Take an update made by the current record. May write entries out, and so forward."""
        context, shared = self._context, self._shared
        topic, headers = context.topic, context.headers
        entry = self.entries.get(key)
        if entry is None:
            entry = self._insert(key)
        if not entry.dirty:
            entry.dirty = True
            self._dirty.append(entry)
        entry.used = entry.updated = tick()
        entry.raw = raw
        entry.value = value
        entry.timestamp = timestamp
        entry.record_timestamp = context.timestamp
        entry.headers = headers
        entry.topic = topic
        entry.partition = context.partition
        entry.record = context.record
        size = entry.key_size
        if raw is not None:
            entry.raw_size = len(raw)
            size += entry.raw_size + self._value_overhead
        if topic is not None:
            size += len(topic)
        if headers:
            size += _size_of(headers)
        entry.plain = raw is not None and not headers
        if size != entry.size:
            self.size += size - entry.size
            shared.size += size - entry.size
            entry.size = size
        if shared.size > shared.budget:
            self._evict()

    def aggregation(
        self,
        serialize: Callable[[Any], bytes],
        read: Callable[[bytes], tuple[Any, int] | None],
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
    ) -> Aggregation:
        """Reads a value, aggregates and puts in one step: the whole work of most records.

        `read(store_key)` gives what is behind the cache, or has no shared value in it.
        """
        context, find, put = self._context, self.entries.get, self.put

        def aggregate(store_key: bytes, key: Any, value: Any, timestamp: int) -> None:
            entry = find(store_key)
            if entry is None or entry.value is UNKNOWN:
                found = read(store_key)
                if found is None:
                    old = initializer()
                else:
                    old, latest = found
                    timestamp = max(timestamp, latest)
                new = aggregator(key, value, old)
            else:
                if entry.timestamp > timestamp:
                    timestamp = entry.timestamp
                old = entry.value
                new = aggregator(key, value, old)
                if entry.plain and type(new) is type(old) and not context.headers:
                    raw = serialize(new)
                    if len(raw) == entry.raw_size and entry.topic is context.topic:
                        # As large as before: `put` would account for nothing.
                        entry.used = entry.updated = tick()
                        entry.raw = raw
                        entry.value = new
                        entry.timestamp = timestamp
                        entry.record_timestamp = context.timestamp
                        entry.partition = context.partition
                        entry.record = context.record
                        return
            shared = new if type(new) in IMMUTABLE else UNKNOWN
            put(store_key, None if new is None else serialize(new), shared, timestamp)

        return aggregate

    def put_clean(self, key: bytes, raw: bytes, timestamp: int) -> None:
        """Keep what was read from the store, which is not in the cache."""
        entry = self._insert(key)
        entry.used = tick()
        entry.raw = raw
        entry.timestamp = timestamp
        entry.size = entry.key_size + len(raw) + self._value_overhead
        self.size += entry.size
        self._shared.size += entry.size
        self._evict()

    def get(self, key: bytes) -> CacheEntry | None:
        entry = self.entries.get(key)
        if entry is not None:
            entry.used = tick()
        return entry

    def between(
        self, low: bytes | None, high: bytes | None, *, high_inclusive: bool = True
    ) -> list[CacheEntry]:
        """Entries in the order of their keys, deletions included; they count as used."""
        entries = self.entries
        if not entries or (low is not None and high is not None and low > high):
            return []
        found = [
            entries[key] for key in self._index.between(low, high, high_inclusive=high_inclusive)
        ]
        for entry in found:
            entry.used = tick()
        return found

    def flush(self) -> None:
        """Write what was not written yet, in the order of the last updates."""
        if self._dirty:
            before = self.size
            self._flush()
            self._shared.size += self.size - before

    def clear(self) -> None:
        self._shared.size -= self.size
        self.size = 0
        self.entries.clear()
        self._dirty.clear()
        self._eldest = iter(())
        self._index.reset()

    def _insert(self, key: bytes) -> CacheEntry:
        entry = self.entries[key] = CacheEntry(key, self._key_overhead + len(key))
        if self._index.touched is not None:
            self._index.touched.add(key)
        return entry

    def _remove(self, entry: CacheEntry) -> None:
        del self.entries[entry.key]
        self.size -= entry.size
        if self._index.touched is not None:
            self._index.touched.add(entry.key)

    def _evict(self) -> None:
        # Writing forwards, and that may come back here for this store or another one. What such a
        # nested update adds is counted by itself and once more in the difference below: so it is
        # in Kafka Streams, and it decides what else is evicted.
        shared = self._shared
        while shared.size > shared.budget and self.entries:
            before = self.size
            entry = self._least_recently_used()
            self._remove(entry)
            if entry.dirty:
                self._flush(entry)
            shared.size += self.size - before

    def _least_recently_used(self) -> CacheEntry:
        # The queue is in order as of when it was made. An entry that was used since then comes
        # after all that were not, so the first one that wasn't is the one.
        while True:
            for used, entry in self._eldest:
                if entry.used == used and self.entries.get(entry.key) is entry:
                    return entry
            in_order = sorted(self.entries.values(), key=attrgetter("used"))
            self._eldest = iter([(entry.used, entry) for entry in in_order])

    def _flush(self, evicted: CacheEntry | None = None) -> None:
        entries = sorted(self._dirty, key=attrgetter("updated"))
        self._dirty.clear()
        if evicted is not None:
            entries.remove(evicted)
        deleted = [entry.key for entry in entries if entry.raw is None]
        if evicted is not None:
            entries.insert(0, evicted)
        # As they are now: what follows from one update may bring another of the same key.
        updates = [e.update() for e in entries]
        for entry in entries:
            entry.dirty = entry.plain = False
        self._write_out(updates)
        for key in deleted:
            entry_now = self.entries.get(key)
            if entry_now is not None:
                self._remove(entry_now)
                if entry_now.dirty:
                    self._dirty.remove(entry_now)

    def _write_out(self, updates: list[Update]) -> None:
        context, write = self._context, self._write
        before = context.snapshot()
        try:
            for (
                context.timestamp,
                context.headers,
                context.topic,
                context.partition,
                context.record,
                key,
                raw,
                value,
                timestamp,
            ) in updates:
                write(key, raw, value, timestamp)
        finally:
            context.restore(before)


def _size_of(headers: Sequence[Header]) -> int:
    return sum(len(name) + len(value or b"") for name, value in headers)
