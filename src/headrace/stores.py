"""State stores to give to a topology, one function for each kind.

What they have in common: `logging` also writes updates to a changelog topic, created with
`log_config`, from which the store can be rebuilt; `caching` holds updates of a key back and merges
them until the next commit. A serde that is None is the configured default.

A spec is one store: to share it between processors, add the same object again or connect them by
its name. Two specs with the same name are a conflict, even if they are equal.

KeyValueStore, VersionedKeyValueStore, WindowStore and SessionStore are the types of the stores
themselves, to annotate what a processor gets from its context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError, StateError, require
from headrace.serde.serde import SerdeLike
from headrace.topology.state import (
    KeyValueStore,
    SessionStore,
    VersionedKeyValueStore,
    WindowStore,
)
from headrace.topology.stores import (
    Backend,
    KeyValueStoreSpec,
    SessionStoreSpec,
    StoreSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)

__all__ = [
    "Backend",
    "KeyValueStore",
    "KeyValueStoreSpec",
    "SessionStore",
    "SessionStoreSpec",
    "StoreSpec",
    "VersionedKeyValueStore",
    "VersionedStoreSpec",
    "WindowStore",
    "WindowStoreSpec",
    "key_value",
    "lru",
    "session",
    "timestamped_key_value",
    "timestamped_window",
    "versioned",
    "window",
]

_NO_CONFIG: Mapping[str, str] = {}


def key_value(
    name: str,
    *,
    key: SerdeLike = None,
    value: SerdeLike = None,
    backend: Backend = Backend.PERSISTENT,
    logging: bool = True,
    log_config: Mapping[str, str] = _NO_CONFIG,
    caching: bool = False,
) -> KeyValueStoreSpec:
    """A store of one value for each key."""
    _check_name(name)
    if backend is Backend.LRU:
        raise ArgumentError(
            f"Store {name!r}: a store of the backend LRU needs a number of entries. "
            "Make it with stores.lru(name, max_entries)."
        )
    return KeyValueStoreSpec(
        name=name,
        key_serde=key,
        value_serde=value,
        backend=backend,
        logging=logging,
        log_config=dict(log_config),
        caching=caching,
    )


def timestamped_key_value(
    name: str,
    *,
    key: SerdeLike = None,
    value: SerdeLike = None,
    backend: Backend = Backend.PERSISTENT,
    logging: bool = True,
    log_config: Mapping[str, str] = _NO_CONFIG,
    caching: bool = False,
) -> KeyValueStoreSpec:
    """As `key_value`, but values are ValueAndTimestamp: what tables keep their entries in."""
    spec = key_value(
        name,
        key=key,
        value=value,
        backend=backend,
        logging=logging,
        log_config=log_config,
        caching=caching,
    )
    return replace(spec, timestamped=True)


def lru(
    name: str,
    max_entries: int,
    *,
    key: SerdeLike = None,
    value: SerdeLike = None,
    logging: bool = True,
    log_config: Mapping[str, str] = _NO_CONFIG,
    caching: bool = False,
) -> KeyValueStoreSpec:
    """A key-value store in memory that forgets the entry that was used least recently when it holds
    more than `max_entries`."""
    _check_name(name)
    if max_entries < 0:
        raise ArgumentError(f"Store {name!r}: max_entries can't be negative, but is {max_entries}.")
    return KeyValueStoreSpec(
        name=name,
        key_serde=key,
        value_serde=value,
        backend=Backend.LRU,
        logging=logging,
        log_config=dict(log_config),
        caching=caching,
        max_entries=max_entries,
    )


def versioned(
    name: str,
    history: timedelta,
    *,
    segment: timedelta | None = None,
    key: SerdeLike = None,
    value: SerdeLike = None,
    logging: bool = True,
    log_config: Mapping[str, str] = _NO_CONFIG,
    caching: bool = False,
) -> VersionedStoreSpec:
    """A key-value store that can be asked for the value at any time of its history.

    `history` is how far back in event time that is possible, and how late a record may be. Entries
    are dropped by whole segments; `segment` is the span of one, and None leaves it to the store.
    It is always persistent. `caching` raises StateError: an older version can't be held back.
    """
    _check_name(name)
    if caching:
        raise StateError(f"Store {name!r}: versioned stores can't be cached. Leave caching off.")
    return VersionedStoreSpec(
        name=name,
        key_serde=key,
        value_serde=value,
        logging=logging,
        log_config=dict(log_config),
        history_ms=_not_negative(name, "history", history),
        segment_ms=None if segment is None else _positive(name, "segment", segment),
    )


def window(
    name: str,
    *,
    retention: timedelta,
    size: timedelta,
    retain_duplicates: bool = False,
    key: SerdeLike = None,
    value: SerdeLike = None,
    backend: Backend = Backend.PERSISTENT,
    logging: bool = True,
    log_config: Mapping[str, str] = _NO_CONFIG,
    caching: bool = False,
) -> WindowStoreSpec:
    """A store of one value for each key and window start, or with `retain_duplicates` any number.

    `retention` is how long windows are kept, in event time; it must be at least `size`, the length
    of a window. Duplicates can't be cached, so `caching` is without effect then.
    """
    _check_name(name)
    _check_not_lru(name, backend)
    retention_ms = _not_negative(name, "retention", retention)
    window_ms = _not_negative(name, "size", size)
    if window_ms > retention_ms:
        raise ArgumentError(
            f"Store {name!r}: a window can't be kept for less than its size, but the size is "
            f"{window_ms} ms and the retention {retention_ms} ms. Make the retention longer."
        )
    return WindowStoreSpec(
        name=name,
        key_serde=key,
        value_serde=value,
        backend=backend,
        logging=logging,
        log_config=dict(log_config),
        caching=caching and not retain_duplicates,
        retention_ms=retention_ms,
        window_ms=window_ms,
        retain_duplicates=retain_duplicates,
    )


def timestamped_window(
    name: str,
    *,
    retention: timedelta,
    size: timedelta,
    retain_duplicates: bool = False,
    key: SerdeLike = None,
    value: SerdeLike = None,
    backend: Backend = Backend.PERSISTENT,
    logging: bool = True,
    log_config: Mapping[str, str] = _NO_CONFIG,
    caching: bool = False,
) -> WindowStoreSpec:
    """As `window`, but values are ValueAndTimestamp: what windowed aggregations are kept in."""
    spec = window(
        name,
        retention=retention,
        size=size,
        retain_duplicates=retain_duplicates,
        key=key,
        value=value,
        backend=backend,
        logging=logging,
        log_config=log_config,
        caching=caching,
    )
    return replace(spec, timestamped=True)


def session(
    name: str,
    *,
    retention: timedelta,
    key: SerdeLike = None,
    value: SerdeLike = None,
    backend: Backend = Backend.PERSISTENT,
    logging: bool = True,
    log_config: Mapping[str, str] = _NO_CONFIG,
    caching: bool = False,
) -> SessionStoreSpec:
    """A store of one value for each key and session; `retention` is how long sessions are kept, in
    event time."""
    _check_name(name)
    _check_not_lru(name, backend)
    return SessionStoreSpec(
        name=name,
        key_serde=key,
        value_serde=value,
        backend=backend,
        logging=logging,
        log_config=dict(log_config),
        caching=caching,
        retention_ms=_not_negative(name, "retention", retention),
    )


def _check_name(name: str) -> None:
    require(name, "The name of a state store")


def _check_not_lru(name: str, backend: Backend) -> None:
    if backend is Backend.LRU:
        raise ArgumentError(f"Store {name!r}: only key-value stores can have the backend LRU.")


def _not_negative(store: str, what: str, duration: timedelta) -> int:
    duration_ms = to_ms(duration, f"The {what} of store {store!r}")
    if duration_ms < 0:
        raise ArgumentError(f"Store {store!r}: the {what} can't be negative, but is {duration}.")
    return duration_ms


def _positive(store: str, what: str, duration: timedelta) -> int:
    duration_ms = to_ms(duration, f"The {what} of store {store!r}")
    if duration_ms < 1:
        raise ArgumentError(
            f"Store {store!r}: the {what} must be at least a millisecond, but is {duration}."
        )
    return duration_ms
