"""Stores as a reader sees them, over all partitions that are on this host.

Each call sees what was last committed. Iterators go through one partition after the other, each as
of one commit; they end with their last item, with `close()`, or when they are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from headrace.core.errors import UnknownStoreError
from headrace.core.record import ValueAndTimestamp, VersionedRecord
from headrace.core.windowed import Windowed
from headrace.query.local_state import GLOBAL, StorePartition
from headrace.runtime.stores import (
    KeyValueStore,
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    WindowStore,
)
from headrace.serde.murmur2 import partition_for
from headrace.serde.serde import Serde
from headrace.topology.stores import (
    KeyValueStoreSpec,
    SessionStoreSpec,
    StoreSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


class ReadOnlyStore:
    """What all of them have in common."""

    _spec: ClassVar[type[StoreSpec]]
    _timestamped: ClassVar[bool] = False

    def __init__(self, name: str, partitions: Mapping[int, StorePartition]) -> None:
        self.name = name
        self._partitions = partitions
        self._in_order = [partitions[number] for number in sorted(partitions)]

    @classmethod
    def accepts(cls, spec: StoreSpec) -> bool:
        """Whether a store can be read in this way."""
        if not isinstance(spec, cls._spec):
            return False
        return not cls._timestamped or bool(getattr(spec, "timestamped", False))

    def _scan(self, ask: Callable[[Any], Iterator[T]]) -> Iterator[T]:
        for partition in self._in_order:
            yield from partition.scan(ask)

    def _first(self, key: Any, ask: Callable[[Any], T | None]) -> T | None:
        """What the first partition says that knows the key. The one to which records with the key
        go, unless somebody has a partitioner of his own, is asked first."""
        first = self._likely(key)
        if first is not None:
            found = first.read(ask)
            if found is not None:
                return found
        for partition in self._in_order:
            if partition is not first:
                found = partition.read(ask)
                if found is not None:
                    return found
        return None

    def _likely(self, key: Any) -> StorePartition | None:
        if GLOBAL in self._partitions or len(self._partitions) == 1:
            return self._in_order[0]
        raw = self._in_order[0].raw_key(key)
        return self._partitions.get(partition_for(raw, self._in_order[0].count))


class ReadOnlyKeyValueStore(ReadOnlyStore, Generic[K, V]):
    """Values by key."""

    _spec = KeyValueStoreSpec

    def get(self, key: K) -> V | None:
        """The value of a key, or None."""
        return self._first(key, lambda store: self._plain(store, store.get(key)))

    def range(self, low: K | None, high: K | None) -> Iterator[tuple[K, V]]:
        """Both bounds are inclusive; None is unbounded. Ascending in each partition."""
        return self._scan(lambda store: self._items(store, store.range(low, high)))

    def reverse_range(self, low: K | None, high: K | None) -> Iterator[tuple[K, V]]:
        """As `range`, but descending."""
        return self._scan(lambda store: self._items(store, store.reverse_range(low, high)))

    def all(self) -> Iterator[tuple[K, V]]:
        """All entries, ascending in each partition."""
        return self.range(None, None)

    def reverse_all(self) -> Iterator[tuple[K, V]]:
        """All entries, descending in each partition."""
        return self.reverse_range(None, None)

    def prefix_scan(
        self, prefix: Any, serializer: Serde[Any] | Callable[[Any], bytes]
    ) -> Iterator[tuple[K, V]]:
        """Entries whose key bytes begin with those that `serializer` makes of `prefix`."""
        return self._scan(lambda store: self._items(store, store.prefix_scan(prefix, serializer)))

    def approximate_num_entries(self) -> int:
        """How many there are."""
        return sum(
            partition.read(KeyValueStore.approximate_num_entries) for partition in self._in_order
        )

    def _plain(self, store: Any, value: Any) -> Any:
        if value is not None and isinstance(store, TimestampedKeyValueStore):
            return value.value
        return value

    def _items(self, store: Any, items: Iterator[tuple[Any, Any]]) -> Iterator[tuple[K, V]]:
        plain = self._plain
        return ((key, plain(store, value)) for key, value in items)


class ReadOnlyTimestampedKeyValueStore(ReadOnlyKeyValueStore[K, ValueAndTimestamp]):
    """Values with their timestamps by key."""

    _timestamped = True

    def _plain(self, store: Any, value: Any) -> Any:
        return value


class ReadOnlyVersionedStore(ReadOnlyStore, Generic[K]):
    """Versions of values by key."""

    _spec = VersionedStoreSpec

    def get(self, key: K) -> VersionedRecord | None:
        """The latest version, unless it is a deletion."""
        return self._first(key, lambda store: store.get(key))

    def get_as_of(self, key: K, timestamp: int) -> VersionedRecord | None:
        """The version that was valid at `timestamp`, if the history goes so far back."""
        return self._first(key, lambda store: store.get_as_of(key, timestamp))


class ReadOnlyWindowStore(ReadOnlyStore, Generic[K, V]):
    """Values by key and window start. Times are milliseconds, and bounds are inclusive."""

    _spec = WindowStoreSpec

    def fetch_one(self, key: K, time: int) -> V | None:
        """The value of the window that starts at `time`, or None."""
        return self._first(key, lambda store: self._plain(store, store.fetch_one(key, time)))

    def fetch(self, key: K, first: int, last: int) -> Iterator[tuple[int, V]]:
        """(start, value) of the windows of a key."""
        return self._scan(lambda store: self._items(store, store.fetch(key, first, last)))

    def backward_fetch(self, key: K, first: int, last: int) -> Iterator[tuple[int, V]]:
        """As `fetch`, but descending."""
        return self._scan(lambda store: self._items(store, store.backward_fetch(key, first, last)))

    def fetch_range(
        self, low: K | None, high: K | None, first: int, last: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """The windows of several keys. A bound of None is open."""
        return self._scan(
            lambda store: self._items(store, store.fetch_range(low, high, first, last))
        )

    def backward_fetch_range(
        self, low: K | None, high: K | None, first: int, last: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """As `fetch_range`, but backwards."""
        return self._scan(
            lambda store: self._items(store, store.backward_fetch_range(low, high, first, last))
        )

    def fetch_all(self, first: int, last: int) -> Iterator[tuple[Windowed[K], V]]:
        """The windows of all keys that start in that time."""
        return self._scan(lambda store: self._items(store, store.fetch_all(first, last)))

    def backward_fetch_all(self, first: int, last: int) -> Iterator[tuple[Windowed[K], V]]:
        """As `fetch_all`, but backwards."""
        return self._scan(lambda store: self._items(store, store.backward_fetch_all(first, last)))

    def all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All windows."""
        return self._scan(lambda store: self._items(store, store.all()))

    def backward_all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All windows, backwards."""
        return self._scan(lambda store: self._items(store, store.backward_all()))

    def _plain(self, store: Any, value: Any) -> Any:
        if value is not None and isinstance(store, TimestampedWindowStore):
            return value.value
        return value

    def _items(self, store: WindowStore, items: Iterator[tuple[Any, Any]]) -> Iterator[Any]:
        plain = self._plain
        return ((key, plain(store, value)) for key, value in items)


class ReadOnlyTimestampedWindowStore(ReadOnlyWindowStore[K, ValueAndTimestamp]):
    """Values with their timestamps by key and window start."""

    _timestamped = True

    def _plain(self, store: Any, value: Any) -> Any:
        return value


class ReadOnlySessionStore(ReadOnlyStore, Generic[K, V]):
    """Values by session. Times are milliseconds, and bounds are inclusive."""

    _spec = SessionStoreSpec

    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        """The value of exactly that session, or None."""
        return self._first(key, lambda store: store.fetch_session(key, start, end))

    def find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Sessions of a key that end at `earliest_end` or later and start at `latest_start` or
        earlier."""
        return self._scan(lambda store: store.find_sessions(key, earliest_end, latest_start))

    def backward_find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """As `find_sessions`, but backwards."""
        return self._scan(
            lambda store: store.backward_find_sessions(key, earliest_end, latest_start)
        )

    def find_sessions_range(
        self, low: K | None, high: K | None, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """As `find_sessions`, of several keys. A bound of None is open."""
        return self._scan(
            lambda store: store.find_sessions_range(low, high, earliest_end, latest_start)
        )

    def backward_find_sessions_range(
        self, low: K | None, high: K | None, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """As `find_sessions_range`, but backwards."""
        return self._scan(
            lambda store: store.backward_find_sessions_range(low, high, earliest_end, latest_start)
        )

    def fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of a key, by their ends."""
        return self._scan(lambda store: store.fetch(key))

    def backward_fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """As `fetch`, but backwards."""
        return self._scan(lambda store: store.backward_fetch(key))

    def fetch_range(self, low: K | None, high: K | None) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of several keys. A bound of None is open."""
        return self._scan(lambda store: store.fetch_range(low, high))

    def backward_fetch_range(
        self, low: K | None, high: K | None
    ) -> Iterator[tuple[Windowed[K], V]]:
        """As `fetch_range`, but backwards."""
        return self._scan(lambda store: store.backward_fetch_range(low, high))


_NATURAL: tuple[type[ReadOnlyStore], ...] = (
    ReadOnlyKeyValueStore,
    ReadOnlyVersionedStore,
    ReadOnlyWindowStore,
    ReadOnlySessionStore,
)


def type_of(spec: StoreSpec) -> type[ReadOnlyStore]:
    """How a store is read if nothing else is said."""
    for found in _NATURAL:
        if found.accepts(spec):
            return found
    raise UnknownStoreError(f"Store {spec.name} is internal to an operator, and can't be queried.")


def check_type(spec: StoreSpec, wanted: type[ReadOnlyStore]) -> None:
    """Raises UnknownStoreError if the store can't be read in that way."""
    if not wanted.accepts(spec):
        raise UnknownStoreError(
            f"Store {spec.name} can't be read as {wanted.__name__}: it is one for "
            f"{type_of(spec).__name__}."
        )
