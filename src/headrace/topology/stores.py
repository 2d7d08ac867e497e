"""State stores as a topology names them: frozen specs that a runtime builds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from headrace.serde.serde import SerdeLike


class Backend(Enum):
    """Where a store keeps its entries, which also decides the order of its scans.

    PERSISTENT  on disk where there is one; scans go by segment, then by key bytes
    IN_MEMORY   in the process; window and session scans go by time first
    LRU         in the process, at most `max_entries` of a key-value store
    """

    PERSISTENT = "persistent"
    IN_MEMORY = "in_memory"
    LRU = "lru"


@dataclass(frozen=True, kw_only=True)
class StoreSpec:
    """What all stores have in common.

    `logging`: updates also go to the store's changelog topic, from which it can be rebuilt.
    `caching`: updates of a key are held back and merged until the next commit.
    """

    name: str
    key_serde: SerdeLike = None
    value_serde: SerdeLike = None
    backend: Backend | None = Backend.PERSISTENT
    """None: as the setting `dsl.store.suppliers.class` says."""
    logging: bool = True
    log_config: Mapping[str, str] = field(default_factory=dict)
    caching: bool = False


@dataclass(frozen=True, kw_only=True)
class KeyValueStoreSpec(StoreSpec):
    """Keys to values. `timestamped`: every value has its record's timestamp with it."""

    timestamped: bool = False
    forgets_timestamps: bool = False
    """Timestamped, but made of a store that isn't: timestamps come back as -1."""
    headers: bool | None = False
    """Timestamped, and the record's headers are kept as well. None: if the setting
    `dsl.store.format` says so."""
    max_entries: int | None = None


@dataclass(frozen=True, kw_only=True)
class VersionedStoreSpec(StoreSpec):
    """Keys to values, with their history for `history_ms` of event time."""

    history_ms: int
    segment_ms: int | None = None


@dataclass(frozen=True, kw_only=True)
class WindowStoreSpec(StoreSpec):
    """(key, window start) to values, kept for `retention_ms` of event time."""

    retention_ms: int
    window_ms: int
    retain_duplicates: bool = False
    timestamped: bool = False
    forgets_timestamps: bool = False
    """As in a KeyValueStoreSpec."""
    headers: bool | None = False
    time_ordered: bool = False
    """Laid out by time first, for aggregations that emit when a window closes."""


@dataclass(frozen=True, kw_only=True)
class SessionStoreSpec(StoreSpec):
    """(key, session) to values, kept for `retention_ms` of event time."""

    retention_ms: int
    headers: bool | None = False
    time_ordered: bool = False


@dataclass(frozen=True, kw_only=True)
class OuterJoinStoreSpec(StoreSpec):
    """The unmatched records of a stream-stream join: (time, side, key) to a list of values.

    `key_serde` is the serde of the join key, `value_serde` that of the left values.
    """

    right_value_serde: SerdeLike = None
    retention_ms: int = 0


@dataclass(frozen=True, kw_only=True)
class SuppressBufferSpec(StoreSpec):
    """The updates that a suppression holds back, ordered by time."""


@dataclass(frozen=True, kw_only=True)
class JoinBufferSpec(StoreSpec):
    """The stream records that a stream-table join with grace holds back, ordered by time."""

    grace_ms: int


@dataclass(frozen=True, kw_only=True)
class SubscriptionStoreSpec(StoreSpec):
    """Which primary keys wait for which foreign key: (foreign key, primary key) to subscription.

    A timestamped key-value store; `key_serde` is the combined-key serde, `value_serde` that of
    subscriptions.
    """
