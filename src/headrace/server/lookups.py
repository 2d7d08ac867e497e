"""What stores hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.record import ValueAndTimestamp, VersionedRecord
from headrace.query.keys import read_bytes, read_key
from headrace.query.local_state import LocalState, StorePartition
from headrace.query.pages import (
    Cursor,
    EntryScan,
    KeyWindowScan,
    Page,
    Scan,
    SessionScan,
    VersionScan,
    WindowScan,
    page,
)
from headrace.query.stores import ReadOnlyTimestampedKeyValueStore, ReadOnlyVersionedStore
from headrace.runtime.serdes import SerdeResolver
from headrace.serde.serde import Serde
from headrace.serde.value_with_headers import AggregationWithHeaders, ValueTimestampHeaders
from headrace.server.answers import (
    Entries,
    Entry,
    Host,
    KeyMetadata,
    Lookup,
    Value,
    Version,
    Versions,
    Window,
    Windows,
)
from headrace.server.application import Application
from headrace.server.problems import ProblemError, bad_request
from headrace.server.routes import Parameters
from headrace.server.stores import StoreList


class Lookups:
    """Answers from the stores of an application."""

    def __init__(self, application: Application, stores: StoreList) -> None:
        self._application = application
        self._stores = stores

    def value(self, asked: Parameters) -> Value:
        state = self._able(asked["store"], "value")
        name, key = asked["store"], self._key(asked, asked["key"])
        partitions = state.partitions(name, asked["partition"])
        as_of = asked["as_of"]
        if self._stores.one(name).kind == "versioned":
            versions = ReadOnlyVersionedStore[Any](name, partitions)
            version = versions.get(key) if as_of is None else versions.get_as_of(key, as_of)
            if version is None:
                raise _no_such_key(name, asked["key"])
            return Value(*self._told(asked)(key, version[0]), *version[1:])
        if as_of is not None:
            raise bad_request(
                "bad-parameter", f"Store {name} has no versions, so as_of makes no sense."
            )
        found = ReadOnlyTimestampedKeyValueStore[Any](name, partitions).get(key)
        if found is None:
            raise _no_such_key(name, asked["key"])
        value, timestamp = _plain(found)
        return Value(*self._told(asked)(key, value), timestamp, None)

    def entries(self, asked: Parameters) -> Entries:
        self._able(asked["store"], "entries")
        low, high, prefix = asked["from"], asked["to"], asked["prefix"]
        if prefix is not None and (low is not None or high is not None):
            raise bad_request("bad-parameter", "It is either a prefix, or from and to.")
        serialize = self._serde(asked["store"]).serialize
        found = self._page(
            asked,
            EntryScan(
                None if low is None else serialize(self._key(asked, low)),
                None if high is None else serialize(self._key(asked, high)),
                None if prefix is None else read_bytes(prefix, asked["encoding"]),
                _descending(asked),
            ),
        )
        told = self._told(asked)
        items = []
        for key, entry in found.items:
            value, timestamp = _plain(entry)
            items.append(Entry(*told(key, value), timestamp))
        return Entries(items, _next(found))

    def windows(self, asked: Parameters) -> Windows:
        self._able(asked["store"], "windows")
        key, low, high = self._keys(asked)
        times = asked["from"], asked["to"]
        scan = (
            WindowScan(low, high, *times, _descending(asked))
            if key is None
            else KeyWindowScan(key, *times, _descending(asked))
        )
        return self._windows(asked, scan)

    def sessions(self, asked: Parameters) -> Windows:
        self._able(asked["store"], "sessions")
        times = asked["from"], asked["to"]
        scan = SessionScan(*self._keys(asked), *times, _descending(asked))
        return self._windows(asked, scan)

    def versions(self, asked: Parameters) -> Versions:
        self._able(asked["store"], "versions")
        key = self._key(asked, asked["key"])
        found = self._page(asked, VersionScan(key, asked["from"], asked["to"], _descending(asked)))
        versions: list[VersionedRecord] = found.items
        return Versions([Version(*version) for version in versions], _next(found))

    def key_of(self, asked: Parameters) -> Any:
        """The key that is asked for."""
        return self._key(asked, asked["key"])

    def where(self, asked: Parameters) -> KeyMetadata:
        """Where a key is."""
        self._application.local_state()
        key = self._key(asked, asked["key"])
        found = self._application.query_metadata_for_key(asked["store"], key)
        standbys = [Host(*host) for host in sorted(found.standby_hosts)]
        return KeyMetadata(Host(*found.active_host), standbys, found.partition)

    def _able(self, name: str, lookup: Lookup) -> LocalState:
        """The state, if the store is there and can answer."""
        store = self._stores.one(name)
        if lookup not in store.lookups:
            able = " or ".join(f"/v1/stores/{name}/{other}" for other in store.lookups)
            raise bad_request(
                "wrong-store-kind",
                f"Store {name} is of kind {store.kind}, and has no {lookup}.",
                f"Ask {able}." if able else "Nothing can be looked up there.",
            )
        return self._application.local_state()

    def _page(self, asked: Parameters, scan: Scan) -> Page:
        state = self._application.local_state()
        by_number = state.partitions(asked["store"], asked["partition"])
        partitions: list[StorePartition] = [by_number[number] for number in sorted(by_number)]
        cursor = None if asked["cursor"] is None else Cursor.from_text(asked["cursor"])
        return page(scan, partitions, asked["limit"], cursor)

    def _windows(self, asked: Parameters, scan: Scan) -> Windows:
        found, told = self._page(asked, scan), self._told(asked)
        items = []
        for windowed, entry in found.items:
            value, timestamp = _plain(entry)
            key, value = told(windowed.key, value)
            start, end = windowed.window
            items.append(Window(key, start, end, value, timestamp))
        return Windows(items, _next(found))

    def _told(self, asked: Parameters) -> Callable[[Any, Any], tuple[Any, Any]]:
        """How a key and a value are answered."""
        if asked["raw"] != "true":
            return lambda key, value: (key, value)
        value_serde = self._application.topology.stores[asked["store"]].value_serde
        of_key = self._serde(asked["store"]).serialize
        of_value = SerdeResolver(self._application.config)(value_serde, "value").serialize
        return lambda key, value: (of_key(key), None if value is None else of_value(value))

    def _serde(self, store: str) -> Serde[Any]:
        spec = self._application.topology.stores[store]
        return SerdeResolver(self._application.config)(spec.key_serde, "key")

    def _key(self, asked: Parameters, text: str) -> Any:
        self._stores.one(asked["store"])
        return read_key(text, self._serde(asked["store"]), asked["encoding"])

    def _keys(self, asked: Parameters) -> tuple[Any, Any, Any]:
        """One key, or the bounds of some."""
        one, low, high = asked["key"], asked["key_from"], asked["key_to"]
        if one is not None and (low is not None or high is not None):
            raise bad_request("bad-parameter", "It is either a key, or key_from and key_to.")
        key, first, last = (
            None if text is None else self._key(asked, text) for text in (one, low, high)
        )
        return key, first, last


def _plain(value: Any) -> tuple[Any, int | None]:
    """A value, and its timestamp if the store has them."""
    match value:
        case ValueAndTimestamp() | ValueTimestampHeaders():
            return value.value, value.timestamp
        case AggregationWithHeaders():
            return value.aggregation, None
    return value, None


def _descending(asked: Parameters) -> bool:
    return bool(asked["order"] == "desc")


def _next(found: Page) -> str | None:
    return None if found.next is None else found.next.to_text()


def _no_such_key(store: str, key: str) -> ProblemError:
    return ProblemError(404, "no-such-key", f"Store {store} has no key {key[:80]!r}.")
