"""The buffer of a stream-table join with grace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core.errors import require
from headrace.core.record import NO_HEADERS
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
    BufferValue,
    read_buffer_value,
    resident_size,
    write_buffer_value,
)
from headrace.serde.window_store_key import (
    read_time_first_window_store_key,
    time_first_window_store_key,
)
from headrace.topology.stores import JoinBufferSpec

_MAX_SEQUENCE = 2**31 - 1
_NO_TIME = bytes(8)


class JoinBuffer(Store):
    """Stream records by time, key and arrival, until stream time has passed them by the grace."""

    def __init__(self, spec: JoinBufferSpec, environment: StoreEnvironment) -> None:
        super().__init__(spec, environment)
        key_serde = environment.resolve_serde(spec.key_serde, "key")
        value_serde = environment.resolve_serde(spec.value_serde, "value")
        self._serialize_key, self._deserialize_key = key_serde.serialize, key_serde.deserialize
        self._serialize, self._deserialize = value_serde.serialize, value_serde.deserialize
        self._grace_ms = spec.grace_ms
        self._entries = environment.storage.map(spec.name)
        remembered = environment.storage.facts(spec.name)
        self._sequence = remembered.get("sequence", 0)
        self.observed_time = remembered.get("observed_time", -1)
        self.min_timestamp = remembered.get("min_timestamp", NO_TIMESTAMP)
        self.buffer_size = remembered.get("buffer_size", 0)
        self.num_records = remembered.get("num_records", 0)
        self._first = b""
        """No entry comes before this: what was evicted need not be passed again."""

    def facts(self) -> dict[str, int]:
        return {
            "sequence": self._sequence,
            "observed_time": self.observed_time,
            "min_timestamp": self.min_timestamp,
            "buffer_size": self.buffer_size,
            "num_records": self.num_records,
        }

    def put(self, time: int, key: Any, value: Any, registers: RecordContext) -> bool:
        """False if the record is so late that it must be processed at once."""
        require(value, "value")
        require(key, "key")
        if self.observed_time - self._grace_ms > time:
            return False
        self._sequence = (self._sequence + 1) & _MAX_SEQUENCE
        raw_key = time_first_window_store_key(self._serialize_key(key), time, self._sequence)
        buffered = BufferValue(None, None, self._serialize(value), origin_of(registers))
        stored = write_buffer_value(buffered)
        self._add(raw_key, stored, buffered, time)
        if self._log is not None:
            self._log(self.name, raw_key, stored + _NO_TIME, None, NO_HEADERS)
        return True

    def evict_while(self, predicate: Predicate, callback: OnEviction) -> None:
        """Take out, oldest first, what stream time has passed by the grace, for as long as
        `predicate()` says."""
        if not predicate():
            return
        last = self.observed_time - self._grace_ms
        if last >= 0:
            high = time_first_window_store_key(b"", last + 1)[:9]
            for raw_key, stored in self._entries.range(self._first, high):
                if not predicate():
                    break
                self._first = raw_key
                self._evict(raw_key, stored, callback)
        self.min_timestamp = last + 1 if self.num_records else NO_TIMESTAMP

    def restore(self, records: Iterable[Logged]) -> None:
        for key, value, _, _ in records:
            if value is not None:
                stored = value[:-8]
                _, time, sequence = read_time_first_window_store_key(key)
                self._sequence = max(self._sequence, sequence)
                self._add(key, stored, read_buffer_value(stored), time)
            elif (stored_before := self._entries.get(key)) is not None:
                self._remove(key, read_buffer_value(stored_before))

    def _evict(self, raw_key: bytes, stored: bytes, callback: OnEviction) -> None:
        buffered = read_buffer_value(stored)
        self.min_timestamp = buffered.origin.timestamp
        key = self._deserialize_key(read_time_first_window_store_key(raw_key).key)
        value = None if buffered.new is None else self._deserialize(buffered.new)
        callback(Eviction(key, value, registers_of(buffered.origin)))
        self._remove(raw_key, buffered)
        if self._log is not None:
            self._log(self.name, raw_key, None, None, NO_HEADERS)

    def _add(self, raw_key: bytes, stored: bytes, buffered: BufferValue, time: int) -> None:
        if self._entries.get(raw_key) is None:
            self.num_records += 1
        self._entries.put(raw_key, stored)
        self._first = min(self._first, raw_key)
        self.buffer_size += len(raw_key) + resident_size(buffered)
        self.observed_time = max(self.observed_time, time)
        self.min_timestamp = min(self.min_timestamp, time)

    def _remove(self, raw_key: bytes, buffered: BufferValue) -> None:
        self._entries.delete(raw_key)
        self.num_records -= 1
        self.buffer_size -= len(raw_key) + resident_size(buffered)
