"""How the current row of a table is read, whether the table has a store or is computed.

Each kind of view has a reader, registered like the compilers of operators:

    @reads(FilterView)
    def read_filtered(view: FilterView, node: OperatorNode) -> TableReader:
        ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from headrace.core.errors import StateError
from headrace.core.record import NO_HEADERS, ValueAndTimestamp, VersionedRecord
from headrace.runtime.context import RecordContext
from headrace.runtime.operator import OperatorNode
from headrace.runtime.operators.transformer import start_transformer
from headrace.topology.stores import VersionedStoreSpec
from headrace.topology.views import (
    FilterView,
    MapValuesView,
    RepartitionMapView,
    SessionStoreView,
    StoreView,
    SuppressView,
    TableView,
    TransformValuesView,
    WindowStoreView,
)

V = TypeVar("V", bound=TableView)

Row = ValueAndTimestamp | None


class TableReader(Protocol):
    """Reads the rows of a table. None is a row that isn't there."""

    @property
    def is_versioned(self) -> bool:
        """Whether `get_as_of` may be called."""
        ...

    def get(self, key: Any) -> Row: ...

    def get_as_of(self, key: Any, timestamp: int) -> Row:
        """The row as it was at `timestamp`. Raises StateError if the table isn't versioned."""
        ...


_READERS: dict[type, Callable[[Any, OperatorNode], TableReader]] = {}


def reads(
    view: type[V],
) -> Callable[[Callable[[V, OperatorNode], TableReader]], Callable[[V, OperatorNode], TableReader]]:
    """Register the decorated function as the maker of readers of `view`."""

    def register(
        maker: Callable[[V, OperatorNode], TableReader],
    ) -> Callable[[V, OperatorNode], TableReader]:
        _READERS[view] = maker
        return maker

    return register


def compile_view(view: TableView, node: OperatorNode) -> TableReader:
    """The reader of a view, for the operator at `node`, which is connected to the view's stores."""
    return _READERS[type(view)](view, node)


class LatestReader:
    """A reader of tables without history: `LatestReader(get)`."""

    __slots__ = ("get",)

    is_versioned = False

    def __init__(self, get: Callable[[Any], Row]) -> None:
        self.get = get

    def get_as_of(self, key: Any, timestamp: int) -> Row:
        raise StateError("The table keeps no history, so that it can't be read as of a time.")


class DerivedReader:
    """Computes `derive(key, row)` of the rows of another table, versioned if that is."""

    __slots__ = ("_derive", "_parent", "is_versioned")

    def __init__(self, parent: TableReader, derive: Callable[[Any, Row], Row]) -> None:
        self._parent = parent
        self._derive = derive
        self.is_versioned = parent.is_versioned

    def get(self, key: Any) -> Row:
        return self._derive(key, self._parent.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> Row:
        return self._derive(key, self._parent.get_as_of(key, timestamp))


class VersionedReader:
    """A reader of a table in a versioned store, where the highest timestamp is the latest."""

    __slots__ = ("_store",)

    is_versioned = True

    def __init__(self, store: Any) -> None:
        self._store = store

    def get(self, key: Any) -> Row:
        return _as_row(self._store.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> Row:
        return _as_row(self._store.get_as_of(key, timestamp))


def _as_row(version: VersionedRecord | None) -> Row:
    return None if version is None else ValueAndTimestamp(version.value, version.timestamp)


def is_versioned(store: Any) -> bool:
    return isinstance(store.spec, VersionedStoreSpec)


@reads(StoreView)
def read_store(view: StoreView, node: OperatorNode) -> TableReader:
    store = node.stores[view.store]
    return VersionedReader(store) if is_versioned(store) else LatestReader(store.get)


@reads(WindowStoreView)
def read_window_store(view: WindowStoreView, node: OperatorNode) -> TableReader:
    fetch_one = node.stores[view.store].fetch_one

    def get(key: Any) -> Row:
        row: Row = fetch_one(key.key, key.window.start)
        return row

    return LatestReader(get)


@reads(SessionStoreView)
def read_session_store(view: SessionStoreView, node: OperatorNode) -> TableReader:
    fetch_session = node.stores[view.store].fetch_session

    def get(key: Any) -> Row:
        start, end = key.window
        return _row(fetch_session(key.key, start, end), end)

    return LatestReader(get)


@reads(FilterView)
def read_filtered(view: FilterView, node: OperatorNode) -> TableReader:
    predicate, negate = view.predicate, view.negate

    def derive(key: Any, row: Row) -> Row:
        if row is None or bool(predicate(key, row.value)) == negate:
            return None
        return row

    return DerivedReader(compile_view(view.parent, node), derive)


@reads(MapValuesView)
def read_mapped(view: MapValuesView, node: OperatorNode) -> TableReader:
    mapper, with_key = view.mapper, view.with_key

    def derive(key: Any, row: Row) -> Row:
        if row is None:
            return None
        return _row(mapper(key, row.value) if with_key else mapper(row.value), row.timestamp)

    return DerivedReader(compile_view(view.parent, node), derive)


@reads(TransformValuesView)
def read_transformed(view: TransformValuesView, node: OperatorNode) -> TableReader:
    """The transformer runs for rows that aren't there too. While it does, the registers are those
    of a row of unknown origin: only its timestamp is known (-1 if there is no row)."""
    context = node.context
    parent = compile_view(view.parent, node)
    transform = start_transformer(view.supplier, node).transform

    def derive(key: Any, row: Row) -> Row:
        value, timestamp = (None, -1) if row is None else row
        before = context.snapshot()
        context.restore(RecordContext(timestamp, NO_HEADERS, None, -1, -1, None, None))
        try:
            return _row(transform(key, value), timestamp)
        finally:
            context.restore(before)

    return DerivedReader(parent, derive)


@reads(RepartitionMapView)
def read_repartition_mapped(view: RepartitionMapView, node: OperatorNode) -> TableReader:
    """Its rows are pairs of key and value. The mapper runs for rows that aren't there too."""
    context, mapper = node.context, view.mapper

    def derive(key: Any, row: Row) -> Row:
        value, timestamp = (None, context.timestamp) if row is None else row
        return _row(mapper(key, value), timestamp)

    return DerivedReader(compile_view(view.parent, node), derive)


@reads(SuppressView)
def read_suppressed(view: SuppressView, node: OperatorNode) -> TableReader:
    """What was last let through: a row that is held back is not yet seen."""
    prior_value = node.stores[view.buffer_store].prior_value
    parent = compile_view(view.parent, node)

    def get(key: Any) -> Row:
        is_held_back, before = prior_value(key)
        return before if is_held_back else parent.get(key)

    return LatestReader(get)


def _row(value: Any, timestamp: int) -> Row:
    return None if value is None else ValueAndTimestamp(value, timestamp)
