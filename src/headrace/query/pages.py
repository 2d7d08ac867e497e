"""Scans in pages. Nobody keeps anything between two pages: a cursor says after which place of
which partition to go on."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.core.errors import ArgumentError
from headrace.core.windowed import LONG_MAX, Windowed
from headrace.query.local_state import StorePartition
from headrace.runtime.stores import (
    KeyValueStore,
    SessionStore,
    VersionedKeyValueStore,
    WindowStore,
)
from headrace.runtime.stores.key_value import after_prefix


class Place(NamedTuple):
    """Where an item is in a scan of one partition. What the scan isn't ordered by is left out."""

    key: bytes = b""
    start: int = 0
    end: int = 0


class Cursor(NamedTuple):
    """After `passed` items at a place: a store that retains duplicates has several there."""

    partition: int
    place: Place
    passed: int

    @classmethod
    def at_start_of(cls, partition: int) -> Cursor:
        """Before all items of a partition."""
        return cls(partition, Place(), -1)

    def to_text(self) -> str:
        key = urlsafe_b64encode(self.place.key).decode()
        form = [self.partition, key, self.place.start, self.place.end, self.passed]
        return urlsafe_b64encode(json.dumps(form, separators=(",", ":")).encode()).decode()

    @classmethod
    def from_text(cls, text: str) -> Cursor:
        try:
            partition, key, *numbers = json.loads(urlsafe_b64decode(text))
            if not all(type(number) is int for number in (partition, *numbers)):
                raise ValueError(numbers)
            start, end, passed = numbers
            if not all(-(2**63) <= number <= LONG_MAX for number in numbers):
                raise ValueError(numbers)
            return cls(partition, Place(urlsafe_b64decode(key), start, end), passed)
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise ArgumentError(
                "There is no such cursor: pass the `next` of the page before, as it is."
            ) from None


@dataclass(frozen=True)
class Page:
    """Some items, and the cursor after which there are more; None after the last page."""

    items: list[Any]
    next: Cursor | None


class Scan(ABC):
    """What is looked for, in which order."""

    descending: bool

    @abstractmethod
    def items(self, store: Any, after: Place | None) -> Iterator[Any]:
        """All items, but those well before `after` may be left out."""

    @abstractmethod
    def place(self, item: Any, raw_key: Callable[[Any], bytes]) -> Place: ...

    @abstractmethod
    def order(self, store: Any, place: Place) -> Any:
        """By this, items come."""


@dataclass(frozen=True)
class EntryScan(Scan):
    """(key, value) of a key-value store, between the bytes of keys, or with a prefix of them."""

    low: bytes | None
    high: bytes | None
    prefix: bytes | None
    descending: bool

    def items(self, store: KeyValueStore, after: Place | None) -> Iterator[Any]:
        low, high = self.low, self.high
        if self.prefix is not None:
            low, high = self.prefix, after_prefix(self.prefix)
        if after is not None:
            low, high = (low, after.key) if self.descending else (after.key, high)
        return store.scan(low, high, reverse=self.descending)

    def place(self, item: Any, raw_key: Callable[[Any], bytes]) -> Place:
        return Place(raw_key(item[0]))

    def order(self, store: Any, place: Place) -> Any:
        return place.key


@dataclass(frozen=True)
class KeyWindowScan(Scan):
    """(windowed key, value) of one key of a window store."""

    key: Any
    first: int
    last: int
    descending: bool

    def items(self, store: WindowStore, after: Place | None) -> Iterator[Any]:
        first, last = self.first, self.last
        if after is not None:
            first, last = (first, after.start) if self.descending else (after.start, last)
        fetch = store.backward_fetch if self.descending else store.fetch
        key = self.key
        return (
            (Windowed(key, store.window_at(start)), value)
            for start, value in fetch(key, first, last)
        )

    def place(self, item: Any, raw_key: Callable[[Any], bytes]) -> Place:
        return Place(start=item[0].window.start)

    def order(self, store: Any, place: Place) -> Any:
        return place.start


@dataclass(frozen=True)
class WindowScan(Scan):
    """(windowed key, value) of several keys of a window store; all, if both bounds are None."""

    low: Any
    high: Any
    first: int
    last: int
    descending: bool

    def items(self, store: WindowStore, after: Place | None) -> Iterator[Any]:
        if self._all_keys:
            fetch_all = store.backward_fetch_all if self.descending else store.fetch_all
            return fetch_all(self.first, self.last)
        fetch = store.backward_fetch_range if self.descending else store.fetch_range
        return fetch(self.low, self.high, self.first, self.last)

    def place(self, item: Any, raw_key: Callable[[Any], bytes]) -> Place:
        return Place(raw_key(item[0].key), item[0].window.start)

    def order(self, store: WindowStore, place: Place) -> Any:
        return store.order_of(place.key, place.start, all_keys=self._all_keys)

    @property
    def _all_keys(self) -> bool:
        return self.low is None and self.high is None


@dataclass(frozen=True)
class SessionScan(Scan):
    """(session, value) of a key, or of several keys, of a session store."""

    key: Any
    low: Any
    high: Any
    earliest_end: int
    latest_start: int
    descending: bool

    def items(self, store: SessionStore, after: Place | None) -> Iterator[Any]:
        times = self.earliest_end, self.latest_start
        if self.key is not None:
            found = store.find_sessions(self.key, *times)
            # A backward search would not find all of them in a store that was just restored.
            return reversed([*found]) if self.descending else found
        ranged = store.find_sessions_range
        backward = store.backward_find_sessions_range
        return (backward if self.descending else ranged)(self.low, self.high, *times)

    def place(self, item: Any, raw_key: Callable[[Any], bytes]) -> Place:
        return Place(raw_key(item[0].key), *item[0].window)

    def order(self, store: SessionStore, place: Place) -> Any:
        return store.order_of(*place)


@dataclass(frozen=True)
class VersionScan(Scan):
    """The versions of a key."""

    key: Any
    first: int
    last: int
    descending: bool

    def items(self, store: VersionedKeyValueStore, after: Place | None) -> Iterator[Any]:
        newest_first = store.versions(self.key, self.first, self.last)
        return newest_first if self.descending else reversed([*newest_first])

    def place(self, item: Any, raw_key: Callable[[Any], bytes]) -> Place:
        return Place(start=item.timestamp)

    def order(self, store: Any, place: Place) -> Any:
        return place.start


def page(
    scan: Scan, partitions: Sequence[StorePartition], limit: int, cursor: Cursor | None = None
) -> Page:
    """The first `limit` items, or those after a cursor, of one partition after the other."""
    items: list[Any] = []
    last = cursor
    for partition in partitions:
        if cursor is not None and partition.number < cursor.partition:
            continue
        for place, item in _placed(scan, partition, cursor):
            if len(items) == limit:
                return Page(items, last)
            items.append(item)
            same = last is not None and (last.partition, last.place) == (partition.number, place)
            last = Cursor(partition.number, place, last.passed + 1 if same and last else 1)
    return Page(items, None)


def _placed(
    scan: Scan, partition: StorePartition, cursor: Cursor | None
) -> Iterator[tuple[Place, Any]]:
    """The items of a partition that are after a cursor, with their places."""
    here = cursor if cursor is not None and cursor.partition == partition.number else None
    if here is not None and here.passed < 0:
        here = None
    after = None if here is None else here.place

    def ask(store: Any) -> Iterator[tuple[Place, Any]]:
        placed = ((scan.place(i, partition.raw_key), i) for i in scan.items(store, after))
        if isinstance(scan, EntryScan) and scan.prefix is not None:
            # The bound above a prefix may be a key too, and isn't one that begins with it.
            placed = (found for found in placed if found[0].key.startswith(scan.prefix))
        return placed if here is None else _after(scan, store, here, placed)

    return partition.scan(ask)


def _after(
    scan: Scan, store: Any, cursor: Cursor, placed: Iterator[tuple[Place, Any]]
) -> Iterator[tuple[Place, Any]]:
    border = scan.order(store, cursor.place)
    left = cursor.passed
    for place, item in placed:
        order = scan.order(store, place)
        if order == border:
            if left > 0:
                left -= 1
                continue
        elif (order > border) if scan.descending else (order < border):
            continue
        yield place, item
