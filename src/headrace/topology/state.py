"""State stores as a processor sees them, to annotate what `get_state_store` gives:

    self.counts: KeyValueStore[str, int] = context.get_state_store("counts")

Times are milliseconds since the epoch, and bounds are inclusive. A key of None raises
NullArgumentError. What can't be serialized raises what the serde raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from headrace.core.record import VersionedRecord
from headrace.core.windowed import Windowed
from headrace.serde.serde import Serde

K = TypeVar("K")
V = TypeVar("V")
KIn = TypeVar("KIn", contravariant=True)
VIn = TypeVar("VIn", contravariant=True)


class KeyValueStore(Protocol[K, V]):
    """Keys to values, in the order of the keys' bytes. Of a timestamped store, a value is a
    ValueAndTimestamp."""

    def get(self, key: K) -> V | None:
        """The value of a key, or None."""
        ...

    def put(self, key: K, value: V | None) -> None:
        """Set the value of a key; None deletes it."""
        ...

    def put_if_absent(self, key: K, value: V | None) -> V | None:
        """Set the value of a key that has none. Gives the value that was there, or None."""
        ...

    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        """Put all entries, in their order."""
        ...

    def delete(self, key: K) -> V | None:
        """Delete a key. Gives the value that was there, or None."""
        ...

    def range(self, low: K | None, high: K | None) -> Iterator[tuple[K, V]]:
        """The entries from `low` to `high`, ascending; a bound of None is open."""
        ...

    def reverse_range(self, low: K | None, high: K | None) -> Iterator[tuple[K, V]]:
        """As `range`, but descending."""
        ...

    def all(self) -> Iterator[tuple[K, V]]:
        """All entries, ascending."""
        ...

    def reverse_all(self) -> Iterator[tuple[K, V]]:
        """All entries, descending."""
        ...

    def prefix_scan(
        self, prefix: Any, serializer: Serde[Any] | Callable[[Any], bytes]
    ) -> Iterator[tuple[K, V]]:
        """The entries whose key bytes begin with those that `serializer` makes of `prefix`."""
        ...

    def approximate_num_entries(self) -> int:
        """How many entries there are, without what is still in the cache."""
        ...


class VersionedKeyValueStore(Protocol[KIn, VIn]):
    """Keys to values, and what they were at any time of the store's history."""

    def put(self, key: KIn, value: VIn | None, timestamp: int) -> int:
        """Add a version; None is a deletion. Gives the timestamp of the version after it, or -1 if
        it is the latest. One that is older than the history is dropped, and counted."""
        ...

    def delete(self, key: KIn, timestamp: int) -> VersionedRecord | None:
        """Delete a key from `timestamp` on. Gives the version that was valid then, or None."""
        ...

    def get(self, key: KIn) -> VersionedRecord | None:
        """The latest version, or None."""
        ...

    def get_as_of(self, key: KIn, timestamp: int) -> VersionedRecord | None:
        """The version that was valid at a time; None if there was none, or if that is before the
        history."""
        ...


class WindowStore(Protocol[K, V]):
    """(Key, window start) to values. A window that is older than the retention can't be put any
    more: it is dropped, and counted. Of a timestamped store, a value is a ValueAndTimestamp."""

    def put(self, key: K, value: V | None, start: int) -> None:
        """Set the value of the window that begins at `start`; None deletes it."""
        ...

    def fetch_one(self, key: K, time: int) -> V | None:
        """The value of the window that begins at exactly that time, or None."""
        ...

    def fetch(self, key: K, first: int, last: int) -> Iterator[tuple[int, V]]:
        """(start, value) of a key's windows that begin in that time, ascending."""
        ...

    def backward_fetch(self, key: K, first: int, last: int) -> Iterator[tuple[int, V]]:
        """As `fetch`, but descending."""
        ...

    def fetch_range(
        self, low: K | None, high: K | None, first: int, last: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """The windows of several keys; a bound of None is open."""
        ...

    def backward_fetch_range(
        self, low: K | None, high: K | None, first: int, last: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """As `fetch_range`, but backwards."""
        ...

    def fetch_all(self, first: int, last: int) -> Iterator[tuple[Windowed[K], V]]:
        """The windows of all keys that begin in that time."""
        ...

    def backward_fetch_all(self, first: int, last: int) -> Iterator[tuple[Windowed[K], V]]:
        """As `fetch_all`, but backwards."""
        ...

    def all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All windows."""
        ...

    def backward_all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All windows, backwards."""
        ...


class SessionStore(Protocol[K, V]):
    """(Key, session) to values. A session that ended before the retention can't be put any more: it
    is dropped, and counted."""

    def put(self, session: Windowed[K], value: V | None) -> None:
        """Set the value of a session; None deletes it."""
        ...

    def remove(self, session: Windowed[K]) -> None:
        """Delete a session."""
        ...

    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        """The value of exactly that session, or None."""
        ...

    def find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """The sessions of a key that end at `earliest_end` or later and begin at `latest_start` or
        earlier, by their ends."""
        ...

    def backward_find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """As `find_sessions`, but backwards."""
        ...

    def find_sessions_range(
        self, low: K | None, high: K | None, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """The sessions of several keys; a bound of None is open."""
        ...

    def fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of a key, by their ends."""
        ...

    def backward_fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """As `fetch`, but backwards."""
        ...

    def fetch_range(self, low: K | None, high: K | None) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of several keys; a bound of None is open."""
        ...

    def backward_fetch_range(
        self, low: K | None, high: K | None
    ) -> Iterator[tuple[Windowed[K], V]]:
        """As `fetch_range`, but backwards."""
        ...
