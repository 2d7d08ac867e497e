"""Stores of keys and values that may be cached."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import Any

from headrace.core.errors import NullArgumentError
from headrace.core.record import NO_HEADERS, Header, ValueAndTimestamp
from headrace.runtime.stores.cache import (
    RAW,
    TIMESTAMP,
    UNKNOWN,
    VALUE,
    Aggregation,
    CacheEntry,
    StoreCache,
)
from headrace.runtime.stores.environment import StoreEnvironment
from headrace.runtime.stores.ordered_map import Item
from headrace.runtime.stores.store import FlushListener, Store
from headrace.serde.primitive import without_lookup
from headrace.topology.stores import StoreSpec

_TIMESTAMP = Struct(">q")
_pack_timestamp, _unpack_timestamp = _TIMESTAMP.pack, _TIMESTAMP.unpack_from


class CachedStore(Store):
    """Keys and values, with the store's cache if it has one.

    A value is known in three forms: as it is, `raw` (its bytes alone) and `stored` (the bytes in
    the store, which may have a timestamp before them). Below the cache, a subclass says how
    entries are read and written.
    """

    _stored_overhead = 0
    """How much longer the stored form is than the raw one."""
    _timestamped = False
    """Whether values have timestamps of their own."""
    _logs_headers = False
    """Whether the changelog has the headers of all records, not only of deletions."""

    def __init__(
        self,
        spec: StoreSpec,
        environment: StoreEnvironment,
        *,
        keeps_headers: bool = False,
        key_overhead: int = 0,
    ) -> None:
        super().__init__(spec, environment)
        key_serde = environment.resolve_serde(spec.key_serde, "key")
        value_serde = environment.resolve_serde(spec.value_serde, "value")
        self.serialize_key, self._deserialize_key = key_serde.serialize, key_serde.deserialize
        self._serialize = without_lookup(value_serde.serialize)
        self._deserialize = value_serde.deserialize
        self._shares_values = getattr(value_serde, "immutable", False)
        self.keeps_headers = keeps_headers
        self._listener: FlushListener | None = None
        self._send_old_values = False
        self._cache: StoreCache | None = None
        if spec.caching and environment.cache.budget > 0:
            self._cache = environment.cache.of_store(
                self._write_behind,
                key_overhead=key_overhead,
                value_overhead=self._stored_overhead + keeps_headers,
            )

    def flush(self) -> None:
        if self._cache is not None:
            self._cache.flush()

    def close(self) -> None:
        super().close()
        if self._cache is not None:
            self._cache.clear()

    def set_flush_listener(self, listener: FlushListener, send_old_values: bool) -> bool:
        if self._cache is None:
            return False
        self._listener, self._send_old_values = listener, send_old_values
        return True

    def take_hit_ratio(self) -> float | None:
        """The share of reads since the last call that the cache could answer, if it counts them."""
        return None if self._cache is None else self._cache.take_hit_ratio()

    # Values, where they have no timestamp

    def _stored(self, raw: bytes, timestamp: int) -> bytes:
        return raw

    def _stored_behind(self, raw: bytes, timestamp: int) -> bytes:
        """The stored form below the cache."""
        return self._stored(raw, timestamp)

    def _decoded(self, stored: bytes) -> Any:
        return self._deserialize(stored)

    def _encoded(self, value: Any) -> tuple[bytes | None, int]:
        """The raw value and its timestamp."""
        return (None if value is None else self._serialize(value)), 0

    def _result_timestamp(self, key: bytes, raw: bytes | None, timestamp: int) -> int:
        """The timestamp that the flush listener is told."""
        return timestamp if raw is not None and self._timestamped else self._context.timestamp

    # Keys

    def _raw_key(self, key: Any) -> bytes:
        if key is None:
            raise NullArgumentError(f"A key of store {self.name} can't be None")
        return self.serialize_key(key)

    def _raw_bounds(self, low: Any, high: Any) -> tuple[bytes | None, bytes | None]:
        """Of a range, in which None is unbounded."""
        return (
            None if low is None else self.serialize_key(low),
            None if high is None else self.serialize_key(high),
        )

    # Below the cache, by store key

    @abstractmethod
    def _read_behind(self, key: bytes) -> bytes | None:
        """The stored value."""

    def _load(self, key: bytes) -> bytes | None:
        """The stored value of a key that is not in the cache."""
        return self._read_behind(key)

    @abstractmethod
    def _write_through(self, key: bytes, raw: bytes | None, timestamp: int) -> None:
        """Change the entry, and log it."""

    @abstractmethod
    def _key_of(self, key: bytes) -> Any:
        """What the flush listener is told as key."""

    def _log_value(self, key: bytes, raw: bytes | None, timestamp: int) -> None:
        if self._log is None:
            return
        context = self._context
        headers: Sequence[Header] = NO_HEADERS
        if self._logs_headers or (raw is None and self.keeps_headers):
            headers = context.headers
        if raw is None or not self._timestamped:
            timestamp = context.timestamp
        self._log(self.name, key, raw, timestamp, headers)

    def _stored_entry(self, entry: CacheEntry) -> bytes | None:
        raw = entry[RAW]
        return None if raw is None else self._stored(raw, entry[TIMESTAMP])

    def _write_behind(self, updates: list[CacheEntry]) -> None:
        """Updates leave the cache: write and forward them."""
        context, listener, send_old_values = self._context, self._listener, self._send_old_values
        read, write, key_of = self._read_behind, self._write_through, self._key_of
        deserialize, overhead = self._deserialize, self._stored_overhead
        result_timestamp = self._result_timestamp
        before = context.snapshot()
        try:
            for (
                context.timestamp, context.headers, context.topic, context.partition,
                offset, record_key, record_value, key, raw, value, timestamp, _, _,
            ) in updates:  # fmt: skip
                context.record = offset, record_key, record_value
                old: Any = None
                if listener is not None and (raw is None or send_old_values):
                    old = read(key)
                    if raw is None and old is None:
                        continue
                write(key, raw, timestamp)
                if listener is None:
                    continue
                if raw is None:
                    value = None
                elif value is UNKNOWN:
                    value = deserialize(raw)
                if old is not None:
                    old = deserialize(old[overhead:]) if send_old_values else None
                listener(key_of(key), value, old, result_timestamp(key, raw, timestamp))
        finally:
            context.restore(before)


class TimestampedValues(CachedStore):
    """Values are ValueAndTimestamp; the changelog has the timestamps as those of its records."""

    _stored_overhead = 8
    _timestamped = True

    def __init__(self, spec: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(spec, *arguments, **options)
        self._forgets_timestamps = getattr(spec, "forgets_timestamps", False)

    def _stored_behind(self, raw: bytes, timestamp: int) -> bytes:
        return _pack_timestamp(-1 if self._forgets_timestamps else timestamp) + raw

    def _stored(self, raw: bytes, timestamp: int) -> bytes:
        return _pack_timestamp(timestamp) + raw

    def _decoded(self, stored: bytes) -> ValueAndTimestamp:
        return ValueAndTimestamp(self._deserialize(stored[8:]), _unpack_timestamp(stored)[0])

    def _encoded(self, value: ValueAndTimestamp | None) -> tuple[bytes | None, int]:
        if value is None or value[0] is None:
            return None, 0
        return self._serialize(value[0]), value[1]

    def aggregation(
        self, initializer: Callable[[], Any], aggregator: Callable[[Any, Any, Any], Any]
    ) -> Aggregation:
        """Aggregates in one step, by store key: `serialize_key(key)`, in a window store followed by
        its `key_suffix`. Only for a store that is cached."""
        assert self._cache is not None
        return self._cache.aggregation(
            self._serialize,
            self._deserialize,
            self._load_value,
            initializer,
            aggregator,
            shares_values=self._shares_values,
        )

    def _read_value(self, key: bytes) -> tuple[Any, int] | None:
        """The value and its timestamp, by store key."""
        entry = None if self._cache is None else self._cache.get(key)
        if entry is None:
            return self._load_value(key)
        raw, value = entry[RAW], entry[VALUE]
        if raw is None:
            return None
        return self._deserialize(raw) if value is UNKNOWN else value, entry[TIMESTAMP]

    def _load_value(self, key: bytes) -> tuple[Any, int] | None:
        """The same, if it is not in the cache."""
        stored = self._load(key)
        if stored is None:
            return None
        return self._deserialize(stored[8:]), _unpack_timestamp(stored)[0]


Scanned = tuple[bytes, "bytes | None"]
"""A store key and what is stored there. None: a deletion that is still in the cache."""


def merged(
    cached: Iterable[Scanned],
    stored: Iterable[Item],
    order: Callable[[bytes], Any],
    *,
    forward: bool,
) -> list[Scanned]:
    """What a cache and the store behind it have, each already in the order of the scan.

    A deletion in the cache hides the entry of the store. As in Kafka Streams that is made for
    forward scans: in a backward one, a deletion may itself come out, or be passed before the entry
    which it should hide.
    """
    behind, result = deque(stored), list[Scanned]()
    held_back = deque(cached)
    while held_back or behind:
        if not held_back or not behind:
            result += behind or (entry for entry in held_back if entry[1] is not None)
            break
        in_cache, in_store = order(held_back[0][0]), order(behind[0][0])
        if in_cache == in_store:
            behind.popleft()
        if held_back[0][1] is None and in_cache <= in_store:
            held_back.popleft()
        elif in_cache == in_store or (in_cache < in_store) == forward:
            result.append(held_back.popleft())
        else:
            result.append(behind.popleft())
    return result
