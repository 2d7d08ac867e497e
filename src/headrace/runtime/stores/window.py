"""Window stores: (key, window start) to values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from struct import Struct
from typing import Any

from headrace.core.errors import ArgumentError
from headrace.core.record import Header, ValueAndTimestamp
from headrace.core.windowed import LONG_MAX, Window, Windowed, make_windowed
from headrace.runtime.stores.cache import IMMUTABLE, KEY, UNKNOWN
from headrace.runtime.stores.cached import CachedStore, Scanned, TimestampedValues, merged
from headrace.runtime.stores.environment import Logged, StoreEnvironment
from headrace.runtime.stores.ordered_map import Item
from headrace.runtime.stores.segments import default_segment_interval
from headrace.runtime.stores.time_layout import (
    IN_MEMORY,
    PERSISTENT,
    TIME_ORDERED_WINDOWS,
    TimeEntries,
    clamped,
    upper_bound,
)
from headrace.serde.serde import Serde
from headrace.serde.value_with_headers import (
    value_timestamp_headers,
    with_headers,
    without_headers,
)
from headrace.serde.window_store_key import (
    read_time_first_window_store_key,
    read_window_store_key,
    time_first_window_store_key,
    window_store_key,
)
from headrace.topology.stores import Backend, WindowStoreSpec

_MAX_SEQUENCE = 2**31 - 1
_SEGMENT_OVERHEAD = 8
_TIME_ORDERED_OVERHEAD = 75
"""What Kafka Streams has in the cache besides the store key: the number of the segment, and if the
store is time-ordered an entry of an index as well."""
_NO_SUFFIX = bytes(12)
_pack_suffix = Struct(">qi").pack
_start_at = _unpack_timestamp = Struct(">q").unpack_from
_pack_timestamp = Struct(">q").pack

WindowedIterator = Iterator[tuple[Windowed[Any], Any]]


class WindowStore(CachedStore):
    """(key, window start) to values, kept for the retention.

    A put that comes too late is dropped, and counted; it is logged all the same. A value of None
    deletes. Times are milliseconds and bounds are inclusive. Scans of several keys go by segment
    and then by key bytes in a persistent store, by time and then key in one that is in memory.
    """

    def __init__(
        self, spec: WindowStoreSpec, environment: StoreEnvironment, *, keeps_headers: bool = False
    ) -> None:
        super().__init__(
            spec,
            environment,
            keeps_headers=keeps_headers,
            key_overhead=_TIME_ORDERED_OVERHEAD if spec.time_ordered else _SEGMENT_OVERHEAD,
        )
        if spec.retain_duplicates:
            self._cache = None
        self._retains_duplicates = spec.retain_duplicates
        self._logs_headers = keeps_headers and spec.retain_duplicates
        self._window_ms = spec.window_ms
        self._last_window: Window | None = None
        remembered = environment.storage.facts(spec.name)
        self._sequence = remembered.get("sequence", 0)
        self._logged_sequence = remembered.get("logged_sequence", 0)
        in_memory = spec.backend is Backend.IN_MEMORY
        self._nulls_move_time = in_memory
        """Whether also a null that deletes nothing, as duplicates are retained, is seen."""
        self._entries = TimeEntries(
            spec.name,
            IN_MEMORY if in_memory else TIME_ORDERED_WINDOWS if spec.time_ordered else PERSISTENT,
            spec.retention_ms,
            default_segment_interval(spec.retention_ms),
            environment.storage,
            _to_time_key,
            _from_time_key,
        )

    @property
    def observed_time(self) -> int:
        """The latest window start that was put; -1 before the first."""
        return self._entries.observed_time

    def facts(self) -> dict[str, int]:
        return {
            "observed_time": self._entries.observed_time,
            "sequence": self._sequence,
            "logged_sequence": self._logged_sequence,
        }

    def put(self, key: Any, value: Any, start: int) -> None:
        """Set the value of the window that starts at `start`; None deletes it."""
        raw, timestamp = self._encoded(value)
        self._update(self._raw_key(key), start, raw, UNKNOWN, timestamp)

    def fetch_one(self, key: Any, time: int) -> Any:
        """The value of the window that starts at `time`, or None."""
        stored = self._read(self._raw_key(key), time)
        return None if stored is None else self._decoded(stored)

    def fetch(self, key: Any, first: int, last: int) -> Iterator[tuple[int, Any]]:
        """(start, value) of the windows of a key."""
        return self._fetch(key, first, last, forward=True)

    def backward_fetch(self, key: Any, first: int, last: int) -> Iterator[tuple[int, Any]]:
        """As `fetch`, but descending."""
        return self._fetch(key, first, last, forward=False)

    def fetch_range(self, low: Any, high: Any, first: int, last: int) -> WindowedIterator:
        """A bound of None is open."""
        return self._fetch_range(low, high, first, last, forward=True)

    def backward_fetch_range(self, low: Any, high: Any, first: int, last: int) -> WindowedIterator:
        """As `fetch_range`, but backwards."""
        return self._fetch_range(low, high, first, last, forward=False)

    def fetch_all(self, first: int, last: int) -> WindowedIterator:
        """The windows of all keys that start in that time."""
        return self._fetch_all(first, last, forward=True)

    def backward_fetch_all(self, first: int, last: int) -> WindowedIterator:
        """As `fetch_all`, but backwards."""
        return self._fetch_all(first, last, forward=False)

    def all(self) -> WindowedIterator:
        """All windows."""
        return self._fetch_all(0, LONG_MAX, forward=True)

    def backward_all(self) -> WindowedIterator:
        """All windows, backwards."""
        return self._fetch_all(0, LONG_MAX, forward=False)

    def window_at(self, start: int) -> Window:
        """The window that starts there."""
        if start < 0 or self._window_ms <= 0:
            raise ArgumentError(
                f"Store {self.name} has no valid window at {start}: its window size is "
                f"{self._window_ms} ms. Windows start at 0 or later and are longer than 0 ms."
            )
        return Window(start, min(start + self._window_ms, LONG_MAX))

    def order_of(self, key: bytes, start: int, *, all_keys: bool) -> tuple[int, bytes]:
        """Scans of several keys, or of all of them, come to windows in this order."""
        layout = self._entries.layout
        by_time = layout.by_time if all_keys else layout.ranges_by_time
        if by_time:
            return start, time_first_window_store_key(key, start)
        return self._by_key(window_store_key(key, start))

    def restore(self, records: Iterable[Logged]) -> None:
        """Apply records of the changelog."""
        put, latest = self._entries.put, self.latest_restored
        for key, value, timestamp, headers in records:
            _, start, sequence = read_window_store_key(key)
            self._sequence = self._logged_sequence = max(self._logged_sequence, sequence)
            if value is not None:
                put(start, key, self._restored(value, timestamp or 0, headers), latest)
            elif not self._retains_duplicates or self._nulls_move_time:
                put(start, key, None, latest)

    def _restored(self, raw: bytes, timestamp: int, headers: Sequence[Header]) -> bytes:
        return self._stored_behind(raw, timestamp)

    # Through the cache

    def _update(
        self, raw_key: bytes, start: int, raw: bytes | None, value: Any, timestamp: int
    ) -> None:
        if self._cache is not None:
            self._cache.put(raw_key + _pack_suffix(start, 0), raw, value, timestamp)
            return
        if self._retains_duplicates:
            self._put_duplicate(raw_key, start, raw, timestamp)
        else:
            self._write_through(raw_key + _pack_suffix(start, 0), raw, timestamp)

    def _put_duplicate(self, raw_key: bytes, start: int, raw: bytes | None, timestamp: int) -> None:
        # A null deletes nothing here, but is logged, with a number of its own.
        if raw is None:
            if self._nulls_move_time:
                self._put_entry(start, window_store_key(raw_key, start), None)
        else:
            self._sequence = (self._sequence + 1) & _MAX_SEQUENCE
            key = window_store_key(raw_key, start, self._sequence)
            self._put_entry(start, key, self._stored(raw, timestamp))
        self._logged_sequence = (self._logged_sequence + 1) & _MAX_SEQUENCE
        self._log_value(window_store_key(raw_key, start, self._logged_sequence), raw, timestamp)

    def _read(self, raw_key: bytes, start: int) -> bytes | None:
        if self._retains_duplicates and self._entries.layout is IN_MEMORY:
            return None
        key = raw_key + _pack_suffix(start, self._sequence)
        if self._cache is not None:
            entry = self._cache.get(key)
            if entry is not None:
                return self._stored_entry(entry)
        return self._entries.get(start, key)

    def _fetch(
        self, key: Any, first: int, last: int, *, forward: bool
    ) -> Iterator[tuple[int, Any]]:
        raw_key = self._raw_key(key)
        from_ = max(first, self._entries.first_readable)
        high = window_store_key(raw_key, min(last, LONG_MAX), _MAX_SEQUENCE)
        items: list[Item] = []
        if max(from_, 0) <= last:
            low = window_store_key(raw_key, clamped(from_), 0)
            items = self._entries.scan_keys(from_, last, low, high, forward=forward)
            # Other keys between the bounds are longer, or shorter, than this one.
            length = len(low)
            items = [item for item in items if len(item[0]) == length]
        scanned: Iterable[Scanned] = items
        if self._cache is not None:
            low = window_store_key(raw_key, clamped(first), 0)
            within = _filter(raw_key, raw_key, first, last)
            scanned = self._merged(items, low, high, within, from_, self._by_key, forward=forward)
        decoded = self._decoded
        return (
            (_start_of(key), None if stored is None else decoded(stored)) for key, stored in scanned
        )

    def _fetch_range(
        self, low: Any, high: Any, first: int, last: int, *, forward: bool
    ) -> WindowedIterator:
        raw_low, raw_high = self._raw_bounds(low, high)
        if raw_low is not None and raw_high is not None and raw_low > raw_high:
            return iter(())
        low_key = None if raw_low is None else raw_low + _NO_SUFFIX
        high_key = None
        if raw_high is not None:
            high_key = upper_bound(raw_high, _pack_suffix(min(last, LONG_MAX), _MAX_SEQUENCE))
        within = _filter(raw_low, raw_high, first, last)
        from_ = max(first, self._entries.first_readable)
        items: list[Item] = []
        order = self._by_time if self._entries.layout.ranges_by_time else self._by_key
        if from_ <= last:
            if self._entries.layout.ranges_by_time:
                items = self._scan_times(from_, last, forward=forward)
            else:
                items = self._entries.scan_keys(from_, last, low_key, high_key, forward=forward)
        return self._windowed(
            self._merged(items, low_key, high_key, within, from_, order, forward=forward)
        )

    def _fetch_all(self, first: int, last: int, *, forward: bool) -> WindowedIterator:
        from_ = max(first, self._entries.first_readable)
        items: list[Item] = []
        by_time = self._entries.layout.by_time
        if from_ <= last:
            if by_time:
                items = self._scan_times(from_, last, forward=forward)
            else:
                items = self._entries.scan_keys(from_, last, None, None, forward=forward)
        within = _filter(None, None, first, last)
        order = self._by_time if by_time else self._by_key
        return self._windowed(
            self._merged(items, None, None, within, from_, order, forward=forward)
        )

    def _scan_times(self, first: int, last: int, *, forward: bool) -> list[Item]:
        low = time_first_window_store_key(b"", clamped(first))[:9]
        high = time_first_window_store_key(b"", min(last, LONG_MAX - 1) + 1)[:9]
        return self._entries.scan_times(first, last, low, high, forward=forward)

    def _merged(
        self,
        items: list[Item],
        low: bytes | None,
        high: bytes | None,
        within: Callable[[bytes], bool],
        first: int,
        order: Callable[[bytes], Any],
        *,
        forward: bool,
    ) -> Iterable[Scanned]:
        """What the store and the cache have, in the store's order. Only the cache still has
        entries before `first`."""
        found = [item for item in items if within(item[0]) and _start_of(item[0]) >= first]
        cached = [] if self._cache is None else self._cache.between(low, high)
        held_back = [(e[KEY], self._stored_entry(e)) for e in cached if within(e[KEY])]
        if not held_back:
            return found
        held_back.sort(key=lambda entry: order(entry[0]), reverse=not forward)
        return merged(held_back, found, order, forward=forward)

    def _by_key(self, key: bytes) -> tuple[int, bytes]:
        return self._entries.segment_number(_start_of(key)), key

    def _by_time(self, key: bytes) -> tuple[int, bytes]:
        return _start_of(key), key

    def _windowed(self, items: Iterable[Scanned]) -> WindowedIterator:
        key_of, decoded = self._key_of, self._decoded
        return ((key_of(key), None if stored is None else decoded(stored)) for key, stored in items)

    # Below the cache

    def _read_behind(self, key: bytes) -> bytes | None:
        return self._entries.get(_start_of(key), key)

    def _write_through(self, key: bytes, raw: bytes | None, timestamp: int) -> None:
        stored = None if raw is None else self._stored_behind(raw, timestamp)
        self._put_entry(_start_of(key), key, stored)
        self._log_value(key, raw, timestamp)

    def _put_entry(self, start: int, key: bytes, stored: bytes | None) -> None:
        if not self._entries.put(start, key, stored):
            self._context.drop(
                f"window start {start} is older than the retention of store {self.name}, whose "
                f"time is {self._entries.observed_time}"
            )

    def _key_of(self, key: bytes) -> Windowed[Any]:
        start = _start_of(key)
        window = self._last_window
        if window is None or window[0] != start:
            window = self._last_window = self.window_at(start)
        return make_windowed((self._deserialize_key(key[:-12]), window))


class TimestampedWindowStore(TimestampedValues, WindowStore):
    """Values are ValueAndTimestamp.

    `fetch_value` and `put_value` are the short way for operators: they take and give the value and
    its timestamp as they are.
    """

    def fetch_one(self, key: Any, time: int) -> ValueAndTimestamp | None:
        """The value of the window that starts at `time`, with its timestamp, or None."""
        found = self.fetch_value(key, time)
        return None if found is None else ValueAndTimestamp(*found)

    def fetch_value(self, key: Any, start: int) -> tuple[Any, int] | None:
        """(value, timestamp), or None."""
        return self._read_value(self._raw_key(key) + _pack_suffix(start, self._sequence))

    def put_value(self, key: Any, value: Any, start: int, timestamp: int) -> None:
        """A value of None deletes."""
        raw = None if value is None else self._serialize(value)
        shares = self._shares_values or type(value) in IMMUTABLE
        shared = value if shares else UNKNOWN
        self._update(self._raw_key(key), start, raw, shared, timestamp)

    def key_suffix(self, start: int) -> bytes:
        """What follows the bytes of a key in the store key of a window."""
        return _pack_suffix(start, 0)

    def put(self, key: Any, value: ValueAndTimestamp | None, start: int) -> None:
        """Set the value of a window with its timestamp; None deletes it."""
        if value is None:
            self.put_value(key, None, start, 0)
        else:
            self.put_value(key, value[0], start, value[1])


class JoinWindowStore(WindowStore):
    """The store of a stream-stream join, where it keeps the timestamps and headers of its records.

    The join fetches plain values by key. Scans of several keys give ValueTimestampHeaders.
    """

    def _stored(self, raw: bytes, timestamp: int) -> bytes:
        return self._restored(raw, self._context.timestamp, self._context.headers)

    def _restored(self, raw: bytes, timestamp: int, headers: Sequence[Header]) -> bytes:
        return with_headers(_pack_timestamp(timestamp) + raw, headers)

    def _decoded(self, stored: bytes) -> Any:
        return self._deserialize(without_headers(stored)[8:])

    def _windowed(self, items: Iterable[Scanned]) -> WindowedIterator:
        decoded = value_timestamp_headers(Serde(self._serialize, self._deserialize)).deserialize
        return ((self._key_of(key), decoded(stored)) for key, stored in items if stored is not None)


def _start_of(key: bytes) -> int:
    start: int = _start_at(key, len(key) - 12)[0]
    return start


def _to_time_key(key: bytes) -> bytes:
    return time_first_window_store_key(*read_window_store_key(key))


def _from_time_key(key: bytes) -> bytes:
    return window_store_key(*read_time_first_window_store_key(key))


def _filter(
    low: bytes | None, high: bytes | None, first: int, last: int
) -> Callable[[bytes], bool]:
    def within(store_key: bytes) -> bool:
        key = store_key[:-12]
        return (
            (low is None or key >= low)
            and (high is None or key <= high)
            and first <= _start_of(store_key) <= last
        )

    return within
