"""State stores: typed outside, a record cache and a changelog within, bytes at the bottom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from headrace.core.config import StreamsConfig
from headrace.runtime.stores.buffer import Eviction
from headrace.runtime.stores.cache import RecordCache
from headrace.runtime.stores.environment import ChangelogRecord, StoreEnvironment
from headrace.runtime.stores.join_buffer import JoinBuffer
from headrace.runtime.stores.key_value import (
    KeyValueStore,
    SubscriptionStore,
    TimestampedKeyValueStore,
)
from headrace.runtime.stores.ordered_map import InMemoryOrderedMap, OrderedMap
from headrace.runtime.stores.outer_join import OuterJoinStore
from headrace.runtime.stores.session import SessionStore
from headrace.runtime.stores.storage import InMemoryStorage, Storage, StorageError
from headrace.runtime.stores.store import FlushListener, Store
from headrace.runtime.stores.suppress_buffer import SuppressBuffer
from headrace.runtime.stores.versioned import VersionedKeyValueStore
from headrace.runtime.stores.window import (
    JoinWindowStore,
    TimestampedWindowStore,
    WindowStore,
)
from headrace.topology.stores import (
    Backend,
    JoinBufferSpec,
    KeyValueStoreSpec,
    OuterJoinStoreSpec,
    SessionStoreSpec,
    StoreSpec,
    SubscriptionStoreSpec,
    SuppressBufferSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)

__all__ = [
    "ChangelogRecord",
    "Eviction",
    "FlushListener",
    "InMemoryOrderedMap",
    "InMemoryStorage",
    "JoinBuffer",
    "JoinWindowStore",
    "KeyValueStore",
    "OrderedMap",
    "OuterJoinStore",
    "RecordCache",
    "SessionStore",
    "Storage",
    "StorageError",
    "Store",
    "StoreEnvironment",
    "SubscriptionStore",
    "SuppressBuffer",
    "TimestampedKeyValueStore",
    "TimestampedWindowStore",
    "VersionedKeyValueStore",
    "WindowStore",
    "build_store",
]

Spec = TypeVar("Spec", bound=StoreSpec)


def build_store(spec: StoreSpec, environment: StoreEnvironment) -> Any:
    """The store that a spec describes, open, with what the storage has of it.

    What the spec leaves to the settings (`backend` or `headers` None) is taken from them.
    """
    spec = _with_backend(spec, environment.context.config)
    return _BUILDERS[type(spec)](spec, environment)


def _with_backend(spec: Spec, config: StreamsConfig) -> Spec:
    if spec.backend is not None:
        return spec
    return replace(spec, backend=Backend(config["dsl.store.suppliers.class"]))


def _keeps_headers(
    spec: KeyValueStoreSpec | WindowStoreSpec | SessionStoreSpec, environment: StoreEnvironment
) -> bool:
    """Where the setting decides, only persistent stores do."""
    if spec.headers is None:
        wanted = environment.context.config["dsl.store.format"] == "headers"
        return bool(wanted) and spec.backend is Backend.PERSISTENT
    return spec.headers


def _key_value(spec: KeyValueStoreSpec, environment: StoreEnvironment) -> Store:
    keeps_headers = _keeps_headers(spec, environment)
    store = TimestampedKeyValueStore if spec.timestamped or keeps_headers else KeyValueStore
    return store(spec, environment, keeps_headers=keeps_headers)


def _window(spec: WindowStoreSpec, environment: StoreEnvironment) -> Store:
    keeps_headers = _keeps_headers(spec, environment)
    if spec.retain_duplicates and spec.headers is None:
        # The stores of stream-stream joins log headers whatever the setting says.
        keeps_them = keeps_headers or spec.backend is Backend.IN_MEMORY
        store = JoinWindowStore if keeps_them else WindowStore
        return store(spec, environment, keeps_headers=True)
    store = TimestampedWindowStore if spec.timestamped else WindowStore
    return store(spec, environment, keeps_headers=keeps_headers)


def _session(spec: SessionStoreSpec, environment: StoreEnvironment) -> Store:
    return SessionStore(spec, environment, keeps_headers=_keeps_headers(spec, environment))


_BUILDERS: dict[type[StoreSpec], Callable[[Any, StoreEnvironment], Store]] = {
    KeyValueStoreSpec: _key_value,
    VersionedStoreSpec: VersionedKeyValueStore,
    WindowStoreSpec: _window,
    SessionStoreSpec: _session,
    OuterJoinStoreSpec: OuterJoinStore,
    SuppressBufferSpec: SuppressBuffer,
    JoinBufferSpec: JoinBuffer,
    SubscriptionStoreSpec: SubscriptionStore,
}
