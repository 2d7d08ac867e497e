"""Key-value stores: plain, and with the timestamp of each value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any

from headrace.core.errors import require
from headrace.core.record import ValueAndTimestamp
from headrace.runtime.stores.cache import IMMUTABLE, KEY, UNKNOWN
from headrace.runtime.stores.cached import CachedStore, Scanned, TimestampedValues, merged
from headrace.runtime.stores.environment import Logged, StoreEnvironment
from headrace.runtime.stores.lru import LruMap
from headrace.runtime.stores.ordered_map import Item, OrderedMap
from headrace.serde.serde import Serde
from headrace.topology.stores import Backend, KeyValueStoreSpec, StoreSpec

_unpack_timestamp = Struct(">q").unpack_from


class KeyValueStore(CachedStore):
    """Keys to values, scanned in the order of unsigned key bytes. A value of None deletes."""

    def __init__(
        self, spec: StoreSpec, environment: StoreEnvironment, *, keeps_headers: bool = False
    ) -> None:
        super().__init__(spec, environment, keeps_headers=keeps_headers)
        self._restoring = False
        self._entries = self._make_map(spec, environment)

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        stored = self._read(self._raw_key(key))
        return None if stored is None else self._decoded(stored)

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key; None deletes it."""
        self._update(self._raw_key(key), value)

    def put_if_absent(self, key: Any, value: Any) -> Any:
        """The value that was there, which then stays, or None."""
        raw_key = self._raw_key(key)
        stored = self._read(raw_key)
        if stored is None:
            self._update(raw_key, value)
            return None
        return self._decoded(stored)

    def put_all(self, entries: Iterable[tuple[Any, Any]]) -> None:
        """Put all entries, in their order."""
        updates = [(self._raw_key(key), *self._encoded(value)) for key, value in entries]
        if self._cache is not None:
            for raw_key, raw, timestamp in updates:
                self._cache.put(raw_key, raw, UNKNOWN, timestamp)
            return
        for raw_key, raw, timestamp in updates:
            self._write_entry(raw_key, raw, timestamp)
        for raw_key, raw, timestamp in updates:
            self._log_value(raw_key, raw, timestamp)

    def delete(self, key: Any) -> Any:
        """The value that was there, or None."""
        raw_key = self._raw_key(key)
        stored = self._read(raw_key)
        self._update(raw_key, None)
        return None if stored is None else self._decoded(stored)

    def range(self, low: Any, high: Any) -> Iterator[tuple[Any, Any]]:
        """Both bounds are inclusive; None is unbounded. Nothing if `low` comes after `high`."""
        return self.scan(*self._raw_bounds(low, high))

    def reverse_range(self, low: Any, high: Any) -> Iterator[tuple[Any, Any]]:
        """As `range`, but descending."""
        return self.scan(*self._raw_bounds(low, high), reverse=True)

    def all(self) -> Iterator[tuple[Any, Any]]:
        """All entries, ascending."""
        return self.scan(None, None)

    def reverse_all(self) -> Iterator[tuple[Any, Any]]:
        """All entries, descending."""
        return self.scan(None, None, reverse=True)

    def prefix_scan(
        self, prefix: Any, serializer: Serde[Any] | Callable[[Any], bytes]
    ) -> Iterator[tuple[Any, Any]]:
        """Entries whose key bytes begin with those that `serializer` makes of `prefix`."""
        require(prefix, "prefix")
        require(serializer, "serializer")
        serialize = serializer.serialize if isinstance(serializer, Serde) else serializer
        low = serialize(prefix)
        return self.scan(low, after_prefix(low), high_inclusive=False)

    def scan(
        self,
        low: bytes | None,
        high: bytes | None,
        *,
        high_inclusive: bool = True,
        reverse: bool = False,
    ) -> Iterator[tuple[Any, Any]]:
        """As `range`, between the bytes of keys. Backwards, `high` is always inclusive."""
        if low is not None and high is not None and low > high:
            return iter(())
        items = self._items(low, high, high_inclusive=high_inclusive, reverse=reverse)
        key_of, decoded = self._deserialize_key, self._decoded
        return ((key_of(key), None if stored is None else decoded(stored)) for key, stored in items)

    def approximate_num_entries(self) -> int:
        """Without what is still in the cache."""
        return len(self._entries)

    def facts(self) -> dict[str, int]:
        return self._entries.facts() if isinstance(self._entries, LruMap) else {}

    def restore(self, records: Iterable[Logged]) -> None:
        """Apply records of the changelog."""
        self._restoring = True
        for key, value, timestamp, _ in records:
            if value is None:
                self._entries.delete(key)
            else:
                self._entries.put(key, self._stored_behind(value, timestamp or 0))
        self._restoring = False

    # Through the cache

    def _read(self, raw_key: bytes) -> bytes | None:
        cache = self._cache
        if cache is None:
            return self._entries.get(raw_key)
        entry = cache.get(raw_key)
        if entry is not None:
            return self._stored_entry(entry)
        return self._load(raw_key)

    def _load(self, key: bytes) -> bytes | None:
        """What is read is kept in the cache."""
        stored = self._entries.get(key)
        if stored is not None and self._cache is not None:
            overhead = self._stored_overhead
            timestamp = _unpack_timestamp(stored)[0] if overhead else 0
            self._cache.put_clean(key, stored[overhead:], timestamp)
        return stored

    def _update(self, raw_key: bytes, value: Any) -> None:
        raw, timestamp = self._encoded(value)
        if self._cache is None:
            self._write_through(raw_key, raw, timestamp)
        else:
            self._cache.put(raw_key, raw, UNKNOWN, timestamp)

    def _items(
        self, low: bytes | None, high: bytes | None, *, high_inclusive: bool, reverse: bool
    ) -> Iterator[Scanned]:
        cached = (
            self._cache.between(low, high, high_inclusive=high_inclusive) if self._cache else []
        )
        behind: Iterator[Item]
        if reverse:
            behind = self._entries.reverse_range(low, high)
            cached.reverse()
        else:
            behind = self._entries.range(low, high, high_inclusive=high_inclusive)
        if not cached:
            return behind
        held_back = ((entry[KEY], self._stored_entry(entry)) for entry in cached)
        return iter(merged(held_back, behind, _as_it_is, forward=not reverse))

    # Below the cache

    def _make_map(self, spec: StoreSpec, environment: StoreEnvironment) -> OrderedMap:
        if isinstance(spec, KeyValueStoreSpec) and spec.backend is Backend.LRU:
            return LruMap(spec.name, spec.max_entries or 0, environment.storage, self._log_eviction)
        return environment.storage.map(spec.name)

    def _log_eviction(self, key: bytes) -> None:
        if not self._restoring:
            self._log_plain(key, None)

    def _read_behind(self, key: bytes) -> bytes | None:
        return self._entries.get(key)

    def _write_through(self, key: bytes, raw: bytes | None, timestamp: int) -> None:
        if raw is None:
            self._entries.delete(key)
        else:
            self._entries.put(key, self._stored_behind(raw, timestamp))
        self._log_value(key, raw, timestamp)

    def _write_entry(self, key: bytes, raw: bytes | None, timestamp: int) -> None:
        if raw is None:
            self._entries.delete(key)
        else:
            self._entries.put(key, self._stored_behind(raw, timestamp))

    def _key_of(self, key: bytes) -> Any:
        return self._deserialize_key(key)


class TimestampedKeyValueStore(TimestampedValues, KeyValueStore):
    """Values are ValueAndTimestamp; the changelog has the timestamps as those of its records.

    `get_value` and `put_value` are the short way for operators: they take and give the value and
    its timestamp as they are.
    """

    def get(self, key: Any) -> ValueAndTimestamp | None:
        """The value of a key with its timestamp, or None."""
        found = self.get_value(key)
        return None if found is None else ValueAndTimestamp(*found)

    def get_value(self, key: Any) -> tuple[Any, int] | None:
        """(value, timestamp), or None."""
        return self._read_value(self._raw_key(key))

    def put_value(self, key: Any, value: Any, timestamp: int) -> None:
        """A value of None deletes."""
        raw_key = self._raw_key(key)
        raw = None if value is None else self._serialize(value)
        if self._cache is None:
            self._write_through(raw_key, raw, timestamp)
        else:
            shares = self._shares_values or type(value) in IMMUTABLE
            shared = value if shares else UNKNOWN
            self._cache.put(raw_key, raw, shared, timestamp)

    def put(self, key: Any, value: ValueAndTimestamp | None) -> None:
        """Set the value of a key with its timestamp; None deletes it."""
        if value is None:
            self.put_value(key, None, 0)
        else:
            self.put_value(key, *value)


class SubscriptionStore(TimestampedKeyValueStore):
    """The subscriptions of a foreign-key join. Its changelog keeps the headers of the records."""

    _logs_headers = True

    def prefix_scan(
        self, prefix: Any, serializer: Serde[Any] | Callable[[Any], bytes] = bytes
    ) -> Iterator[tuple[Any, Any]]:
        """Entries whose key bytes begin with `prefix`, which is bytes."""
        return super().prefix_scan(prefix, serializer)


def _as_it_is(key: bytes) -> bytes:
    return key


def after_prefix(prefix: bytes) -> bytes | None:
    """The first key after all that begin with `prefix`; None if there is no such key."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else None
