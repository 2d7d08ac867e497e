from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import StateError
from headrace.core.record import Change, RecordMetadata, ValueAndTimestamp
from headrace.core.windowed import Window, Windowed
from headrace.runtime.context import NO_RECORD
from headrace.runtime.operators.views import TableReader, compile_view
from headrace.topology.operators import PassThrough
from headrace.topology.processor import ValueTransformer
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

from .harness import (
    Bench,
    SessionStore,
    SuppressBuffer,
    TimestampedStore,
    VersionedStore,
    WindowStore,
)

STORE = StoreView("store")
Row = ValueAndTimestamp


def reader(view: TableView, *stores: Any) -> TableReader:
    return compile_view(view, Bench(PassThrough(), *stores).node)


@pytest.fixture
def table() -> TimestampedStore:
    store = TimestampedStore()
    store.rows = {"k": Row(5, 100)}
    return store


def test_a_store(table: TimestampedStore) -> None:
    rows = reader(STORE, table)
    assert not rows.is_versioned
    assert rows.get("k") == Row(5, 100)
    assert rows.get("x") is None
    with pytest.raises(StateError, match="history"):
        rows.get_as_of("k", 100)


def test_a_versioned_store_and_what_is_computed_of_it() -> None:
    store = VersionedStore()
    store.put("k", 1, 10)
    store.put("k", 2, 20)
    rows = reader(STORE, store)
    assert rows.is_versioned
    assert rows.get("k") == Row(2, 20)
    assert rows.get("x") is None
    assert rows.get_as_of("k", 15) == Row(1, 10)
    assert rows.get_as_of("k", 5) is None
    doubled = reader(MapValuesView(STORE, lambda value: value * 2, False), store)
    assert doubled.is_versioned
    assert doubled.get_as_of("k", 15) == Row(2, 10)


def test_windows_and_sessions() -> None:
    windows, sessions = WindowStore("windows"), SessionStore("sessions")
    bench = Bench(PassThrough(), windows, sessions)
    key = Windowed("k", Window(10, 20))
    windows.put_value("k", 1, 10, 15)
    sessions.put(key, 2)
    assert compile_view(WindowStoreView("windows"), bench.node).get(key) == Row(1, 15)
    by_session = compile_view(SessionStoreView("sessions"), bench.node)
    assert by_session.get(key) == Row(2, 20)
    assert by_session.get(Windowed("k", Window(10, 21))) is None


@pytest.mark.parametrize(("negate", "expected"), [(False, Row(5, 100)), (True, None)])
def test_a_filter(table: TimestampedStore, negate: bool, expected: Any) -> None:
    rows = reader(FilterView(STORE, lambda key, value: value == 5, negate), table)
    assert rows.get("k") == expected
    assert rows.get("x") is None


def test_mapped_values(table: TimestampedStore) -> None:
    rows = reader(MapValuesView(STORE, lambda key, value: f"{key}{value}", True), table)
    assert rows.get("k") == Row("k5", 100)
    assert rows.get("x") is None
    assert reader(MapValuesView(STORE, lambda value: None, False), table).get("k") is None


class Spy(ValueTransformer[Any, Any, Any]):
    def transform(self, key: Any, value: Any) -> Any:
        return value, self.context.record_metadata, self.context.timestamp  # type: ignore[attr-defined]


def test_a_transformer_sees_rows_of_unknown_origin(table: TimestampedStore) -> None:
    bench = Bench(PassThrough(), table)
    rows = compile_view(TransformValuesView(STORE, Spy), bench.node)
    for init in bench.node.on_init:
        init()
    bench.context.restore(NO_RECORD._replace(topic="t", timestamp=7))
    assert rows.get("k") == Row((5, RecordMetadata(None, -1, -1), 100), 100)
    assert rows.get("x") == Row((None, None, -1), -1)
    assert bench.context.timestamp == 7
    assert bench.context.topic == "t"


def test_rows_of_another_key(table: TimestampedStore) -> None:
    rows = reader(RepartitionMapView(STORE, lambda key, value: (value, key)), table)
    assert rows.get("k") == Row((5, "k"), 100)
    assert rows.get("x") == Row((None, "x"), -1)


def test_what_a_suppression_holds_back_is_not_seen(table: TimestampedStore) -> None:
    buffer = SuppressBuffer()
    rows = reader(SuppressView(STORE, "buffer"), table, buffer)
    assert rows.get("k") == Row(5, 100)
    buffer.put(0, "k", Change(5, 4), NO_RECORD)
    assert rows.get("k") == Row(4, -1)
    buffer.put(0, "k", Change(5, None), NO_RECORD)
    assert rows.get("k") is None
