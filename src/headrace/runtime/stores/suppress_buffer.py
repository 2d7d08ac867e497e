"""The buffer of a suppression."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
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
from headrace.runtime.stores.storage import Storage
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

Entry = tuple[int, BufferValue]
"""The time at which a key entered the buffer, and its last update."""

_TIME = Struct(">Q")
_SIGN = 1 << 63
_READ_FROM = Origin(0, CHANGELOG_HEADERS, None, 0, 0)


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
        self._entries = TimedEntries(spec.name, environment.storage)
        self._dirty = BytesHashSet()
        remembered = environment.storage.facts(spec.name)
        self.buffer_size = remembered.get("buffer_size", 0)
        self.num_records = remembered.get("num_records", 0)

    def facts(self) -> dict[str, int]:
        return {"buffer_size": self.buffer_size, "num_records": self.num_records}

    @property
    def min_timestamp(self) -> int:
        """The time of the oldest entry; LONG_MAX if the buffer is empty."""
        return self._entries.first()[0] if self.num_records else NO_TIMESTAMP

    def put(self, time: int, key: Any, change: Change, registers: RecordContext) -> None:
        """An update of a key that is in the buffer keeps the key's time."""
        require(change, "change")
        raw_key = self._serialize_key(key)
        old, new = self._raw(change.old), self._raw(change.new)
        buffered = self._entries.get(raw_key)
        prior = old if buffered is None else buffered[1].prior
        value = BufferValue(prior, old, new, origin_of(registers))
        self._set(time, raw_key, value, buffered)
        self._dirty.add(raw_key)

    def evict_while(self, predicate: Predicate, callback: OnEviction) -> None:
        """Take entries out, oldest first, for as long as `predicate()` says. The callback is
        called while its entry is still counted."""
        if not predicate():
            return
        while self.min_timestamp != NO_TIMESTAMP and predicate():
            _, raw_key = self._entries.first()
            _, value = self._entries[raw_key]
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
        self._entries.flush()

    def restore(self, records: Iterable[Logged]) -> None:
        for key, value, timestamp, headers in records:
            buffered = self._entries.get(key)
            if value is not None:
                origin = Origin(timestamp or 0, headers, self.name, 0, 0)
                prior = None if buffered is None else buffered[1].prior
                entry, time = read_changelog_value(value, origin, prior)
                self._set(time, key, entry, buffered)
            elif buffered is not None:
                self._remove(key)
        self._entries.flush()

    def _set(self, time: int, key: bytes, value: BufferValue, buffered: Entry | None) -> None:
        if buffered is None:
            self.num_records += 1
            self._entries.add(time, key, value)
        else:
            self.buffer_size -= _size(key, buffered[1])
            self._entries.replace(buffered[0], key, value)
        self.buffer_size += _size(key, value)

    def _remove(self, key: bytes) -> None:
        _, value = self._entries.remove(key)
        self.num_records -= 1
        self.buffer_size -= _size(key, value)

    def _raw(self, value: Any) -> bytes | None:
        return None if value is None else self._serialize(value)

    def _value(self, raw: bytes | None) -> Any:
        return None if raw is None else self._deserialize(raw)


class TimedEntries:
    """Entries by key, and in the order of their times.

    What was set is held as it is until it is flushed: most entries are replaced many times.
    """

    __slots__ = ("_by_key", "_by_time", "_first", "_held", "_low")

    def __init__(self, name: str, storage: Storage) -> None:
        self._by_key = storage.map(name)
        self._by_time = storage.map(f"{name}/by-time")
        self._held: dict[bytes, Entry] = {}
        self._first: tuple[int, bytes] | None = None
        """Time and key of the first entry, if that is known."""
        self._low = b""
        """Nothing comes before this in time."""

    def get(self, key: bytes) -> Entry | None:
        entry = self._held.get(key)
        if entry is not None:
            return entry
        stored = self._by_key.get(key)
        return None if stored is None else _read_entry(stored)

    def __getitem__(self, key: bytes) -> Entry:
        return self._held.get(key) or _read_entry(self._by_key.get(key) or b"")

    def first(self) -> tuple[int, bytes]:
        """Time and key of the entry that comes first, by time and then by key; there must be
        one."""
        if self._first is None:
            self._low, _ = next(self._by_time.range(self._low, None, limit=1))
            self._first = _TIME.unpack_from(self._low)[0] - _SIGN, self._low[8:]
        return self._first

    def add(self, time: int, key: bytes, value: BufferValue) -> None:
        """Set the entry of a key that has none."""
        self._held[key] = time, value
        time_key = _time_key(time, key)
        self._by_time.put(time_key, b"")
        if time_key < self._low:
            self._low = time_key
        if self._first is not None and (time, key) < self._first:
            self._first = time, key

    def replace(self, time: int, key: bytes, value: BufferValue) -> None:
        """Set the entry of a key that has one of that time already."""
        self._held[key] = time, value

    def remove(self, key: bytes) -> Entry:
        """What was there."""
        entry = self[key]
        self._held.pop(key, None)
        self._by_key.delete(key)
        self._by_time.delete(_time_key(entry[0], key))
        if self._first == (entry[0], key):
            self._first = None
        return entry

    def flush(self) -> None:
        for key, (time, value) in self._held.items():
            self._by_key.put(key, _write_entry(time, value))
        self._held.clear()


def _time_key(time: int, key: bytes) -> bytes:
    return _TIME.pack(time + _SIGN) + key


def _write_entry(time: int, value: BufferValue) -> bytes:
    """As in the changelog, after a byte that says whether the record was read from a topic."""
    origin = value.origin
    if origin.topic is None:
        value = value._replace(origin=origin._replace(topic=""))
    return bytes((origin.topic is not None,)) + write_changelog_value(value, time)


def _read_entry(stored: bytes) -> Entry:
    value, time = read_changelog_value(stored[1:], _READ_FROM)
    if not stored[0]:
        value = value._replace(origin=value.origin._replace(topic=None))
    return time, value


def _size(key: bytes, value: BufferValue) -> int:
    return 8 + len(key) + resident_size(value)
