from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import StreamsError
from headrace.core.record import Change
from headrace.topology.operators import (
    Operator,
    StreamAggregate,
    StreamReduce,
    TableAggregate,
    TableReduce,
)

from .harness import HEADERS, Bench, Out, TimestampedStore, VersionedStore


def total(send_old_values: bool = False) -> StreamAggregate:
    return StreamAggregate(
        "store", lambda: 100, lambda key, value, sum: sum + value, send_old_values
    )


def largest(send_old_values: bool = False) -> StreamReduce:
    return StreamReduce("store", max, send_old_values)


class TestStreamAggregate:
    def test_a_result_has_the_highest_timestamp_and_the_headers_of_the_record(self) -> None:
        store = TimestampedStore()
        bench = Bench(total(), store)
        assert bench.feed("k", 1, 5) == [Out("k", Change(101), 5)]
        assert bench.feed("k", 2, 3, HEADERS) == [Out("k", Change(103), 5, HEADERS)]
        assert bench.feed("k", 3, 6) == [Out("k", Change(106), 6)]
        assert store.rows == {"k": (106, 6)}

    def test_the_first_old_value_is_the_initial_one(self) -> None:
        bench = Bench(total(send_old_values=True), TimestampedStore())
        assert bench.feed("k", 1) == [Out("k", Change(101, 100), 0)]
        assert bench.feed("k", 2) == [Out("k", Change(103, 101), 0)]

    def test_but_not_if_it_is_cached(self) -> None:
        store = TimestampedStore(cached=True)
        bench = Bench(total(send_old_values=True), store)
        bench.feed("k", 1)
        assert bench.feed("k", 2, 8) == []
        assert bench.drain(store) == [Out("k", Change(103), 8)]

    def test_an_aggregate_of_none_is_deleted_and_begins_anew(self) -> None:
        store = TimestampedStore()
        bench = Bench(StreamAggregate("store", int, lambda k, v, sum: sum + v or None), store)
        bench.feed("k", 1, 9)
        assert bench.feed("k", -1, 3) == [Out("k", Change(None), 9)]
        assert store.rows == {}
        assert bench.feed("k", 4, 2) == [Out("k", Change(4), 2)]

    def test_a_versioned_store(self) -> None:
        bench = Bench(total(send_old_values=True), VersionedStore())
        bench.feed("k", 1, 5)
        assert bench.feed("k", 2, 3) == [Out("k", Change(103, 101, True), 5)]


class TestStreamReduce:
    def test_it_begins_with_the_first_value(self) -> None:
        bench = Bench(largest(send_old_values=True), TimestampedStore())
        assert bench.feed("k", 5, 5) == [Out("k", Change(5), 5)]
        assert bench.feed("k", 7, 3) == [Out("k", Change(7, 5), 5)]
        assert bench.feed("k", 6, 8) == [Out("k", Change(7, 7), 8)]

    def test_cached(self) -> None:
        store = TimestampedStore(cached=True)
        bench = Bench(largest(send_old_values=True), store)
        bench.feed("k", 5, 5)
        bench.feed("k", 7, 3)
        assert bench.drain(store) == [Out("k", Change(7), 5)]
        bench.feed("k", 6, 8)
        assert bench.drain(store) == [Out("k", Change(7, 7), 8)]


@pytest.mark.parametrize("operator", [total(), largest()])
@pytest.mark.parametrize("record", [(None, 1), ("k", None)])
@pytest.mark.parametrize("cached", [True, False])
def test_a_stream_aggregation_drops_null_keys_and_values(
    operator: Operator, record: tuple[Any, Any], cached: bool
) -> None:
    bench = Bench(operator, TimestampedStore(cached=cached))
    assert bench.feed(*record) == []
    assert bench.dropped == 1


def table_total() -> TableAggregate:
    return TableAggregate(
        "store", lambda: 100, lambda k, v, sum: sum + v, lambda k, v, sum: sum - v, True
    )


def table_sum() -> TableReduce:
    return TableReduce("store", lambda sum, v: sum + v, lambda sum, v: sum - v or None, True)


class TestTableAggregate:
    def test_old_rows_are_subtracted_and_new_ones_added(self) -> None:
        bench = Bench(table_total(), TimestampedStore())
        assert bench.feed("k", Change(5), 5) == [Out("k", Change(105), 5)]
        assert bench.feed("k", Change(7, 5), 3) == [Out("k", Change(107, 105), 5)]
        assert bench.feed("k", Change(None, 7), 2) == [Out("k", Change(100, 107), 5)]
        assert bench.feed("k", Change(1), 9) == [Out("k", Change(101, 100), 9)]

    def test_nothing_is_subtracted_from_a_group_that_is_not_there(self) -> None:
        bench = Bench(table_total(), TimestampedStore())
        assert bench.feed("k", Change(None, 7), 2) == [Out("k", Change(None), 2)]

    def test_a_change_of_nothing_takes_its_own_timestamp(self) -> None:
        store = TimestampedStore()
        bench = Bench(table_total(), store)
        bench.feed("k", Change(5), 5)
        assert bench.feed("k", Change(None), 3) == [Out("k", Change(105, 105), 3)]
        assert store.rows == {"k": (105, 3)}


class TestTableReduce:
    def test_a_group_begins_with_its_first_row(self) -> None:
        bench = Bench(table_sum(), TimestampedStore())
        assert bench.feed("k", Change(5), 5) == [Out("k", Change(5), 5)]
        assert bench.feed("k", Change(2), 4) == [Out("k", Change(7, 5), 5)]
        assert bench.feed("k", Change(None, 2), 3) == [Out("k", Change(5, 7), 5)]

    def test_a_group_that_becomes_none_begins_anew_with_the_new_row(self) -> None:
        bench = Bench(table_sum(), TimestampedStore())
        bench.feed("k", Change(5), 5)
        assert bench.feed("k", Change(8, 5), 3) == [Out("k", Change(8, 5), 5)]
        assert bench.feed("k", Change(None, 8), 2) == [Out("k", Change(None, 8), 5)]
        assert bench.feed("k", Change(4), 1) == [Out("k", Change(4), 1)]
        assert bench.feed("x", Change(None, 4), 1) == [Out("x", Change(None), 1)]


@pytest.mark.parametrize("operator", [table_total(), table_sum()])
def test_the_key_of_a_group_is_never_none(operator: Operator) -> None:
    with pytest.raises(StreamsError, match="node"):
        Bench(operator, TimestampedStore()).feed(None, Change(1))
