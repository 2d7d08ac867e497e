"""Interactive queries: reading the stores of an application that runs."""

from headrace.query.queries import (
    KeyQuery,
    MultiVersionedKeyQuery,
    RangeQuery,
    TimestampedKeyQuery,
    TimestampedRangeQuery,
    VersionedKeyQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)
from headrace.query.request import FailureReason, QueryResult, StateQueryRequest, StateQueryResult
from headrace.query.stores import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyStore,
    ReadOnlyTimestampedKeyValueStore,
    ReadOnlyTimestampedWindowStore,
    ReadOnlyVersionedStore,
    ReadOnlyWindowStore,
)

__all__ = [
    "FailureReason",
    "KeyQuery",
    "MultiVersionedKeyQuery",
    "QueryResult",
    "RangeQuery",
    "ReadOnlyKeyValueStore",
    "ReadOnlySessionStore",
    "ReadOnlyStore",
    "ReadOnlyTimestampedKeyValueStore",
    "ReadOnlyTimestampedWindowStore",
    "ReadOnlyVersionedStore",
    "ReadOnlyWindowStore",
    "StateQueryRequest",
    "StateQueryResult",
    "TimestampedKeyQuery",
    "TimestampedRangeQuery",
    "VersionedKeyQuery",
    "WindowKeyQuery",
    "WindowRangeQuery",
]
