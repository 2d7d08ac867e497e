"""The record cache: updates of a key are held back, and merged, until the next commit.

All stores of a task share one budget of bytes, counted as Kafka Streams counts them. An update
that goes over it evicts the least recently used entries of the store it is made in. When an evicted
entry has not been written yet, all such entries of that store are written with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from operator import itemgetter
from typing import Any, Final

from headrace.core.record import Header
from headrace.metrics.level import RecordingLevel
from headrace.runtime.context import NO_RECORD, TaskContext
from headrace.runtime.stores.ordered_map import KeyIndex
from headrace.topology.operators import count_up

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

CacheEntry = tuple[
    int, Sequence[Header], "str | None", int, int, "bytes | None", "bytes | None",
    bytes, "bytes | None", Any, int, int, int,
]  # fmt: skip
"""The last update of a key: the registers of the record that made it, then key, raw, value and
timestamp, then when it was made (see `tick`) and how much it takes up.

`raw` None is a deletion. `value` is the value that `raw` was made of, or UNKNOWN. `timestamp` is
the value's own, which only timestamped stores use.

A plain tuple, made anew by every update: the garbage collector looks once at a tuple that has
nothing but bytes and numbers, while it would go through a million objects again and again.
"""

KEY: Final = 7
RAW: Final = 8
VALUE: Final = 9
TIMESTAMP: Final = 10
_UPDATED: Final = 11
_SIZE: Final = 12

_NOT_UPDATED: Final = -1
"""When an entry was made that was only read from the store."""

Write = Callable[[list[CacheEntry]], None]
"""`write(updates)` writes updates out in their order, each with the registers of its record."""


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
        counts = self.context.metrics.records(RecordingLevel.DEBUG)
        kind = CountedStoreCache if counts else StoreCache
        return kind(self, write, key_overhead, value_overhead)


class StoreCache:
    """The cached entries of one store, by store key."""

    __slots__ = (
        "_clean_before", "_context", "_dirty", "_eldest", "_index", "_key_overhead",
        "_ordered_at", "_read", "_shared", "_value_overhead", "_write", "entries", "size",
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
        self._read: dict[bytes, int] = {}
        """When entries were last read, if they were."""
        self._dirty: list[bytes] = []
        """The keys of the entries that were not written yet."""
        self._clean_before = 0
        """Entries that were updated before this `tick` are written."""
        self._eldest: Iterator[CacheEntry] = iter(())
        """The entries that were there at `_ordered_at`, least recently used first."""
        self._ordered_at = 0
        self._index = KeyIndex(self.entries)
        self.size = 0

    def put(self, key: bytes, raw: bytes | None, value: Any, timestamp: int) -> None:
        """Take an update made by the current record. May write entries out, and so forward."""
        context, shared = self._context, self._shared
        topic, headers = context.topic, context.headers
        size = self._key_overhead + len(key)
        if raw is not None:
            size += len(raw) + self._value_overhead
        if topic is not None:
            size += len(topic)
        if headers:
            size += _size_of(headers)
        entry = self.entries.get(key)
        if entry is None:
            growth = size
            self._dirty.append(key)
            if self._index.touched is not None:
                self._index.touched.add(key)
        else:
            key = entry[KEY]
            growth = size - entry[_SIZE]
            if entry[_UPDATED] < self._clean_before:
                self._dirty.append(key)
        offset, record_key, record_value = context.record
        self.entries[key] = (
            context.timestamp, headers, topic, context.partition, offset, record_key, record_value,
            key, raw, value, timestamp, tick(), size,
        )  # fmt: skip
        self.size += growth
        shared.size += growth
        if shared.size > shared.budget:
            self._evict()

    def aggregation(
        self,
        serialize: Callable[[Any], bytes],
        deserialize: Callable[[bytes], Any],
        load: Callable[[bytes], tuple[Any, int] | None],
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        *,
        shares_values: bool = False,
    ) -> Aggregation:
        """Reads a value, aggregates and puts in one step: the whole work of most records.

        `load(store_key)` gives the value and the timestamp that are behind the cache.
        `shares_values`: nobody changes them, whatever their type.
        """
        context, shared, put = self._context, self._shared, self.put
        entries, find = self.entries, self.entries.get
        counts = aggregator is count_up  # most do: they are spared the call
        shares_values = shares_values or counts

        def aggregate(store_key: bytes, key: Any, value: Any, timestamp: int) -> None:
            entry = find(store_key)
            if entry is None:
                found = load(store_key)
                if found is None:
                    old = initializer()
                else:
                    old, latest = found
                    timestamp = max(timestamp, latest)
                new = aggregator(key, value, old)
                raw = None if new is None else serialize(new)
            else:
                _, headers, topic, _, _, _, _, store_key, before, old, latest, updated, size = entry
                if before is None:
                    old = initializer()
                else:
                    if latest > timestamp:
                        timestamp = latest
                    if old is UNKNOWN:
                        old = deserialize(before)
                new = old + 1 if counts else aggregator(key, value, old)
                raw = None if new is None else serialize(new)
                if (
                    before is not None
                    and raw is not None
                    and len(raw) == len(before)
                    and topic is context.topic
                    and not headers
                    and not context.headers
                    and updated >= self._clean_before
                    and shared.size <= shared.budget
                ):
                    # Dirty already, and as large as before: `put` would do no more than this.
                    offset, record_key, record_value = context.record
                    entries[store_key] = (
                        context.timestamp, headers, topic, context.partition,
                        offset, record_key, record_value,
                        store_key, raw,
                        new if shares_values or type(new) in IMMUTABLE else UNKNOWN,
                        timestamp, tick(), size,
                    )  # fmt: skip
                    return
            kept = new if shares_values or type(new) in IMMUTABLE else UNKNOWN
            put(store_key, raw, kept, timestamp)

        return aggregate

    def put_clean(self, key: bytes, raw: bytes, timestamp: int) -> None:
        """Keep what was read from the store, which is not in the cache."""
        size = self._key_overhead + len(key) + len(raw) + self._value_overhead
        self.entries[key] = (*NO_RECORD, key, raw, UNKNOWN, timestamp, _NOT_UPDATED, size)
        self._read[key] = tick()
        if self._index.touched is not None:
            self._index.touched.add(key)
        self.size += size
        self._shared.size += size
        self._evict()

    def get(self, key: bytes) -> CacheEntry | None:
        entry = self.entries.get(key)
        if entry is not None:
            self._read[key] = tick()
        return entry

    def between(
        self, low: bytes | None, high: bytes | None, *, high_inclusive: bool = True
    ) -> list[CacheEntry]:
        """Entries in the order of their keys, deletions included; they count as used."""
        entries, read = self.entries, self._read
        if not entries or (low is not None and high is not None and low > high):
            return []
        found = self._index.between(low, high, high_inclusive=high_inclusive)
        for key in found:
            read[key] = tick()
        return [entries[key] for key in found]

    def flush(self) -> None:
        """Write what was not written yet, in the order of the last updates."""
        if self._dirty:
            before = self.size
            self._flush()
            self._shared.size += self.size - before

    def take_hit_ratio(self) -> float | None:
        """The share of reads since the last call that were answered; None: nobody counts."""
        return None

    def clear(self) -> None:
        self._shared.size -= self.size
        self.size = 0
        self.entries.clear()
        self._read.clear()
        self._dirty.clear()
        self._eldest = iter(())
        self._index.reset()

    def _remove(self, key: bytes) -> CacheEntry:
        entry = self.entries.pop(key)
        self._read.pop(key, None)
        self.size -= entry[_SIZE]
        if self._index.touched is not None:
            self._index.touched.add(key)
        return entry

    def _is_dirty(self, entry: CacheEntry) -> bool:
        return entry[_UPDATED] >= self._clean_before

    def _last_used(self, entry: CacheEntry) -> int:
        return max(entry[_UPDATED], self._read.get(entry[KEY], 0))

    def _evict(self) -> None:
        # Writing forwards, and that may come back here for this store or another one. What such a
        # nested update adds is counted by itself and once more in the difference below: so it is
        # in Kafka Streams, and it decides what else is evicted.
        shared = self._shared
        while shared.size > shared.budget and self.entries:
            before = self.size
            entry = self._remove(self._least_recently_used())
            if self._is_dirty(entry):
                self._flush(entry)
            shared.size += self.size - before

    def _least_recently_used(self) -> bytes:
        # An entry that was used since they were put in order comes after all that were not, so the
        # first one that wasn't is the one. Updates make entries anew.
        find, read = self.entries.get, self._read
        while True:
            for entry in self._eldest:
                key = entry[KEY]
                if find(key) is entry and (not read or read.get(key, 0) < self._ordered_at):
                    return key
            self._ordered_at = tick()
            last_used = self._last_used if read else itemgetter(_UPDATED)
            self._eldest = iter(sorted(self.entries.values(), key=last_used))

    def _flush(self, evicted: CacheEntry | None = None) -> None:
        # The entries are never changed, so these are as they are now: what follows from one update
        # may bring another of the same key.
        entries = self.entries
        updates = [update for update in map(entries.get, self._dirty) if update is not None]
        updates.sort(key=itemgetter(_UPDATED))
        deleted = [update[KEY] for update in updates if update[RAW] is None]
        if evicted is not None:
            updates.insert(0, evicted)
        self._dirty.clear()
        self._clean_before = tick()
        self._write(updates)
        for key in deleted:
            if key in entries and self._is_dirty(self._remove(key)):
                self._dirty.remove(key)


class CountedStoreCache(StoreCache):
    """Counts how many reads it could answer."""

    __slots__ = ("_hits", "_reads")

    def __init__(
        self, shared: RecordCache, write: Write, key_overhead: int, value_overhead: int
    ) -> None:
        super().__init__(shared, write, key_overhead, value_overhead)
        self._hits = self._reads = 0

    def get(self, key: bytes) -> CacheEntry | None:
        entry = super().get(key)
        self._count(entry is not None)
        return entry

    def aggregation(self, *functions: Any, shares_values: bool = False) -> Aggregation:
        aggregate = super().aggregation(*functions, shares_values=shares_values)

        def counted(store_key: bytes, key: Any, value: Any, timestamp: int) -> None:
            self._count(store_key in self.entries)
            aggregate(store_key, key, value, timestamp)

        return counted

    def take_hit_ratio(self) -> float | None:
        hits, reads = self._hits, self._reads
        self._hits = self._reads = 0
        return hits / reads if reads else None

    def _count(self, hit: bool) -> None:
        self._reads += 1
        self._hits += hit


def _size_of(headers: Sequence[Header]) -> int:
    return sum(len(name) + len(value or b"") for name, value in headers)
