"""How the current value of a key of a table is read: from a store, or computed from another table.

Immutable specs, as in `operators`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

Function = Callable[..., Any]


class JoinKind(Enum):
    INNER = "inner"
    LEFT = "left"
    OUTER = "outer"


class StoreView(NamedTuple):
    """The table is kept in a (timestamped or versioned) key-value store."""

    store: str


class WindowStoreView(NamedTuple):
    """The table is kept in a timestamped window store."""

    store: str


class SessionStoreView(NamedTuple):
    """The table is kept in a session store."""

    store: str


class FilterView(NamedTuple):
    parent: TableView
    predicate: Function
    negate: bool


class MapValuesView(NamedTuple):
    parent: TableView
    mapper: Function
    with_key: bool


class TransformValuesView(NamedTuple):
    """A transformer of its own (`supplier()`), run over the parent's value."""

    parent: TableView
    supplier: Function


class RepartitionMapView(NamedTuple):
    """The (key, value) that `mapper` makes of the parent's current value."""

    parent: TableView
    mapper: Function


class JoinView(NamedTuple):
    """The current result of joining two tables. `kind` as in TableTableJoin; left is `this`."""

    kind: JoinKind
    this: TableView
    other: TableView
    joiner: Function


class SuppressView(NamedTuple):
    """The value before those that the suppression buffer holds back, else the parent's."""

    parent: TableView
    buffer_store: str


TableView: TypeAlias = (
    StoreView
    | WindowStoreView
    | SessionStoreView
    | FilterView
    | MapValuesView
    | TransformValuesView
    | RepartitionMapView
    | JoinView
    | SuppressView
)
