"""The buffer of a suppression."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any

from headrace.core.errors import require
from headrace.core.hash_order import BytesHashSet
from headrace.core.record import NO_HEADERS, Change, ValueAndTimestamp
from headrace.runtime.context import RecordContext
from headrace.runtime.stores.buffer import (
    NO_TIMESTAMP,
    Eviction,
    OnEviction,
    Predicate,
    origin_of,
    registers_of,
)
from headrace.runtime.stores.environment import Logged, StoreEnvironment
from headrace.runtime.stores.store import Store
from headrace.serde.buffer import (
    CHANGELOG_HEADERS,
    BufferValue,
    Origin,
    read_changelog_value,
    resident_size,
    write_changelog_value,
)
from headrace.topology.stores import SuppressBufferSpec


class SuppressBuffer(Store):
    """The last update of each key, by the time at which the key entered the buffer.

    The changelog is written at the commit: one record for each key that has changed since.
    """

    def __init__(self, spec: SuppressBufferSpec, environment: StoreEnvironment) -> None:
        super().__init__(spec, environment)
        key_serde = environment.resolve_serde(spec.key_serde, "key")
        value_serde = environment.resolve_serde(spec.value_serde, "value")
        self._serialize_key, self._deserialize_key = key_serde.serialize, key_serde.deserialize
        self._serialize, self._deserialize = value_serde.serialize, value_serde.deserialize
        self._entries: dict[bytes, tuple[int, BufferValue]] = {}
        self._queue: list[tuple[int, bytes]] = []
        """By time, then key. Entries that are gone stay until it is their turn."""
        self._dirty = BytesHashSet()
        self.buffer_size = 0

    @property
    def num_records(self) -> int:
        return len(self._entries)

    @property
    def min_timestamp(self) -> int:
        """The time of the oldest entry; LONG_MAX if the buffer is empty."""
        queue = self._queue
        while queue:
            time, key = queue[0]
            entry = self._entries.get(key)
            if entry is not None and entry[0] == time:
                return time
            heappop(queue)
        return NO_TIMESTAMP

    def put(self, time: int, key: Any, change: Change, registers: RecordContext) -> None:
        """An update of a key that is in the buffer keeps the key's time."""
        require(change, "change")
        raw_key = self._serialize_key(key)
        old, new = self._raw(change.old), self._raw(change.new)
        buffered = self._entries.get(raw_key)
        prior = old if buffered is None else buffered[1].prior
        self._set(time, raw_key, BufferValue(prior, old, new, origin_of(registers)))
        self._dirty.add(raw_key)

    def evict_while(self, predicate: Predicate, callback: OnEviction) -> None:
        """Take entries out, oldest first, for as long as `predicate()` says. The callback is
        called while its entry is still counted."""
        if not predicate():
            return
        while self.min_timestamp != NO_TIMESTAMP and predicate():
            _, raw_key = self._queue[0]
            value = self._entries[raw_key][1]
            change = Change(self._value(value.new), self._value(value.old))
            callback(Eviction(self._deserialize_key(raw_key), change, registers_of(value.origin)))
            self._remove(raw_key)
            self._dirty.add(raw_key)

    def prior_value(self, key: Any) -> tuple[bool, ValueAndTimestamp | None]:
        """Whether the key is in the buffer, and what was last emitted for it before it was.

        The timestamp of that is not known, and so -1.
        """
        buffered = self._entries.get(self._serialize_key(key))
        if buffered is None:
            return False, None
        value = self._value(buffered[1].prior)
        return True, None if value is None else ValueAndTimestamp(value, -1)

    def flush(self) -> None:
        if self._log is not None:
            for key in self._dirty:
                buffered = self._entries.get(key)
                if buffered is None:
                    self._log(self.name, key, None, None, NO_HEADERS)
                else:
                    value = write_changelog_value(buffered[1], buffered[0])
                    self._log(self.name, key, value, None, CHANGELOG_HEADERS)
        self._dirty.clear()

    def restore(self, records: Iterable[Logged]) -> None:
        for key, value, timestamp, headers in records:
            if value is None:
                if key in self._entries:
                    self._remove(key)
            else:
                buffered = self._entries.get(key)
                origin = Origin(timestamp or 0, headers, self.name, 0, 0)
                prior = None if buffered is None else buffered[1].prior
                entry, time = read_changelog_value(value, origin, prior)
                self._set(time, key, entry)

    def _set(self, time: int, key: bytes, value: BufferValue) -> None:
        buffered = self._entries.get(key)
        if buffered is None:
            heappush(self._queue, (time, key))
        else:
            time = buffered[0]
            self.buffer_size -= _size(key, buffered[1])
        self._entries[key] = time, value
        self.buffer_size += _size(key, value)

    def _remove(self, key: bytes) -> None:
        _, value = self._entries.pop(key)
        self.buffer_size -= _size(key, value)

    def _raw(self, value: Any) -> bytes | None:
        return None if value is None else self._serialize(value)

    def _value(self, raw: bytes | None) -> Any:
        return None if raw is None else self._deserialize(raw)


def _size(key: bytes, value: BufferValue) -> int:
    return 8 + len(key) + resident_size(value)
