"""What can be asked of a store: the query types of Kafka Streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from headrace.core.record import VersionedRecord
from headrace.core.windowed import LONG_MAX
from headrace.runtime.stores import (
    KeyValueStore,
    SessionStore,
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    VersionedKeyValueStore,
    WindowStore,
)

K = TypeVar("K")


class Query(ABC):
    """Asked of one partition of a store at a time."""

    @abstractmethod
    def accepts(self, store: Any) -> bool:
        """Whether a store can answer it."""

    @abstractmethod
    def ask(self, store: Any) -> Any:
        """The answer; an iterator, if there may be many."""


@dataclass(frozen=True)
class KeyQuery(Query, Generic[K]):
    """The value of a key in a key-value store, without its timestamp."""

    key: K

    def accepts(self, store: Any) -> bool:
        return isinstance(store, KeyValueStore)

    def ask(self, store: Any) -> Any:
        return _plain(store, store.get(self.key))


@dataclass(frozen=True)
class TimestampedKeyQuery(Query, Generic[K]):
    """The value of a key with its timestamp, in a store that has them."""

    key: K

    def accepts(self, store: Any) -> bool:
        return isinstance(store, TimestampedKeyValueStore)

    def ask(self, store: Any) -> Any:
        return store.get(self.key)


@dataclass(frozen=True)
class RangeQuery(Query, Generic[K]):
    """Keys and values in a key-value store, by the bytes of their keys. A bound of None is open."""

    low: K | None = None
    high: K | None = None
    descending: bool = False

    def accepts(self, store: Any) -> bool:
        return isinstance(store, KeyValueStore)

    def ask(self, store: Any) -> Iterator[tuple[Any, Any]]:
        return ((key, _plain(store, value)) for key, value in self._items(store))

    def _items(self, store: Any) -> Iterator[tuple[Any, Any]]:
        scan = store.reverse_range if self.descending else store.range
        items: Iterator[tuple[Any, Any]] = scan(self.low, self.high)
        return items


@dataclass(frozen=True)
class TimestampedRangeQuery(RangeQuery[K]):
    """The same, of values with their timestamps."""

    def accepts(self, store: Any) -> bool:
        return isinstance(store, TimestampedKeyValueStore)

    def ask(self, store: Any) -> Iterator[tuple[Any, Any]]:
        return self._items(store)


@dataclass(frozen=True)
class VersionedKeyQuery(Query, Generic[K]):
    """The version of a key in a versioned store that was valid at a time; None: the latest."""

    key: K
    as_of: int | None = None

    def accepts(self, store: Any) -> bool:
        return isinstance(store, VersionedKeyValueStore)

    def ask(self, store: Any) -> Any:
        return store.get(self.key) if self.as_of is None else store.get_as_of(self.key, self.as_of)


@dataclass(frozen=True)
class MultiVersionedKeyQuery(Query, Generic[K]):
    """All versions of a key in a versioned store that were valid at some time from `first` to
    `last`, the newest first."""

    key: K
    first: int = 0
    last: int = LONG_MAX
    ascending: bool = False

    def accepts(self, store: Any) -> bool:
        return isinstance(store, VersionedKeyValueStore)

    def ask(self, store: Any) -> Iterator[VersionedRecord]:
        versions: Iterator[VersionedRecord] = store.versions(self.key, self.first, self.last)
        return reversed([*versions]) if self.ascending else versions


@dataclass(frozen=True)
class WindowKeyQuery(Query, Generic[K]):
    """(start, value) of the windows of a key that start in a time, both ends inclusive. In a
    timestamped store, values have their timestamps."""

    key: K
    first: int
    last: int

    def accepts(self, store: Any) -> bool:
        return isinstance(store, WindowStore)

    def ask(self, store: Any) -> Iterator[tuple[int, Any]]:
        windows: Iterator[tuple[int, Any]] = store.fetch(self.key, self.first, self.last)
        return windows


@dataclass(frozen=True)
class WindowRangeQuery(Query, Generic[K]):
    """Windows of all keys that start in a time, in a window store; or, with a key, all sessions of
    that key, in a session store."""

    key: K | None = None
    first: int = 0
    last: int = LONG_MAX

    def accepts(self, store: Any) -> bool:
        return isinstance(store, WindowStore if self.key is None else SessionStore)

    def ask(self, store: Any) -> Iterator[tuple[Any, Any]]:
        found: Iterator[tuple[Any, Any]] = (
            store.fetch_all(self.first, self.last) if self.key is None else store.fetch(self.key)
        )
        return found


def _plain(store: Any, value: Any) -> Any:
    if value is not None and isinstance(store, TimestampedKeyValueStore | TimestampedWindowStore):
        return value.value
    return value
