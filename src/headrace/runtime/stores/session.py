"""Session stores: (key, session) to values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any

from headrace.core.errors import ArgumentError, StateError, require
from headrace.core.windowed import LONG_MAX, Windowed
from headrace.runtime.stores.cache import KEY, RAW, UNKNOWN
from headrace.runtime.stores.cached import CachedStore, Scanned, merged
from headrace.runtime.stores.environment import Logged, StoreEnvironment
from headrace.runtime.stores.ordered_map import Item
from headrace.runtime.stores.segments import default_segment_interval
from headrace.runtime.stores.time_layout import (
    IN_MEMORY,
    PERSISTENT,
    TIME_ORDERED_SESSIONS,
    TimeEntries,
    clamped,
    upper_bound,
)
from headrace.serde.session_store_key import (
    read_session_store_key,
    read_time_first_session_store_key,
    session_store_key,
    time_first_session_store_key,
)
from headrace.topology.stores import Backend, SessionStoreSpec

_NO_SUFFIX = bytes(16)
_times_at = Struct(">qq").unpack_from

SessionIterator = Iterator[tuple[Windowed[Any], Any]]


class SessionStore(CachedStore):
    """(key, session) to values, kept for the retention after the session's end.

    A put that comes too late is dropped, and counted; it is logged all the same. Sessions of a key
    come in the order of their ends. Scans of several keys go by segment and then by key bytes in
    a persistent store, by end and then key in one that is in memory.
    """

    def __init__(
        self, spec: SessionStoreSpec, environment: StoreEnvironment, *, keeps_headers: bool = False
    ) -> None:
        super().__init__(spec, environment, keeps_headers=keeps_headers, key_overhead=8)
        in_memory = spec.backend is Backend.IN_MEMORY
        remembered = environment.storage.facts(spec.name)
        self._latest_cached_end = remembered.get("latest_cached_end", -1)
        self._entries = TimeEntries(
            spec.name,
            IN_MEMORY if in_memory else TIME_ORDERED_SESSIONS if spec.time_ordered else PERSISTENT,
            spec.retention_ms,
            default_segment_interval(spec.retention_ms),
            environment.storage,
            _to_time_key,
            _from_time_key,
        )

    @property
    def observed_time(self) -> int:
        """The latest session end that was put; -1 before the first."""
        return self._entries.observed_time

    def facts(self) -> dict[str, int]:
        return {
            "observed_time": self._entries.observed_time,
            "latest_cached_end": self._latest_cached_end,
        }

    def put(self, session: Windowed[Any], value: Any) -> None:
        """A value of None deletes the session."""
        key = self._store_key(session)
        raw, _ = self._encoded(value)
        if self._cache is None:
            self._write_through(key, raw, 0)
        else:
            self._put_in_cache(key, raw, session.window.end)

    def remove(self, session: Windowed[Any]) -> None:
        """Delete a session."""
        key = self._store_key(session)
        if self._cache is None:
            self._entries.remove(session.window.end, key)
            self._log_value(key, None, 0)
        else:
            self._put_in_cache(key, None, session.window.end)

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        """The value of exactly that session, or None."""
        store_key = session_store_key(self._raw_key(key), start, end)
        entry = None if self._cache is None else self._cache.get(store_key)
        stored = self._entries.get(end, store_key) if entry is None else entry[RAW]
        return None if stored is None else self._decoded(stored)

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> SessionIterator:
        """Sessions of a key that end at `earliest_end` or later and start at `latest_start` or
        earlier."""
        return self._find(key, earliest_end, latest_start, forward=True)

    def backward_find_sessions(
        self, key: Any, earliest_end: int, latest_start: int
    ) -> SessionIterator:
        """In a cached persistent store, an ArgumentError before anything was put, a StateError if
        `latest_start` is in an earlier segment than the latest session, and sessions that only the
        cache has may be missing if they end after `latest_start`: so it is in Kafka Streams."""
        return self._find(key, earliest_end, latest_start, forward=False)

    def find_sessions_range(
        self, low: Any, high: Any, earliest_end: int, latest_start: int
    ) -> SessionIterator:
        """A bound of None is open."""
        return self._find_range(low, high, earliest_end, latest_start, forward=True)

    def backward_find_sessions_range(
        self, low: Any, high: Any, earliest_end: int, latest_start: int
    ) -> SessionIterator:
        """As `find_sessions_range`, but backwards."""
        return self._find_range(low, high, earliest_end, latest_start, forward=False)

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> SessionIterator:
        """Sessions of all keys that end in that time; only of uncached stores that are kept by
        time (in memory, or time-ordered)."""
        layout = self._entries.layout
        if not layout.by_time or self._cache is not None:
            raise StateError(
                f"Store {self.name} can't be scanned by session end: it is cached or not "
                "laid out by time"
            )
        first = earliest_end
        if layout.strict:
            first = max(first, self._entries.first_readable)
        items = [] if first > latest_end else self._scan_times(first, latest_end, forward=True)
        found = [item for item in items if first <= _times_of(item[0])[0] <= latest_end]
        return self._windowed(self._sorted(found, forward=True) if layout.strict else found)

    def fetch(self, key: Any) -> SessionIterator:
        """All sessions of a key, by their ends."""
        return self._find(key, 0, LONG_MAX, forward=True)

    def backward_fetch(self, key: Any) -> SessionIterator:
        """As `fetch`, but backwards."""
        return self._find(key, 0, LONG_MAX, forward=False)

    def fetch_range(self, low: Any, high: Any) -> SessionIterator:
        """All sessions of several keys. A bound of None is open. In an uncached store in memory,
        an ArgumentError if `low` comes after `high`, unless the store is empty."""
        return self._fetch_range(low, high, forward=True)

    def backward_fetch_range(self, low: Any, high: Any) -> SessionIterator:
        """As `fetch_range`, but backwards."""
        return self._fetch_range(low, high, forward=False)

    def order_of(self, key: bytes, start: int, end: int) -> tuple[Any, ...]:
        """Scans come to sessions in this order."""
        store_key = session_store_key(key, start, end)
        strict = self._entries.layout.strict
        return _by_end((store_key, b"")) if strict else self._by_key(store_key)

    def restore(self, records: Iterable[Logged]) -> None:
        """Apply records of the changelog."""
        for key, value, _, _ in records:
            self._entries.put(_times_of(key)[0], key, value, self.latest_restored)

    # Through the cache

    def _store_key(self, session: Windowed[Any]) -> bytes:
        require(session, "session")
        require(session.window, "session.window")
        return session_store_key(self._raw_key(session.key), *session.window)

    def _put_in_cache(self, key: bytes, raw: bytes | None, end: int) -> None:
        if self._cache is not None:
            self._latest_cached_end = max(self._latest_cached_end, end)
            self._cache.put(key, raw, UNKNOWN, 0)

    def _find(
        self, key: Any, earliest_end: int, latest_start: int, *, forward: bool
    ) -> SessionIterator:
        raw_key = self._raw_key(key)
        by_segment = not forward and self._cache is not None and not self._entries.layout.strict
        if latest_start < 0 or (by_segment and self._latest_cached_end < 0):
            raise ArgumentError("Window start time can't be negative")
        low = session_store_key(raw_key, 0, clamped(earliest_end))
        high = session_store_key(raw_key, min(latest_start, LONG_MAX), LONG_MAX)
        within = _filter(raw_key, raw_key, earliest_end, latest_start)
        in_cache = self._backward_filter(latest_start) if by_segment else None
        first = max(earliest_end, self._entries.first_readable)
        items = self._entries.scan_keys(first, LONG_MAX, low, high, forward=forward)
        return self._windowed(
            self._merged(items, low, high, within, first, in_cache, forward=forward)
        )

    def _backward_filter(self, latest_start: int) -> Callable[[bytes], bool]:
        """What a backward search finds in the cache: of the last segment, only the sessions that
        end by `latest_start`."""
        segment_of, latest = self._entries.segment_number, self._latest_cached_end
        bound = min(latest_start, latest)
        last_segment = segment_of(latest)
        if segment_of(bound) != last_segment:
            raise StateError(
                f"Store {self.name} can't be searched backwards from {latest_start}: its cache has "
                f"sessions of a later segment, up to {latest}"
            )

        def found(key: bytes) -> bool:
            end, _ = _times_of(key)
            return end <= bound or segment_of(end) != last_segment

        return found

    def _fetch_range(self, low: Any, high: Any, *, forward: bool) -> SessionIterator:
        if self._cache is None and self._entries.layout.strict:
            raw_low, raw_high = self._raw_bounds(low, high)
            upside_down = raw_low is not None and raw_high is not None and raw_low > raw_high
            first = self._entries.first_readable
            if upside_down and self._scan_times(first, LONG_MAX, forward=True):
                raise ArgumentError(f"{low!r} comes after {high!r}: there is no range between them")
        return self._find_range(low, high, 0, LONG_MAX, forward=forward)

    def _find_range(
        self, low: Any, high: Any, earliest_end: int, latest_start: int, *, forward: bool
    ) -> SessionIterator:
        raw_low, raw_high = self._raw_bounds(low, high)
        if raw_low is not None and raw_high is not None and raw_low > raw_high:
            return iter(())
        low_key = None if raw_low is None else raw_low + _NO_SUFFIX
        high_key = None
        if raw_high is not None:
            suffix = session_store_key(b"", min(latest_start, LONG_MAX), LONG_MAX)
            high_key = upper_bound(raw_high, suffix)
        within = _filter(raw_low, raw_high, earliest_end, latest_start)
        first = max(earliest_end, self._entries.first_readable)
        if self._entries.layout.ranges_by_time:
            items = self._scan_times(first, LONG_MAX, forward=forward)
        else:
            items = self._entries.scan_keys(first, LONG_MAX, low_key, high_key, forward=forward)
        return self._windowed(
            self._merged(items, low_key, high_key, within, first, forward=forward)
        )

    def _scan_times(self, first: int, last: int, *, forward: bool) -> list[Item]:
        low = time_first_session_store_key(b"", 0, clamped(first))
        high = time_first_session_store_key(b"", 0, min(last, LONG_MAX - 1) + 1)
        return self._entries.scan_times(first, last, low, high, forward=forward)

    def _merged(
        self,
        items: list[Item],
        low: bytes | None,
        high: bytes | None,
        within: Callable[[bytes], bool],
        first: int,
        in_cache: Callable[[bytes], bool] | None = None,
        *,
        forward: bool,
    ) -> Iterable[Scanned]:
        """What the store and the cache have, in the store's order. Only the cache still has
        sessions that ended before `first`."""
        found = [item for item in items if within(item[0]) and _times_of(item[0])[0] >= first]
        cached = [] if self._cache is None else self._cache.between(low, high)
        held_back = [(entry[KEY], entry[RAW]) for entry in cached if within(entry[KEY])]
        if in_cache is not None:
            held_back = [entry for entry in held_back if in_cache(entry[0])]
        if self._entries.layout.strict:
            found = self._sorted(found, forward=forward)
        if not held_back:
            return found
        order = _by_end_and_key if self._entries.layout.strict else self._by_key
        held_back.sort(key=lambda entry: order(entry[0]), reverse=not forward)
        return merged(held_back, found, order, forward=forward)

    def _sorted(self, items: list[Item], *, forward: bool) -> list[Item]:
        return sorted(items, key=_by_end, reverse=not forward)

    def _by_key(self, key: bytes) -> tuple[int, bytes]:
        return self._entries.segment_number(_times_of(key)[0]), key

    def _windowed(self, items: Iterable[Scanned]) -> SessionIterator:
        key_of, decoded = self._key_of, self._decoded
        return ((key_of(key), None if stored is None else decoded(stored)) for key, stored in items)

    # Below the cache

    def _read_behind(self, key: bytes) -> bytes | None:
        return self._entries.get(_times_of(key)[0], key)

    def _write_through(self, key: bytes, raw: bytes | None, timestamp: int) -> None:
        end, _ = _times_of(key)
        if not self._entries.put(end, key, raw):
            self._context.drop(
                f"session end {end} is older than the retention of store {self.name}, whose time "
                f"is {self._entries.observed_time}"
            )
        self._log_value(key, raw, timestamp)

    def _key_of(self, key: bytes) -> Windowed[Any]:
        raw_key, window = read_session_store_key(key)
        return Windowed(self._deserialize_key(raw_key), window)

    def _result_timestamp(self, key: bytes, raw: bytes | None, timestamp: int) -> int:
        return _times_of(key)[0]


def _times_of(key: bytes) -> tuple[int, int]:
    """End and start."""
    end, start = _times_at(key, len(key) - 16)
    return end, start


def _by_end(item: Item) -> tuple[int, bytes, int]:
    """By end, then key, then the latest start first."""
    end, start = _times_of(item[0])
    return end, item[0][:-16], -start


def _by_end_and_key(key: bytes) -> tuple[int, bytes]:
    """As the cache of a store in memory is ordered: there, every time is a segment of its own."""
    return _times_of(key)[0], key


def _to_time_key(key: bytes) -> bytes:
    raw_key, window = read_session_store_key(key)
    return time_first_session_store_key(raw_key, *window)


def _from_time_key(key: bytes) -> bytes:
    raw_key, window = read_time_first_session_store_key(key)
    return session_store_key(raw_key, *window)


def _filter(
    low: bytes | None, high: bytes | None, earliest_end: int, latest_start: int
) -> Callable[[bytes], bool]:
    def within(store_key: bytes) -> bool:
        key = store_key[:-16]
        end, start = _times_of(store_key)
        return (
            (low is None or key >= low)
            and (high is None or key <= high)
            and end >= earliest_end
            and start <= latest_start
        )

    return within
