from __future__ import annotations

import logging
from typing import Any

import pytest

from headrace.core.errors import NullArgumentError, StreamsError
from headrace.core.record import Change
from headrace.topology.operators import (
    TableFilter,
    TableMapValues,
    TableRepartitionMap,
    TableSource,
    TableToStream,
    TableTransformValues,
)
from headrace.topology.processor import ValueTransformer

from .harness import HEADERS, Bench, Out, TimestampedStore, VersionedStore


def is_big(key: Any, value: Any) -> bool:
    return bool(value > 10)


class TestSource:
    def test_without_a_store_the_old_value_is_unknown(self) -> None:
        bench = Bench(TableSource(None))
        bench.feed("k", 1, 5, HEADERS)
        assert bench.feed("k", None, 6) == [Out("k", Change(None), 6)]
        assert bench.out[0] == Out("k", Change(1), 5, HEADERS)

    @pytest.mark.parametrize("store", [None, "store"])
    def test_null_keys_are_dropped(self, store: str | None) -> None:
        bench = Bench(TableSource(store), TimestampedStore())
        assert bench.feed(None, 1) == []
        assert bench.dropped == 1

    def test_the_last_update_wins_even_out_of_order(self, caplog: Any) -> None:
        store = TimestampedStore()
        bench = Bench(TableSource("store", send_old_values=True), store)
        assert bench.feed("k", 1, 5) == [Out("k", Change(1), 5)]
        with caplog.at_level(logging.WARNING):
            assert bench.feed("k", 2, 3) == [Out("k", Change(2, 1), 3)]
        assert "Out-of-order update of table store at topic-0@7" in caplog.text
        assert store.rows == {"k": (2, 3)}
        assert bench.feed("k", None, 6) == [Out("k", Change(None, 2), 6)]
        assert bench.feed("k", None, 7) == [Out("k", Change(None, None), 7)]
        assert store.rows == {}

    def test_old_values_only_where_asked_for(self) -> None:
        bench = Bench(TableSource("store"), TimestampedStore())
        bench.feed("k", 1)
        assert bench.feed("k", 2) == [Out("k", Change(2), 0)]

    @pytest.mark.parametrize("send_old_values", [True, False])
    def test_a_cached_store_forwards_when_it_is_flushed(self, send_old_values: bool) -> None:
        store = TimestampedStore(cached=True)
        bench = Bench(TableSource("store", send_old_values), store)
        bench.feed("k", 1, 5)
        assert bench.drain(store) == [Out("k", Change(1), 5)]
        bench.feed("k", 2, 6)
        assert bench.feed("k", 3, 4, HEADERS) == []
        old = 1 if send_old_values else None
        assert bench.drain(store) == [Out("k", Change(3, old), 4, HEADERS)]

    def test_a_versioned_store_tells_late_updates_apart_and_refuses_too_late_ones(self) -> None:
        bench = Bench(TableSource("store", send_old_values=True), VersionedStore(history=10))
        bench.feed("k", 1, 20)
        assert bench.feed("k", 2, 15) == [Out("k", Change(2, 1, False), 15)]
        assert bench.feed("k", 3, 9) == []
        assert bench.feed("k", 4, 21) == [Out("k", Change(4, 1, True), 21)]
        assert bench.dropped == 0

    def test_a_versioned_store_without_old_values(self) -> None:
        bench = Bench(TableSource("store"), VersionedStore())
        bench.feed("k", 1, 20)
        assert bench.feed("k", 2, 21) == [Out("k", Change(2), 21)]


class TestFilter:
    def test_what_does_not_pass_is_deleted(self) -> None:
        bench = Bench(TableFilter(is_big, negate=False))
        assert bench.feed("k", Change(1)) == [Out("k", Change(None), 0)]
        assert bench.feed("k", Change(11, None, False)) == [Out("k", Change(11, None, False), 0)]
        assert bench.feed("k", Change(None)) == [Out("k", Change(None), 0)]

    def test_negated(self) -> None:
        bench = Bench(TableFilter(is_big, negate=True))
        assert bench.feed("k", Change(1)) == [Out("k", Change(1), 0)]

    def test_with_old_values_needless_deletions_are_skipped(self) -> None:
        bench = Bench(TableFilter(is_big, negate=False, send_old_values=True))
        assert bench.feed("k", Change(1, 2)) == []
        assert bench.feed("k", Change(1, 12)) == [Out("k", Change(None, 12), 0)]
        assert bench.feed("k", Change(11, 2)) == [Out("k", Change(11), 0)]

    def test_but_not_of_a_versioned_table(self) -> None:
        operator = TableFilter(is_big, negate=False, send_old_values=True, versioned=True)
        assert Bench(operator).feed("k", Change(1, 2)) == [Out("k", Change(None), 0)]

    def test_with_a_store_the_old_value_is_the_stored_one(self) -> None:
        store = TimestampedStore()
        operator = TableFilter(is_big, negate=False, store="store", send_old_values=True)
        bench = Bench(operator, store)
        assert bench.feed("k", Change(1)) == []
        bench.feed("k", Change(11), 3)
        assert bench.feed("k", Change(1, 99), 4) == [Out("k", Change(None, 11), 4)]
        assert store.rows == {}


class TestMapValues:
    def test_deletions_are_not_mapped(self) -> None:
        bench = Bench(TableMapValues(lambda value: value + 1, send_old_values=True))
        assert bench.feed("k", Change(1, 5, False)) == [Out("k", Change(2, 6, False), 0)]
        assert bench.feed("k", Change(None, None)) == [Out("k", Change(None), 0)]

    def test_with_key_into_a_store(self) -> None:
        store = TimestampedStore()
        operator = TableMapValues(lambda key, value: key + value, True, "store")
        bench = Bench(operator, store)
        bench.feed("k", Change("1"))
        assert bench.feed("k", Change("2", "1"), 8) == [Out("k", Change("k2"), 8)]
        assert store.rows == {"k": ("k2", 8)}


class Describe(ValueTransformer[Any, Any, str]):
    closed = 0

    def transform(self, key: Any, value: Any) -> str:
        metadata = self.context.record_metadata
        return f"{key}={value}@{metadata.offset if metadata else '?'}"

    def close(self) -> None:
        type(self).closed += 1


class TestTransformValues:
    def test_deletions_and_old_values_are_transformed_too(self) -> None:
        bench = Bench(TableTransformValues(Describe, send_old_values=True))
        assert bench.feed("k", Change(None, 1)) == [Out("k", Change("k=None@7", "k=1@7"), 0)]
        before = Describe.closed
        bench.close()
        assert Describe.closed == before + 1

    def test_into_a_store(self) -> None:
        operator = TableTransformValues(Describe, "store", send_old_values=True)
        bench = Bench(operator, TimestampedStore())
        bench.feed("k", Change(1))
        assert bench.feed("k", Change(2, 1)) == [Out("k", Change("k=2@7", "k=1@7"), 0)]

    def test_the_context_can_not_forward(self) -> None:
        transformer = Describe()
        Bench(TableTransformValues(lambda: transformer))
        assert not hasattr(transformer.context, "forward")

    def test_the_supplier_must_make_one(self) -> None:
        with pytest.raises(NullArgumentError, match="transformer of node"):
            Bench(TableTransformValues(lambda: None))


def test_to_stream_gives_new_values_and_deletions() -> None:
    bench = Bench(TableToStream())
    bench.feed("k", Change(1, 2))
    bench.feed("k", Change(None, 1))
    assert [out.value for out in bench.out] == [1, None]


class TestRepartitionMap:
    swap = TableRepartitionMap(lambda key, value: (value, key))
    by_first = TableRepartitionMap(lambda key, value: (value[:1] or None, value[1:] or None))

    def test_the_old_row_goes_first(self) -> None:
        bench = Bench(self.swap)
        assert bench.feed("k", Change("new", "old", False)) == [
            Out("old", Change(None, "k", False), 0),
            Out("new", Change("k", None, False), 0),
        ]

    def test_one_record_if_the_key_stays(self) -> None:
        bench = Bench(self.by_first)
        assert bench.feed("k", Change("a1", "a2")) == [Out("a", Change("1", "2"), 0)]

    @pytest.mark.parametrize(("version", "records"), [("2.4", 2), ("3.4", 2), ("3.5", 1)])
    def test_two_records_while_old_instances_read(self, version: str, records: int) -> None:
        bench = Bench(self.by_first, config={"upgrade.from": version})
        assert len(bench.feed("k", Change("a1", "a2"))) == records

    @pytest.mark.parametrize("change", [Change(None, "a1"), Change("", "a1"), Change("b", "a1")])
    def test_rows_without_key_or_value_belong_to_no_group(self, change: Change) -> None:
        assert Bench(self.by_first).feed("k", change) == [Out("a", Change(None, "1"), 0)]

    def test_a_mapper_may_leave_a_row_out(self) -> None:
        bench = Bench(TableRepartitionMap(lambda key, value: None))
        assert bench.feed("k", Change(1)) == []

    def test_the_key_of_a_table_is_never_none(self) -> None:
        with pytest.raises(StreamsError, match="node"):
            Bench(self.swap).feed(None, Change(1))

    def test_out_of_order_updates_of_a_versioned_table_are_left_out(self) -> None:
        bench = Bench(TableRepartitionMap(lambda key, value: (value, key), versioned=True))
        assert bench.feed("k", Change("a", None, False)) == []
        assert len(bench.feed("k", Change("a", None, True))) == 1
