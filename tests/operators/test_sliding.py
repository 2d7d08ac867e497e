from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import ArgumentError
from headrace.core.record import Change, ValueAndTimestamp
from headrace.core.windowed import Window, Windowed
from headrace.topology.operators import StreamSlidingWindowAggregate
from headrace.topology.windows import EmitStrategy, SlidingWindows

from .harness import HEADERS, Bench, Out, WindowStore

EMIT_INTERVAL = "__emit.interval.ms.kstreams.windowed.aggregation__"


def listing(
    difference: int = 10,
    grace: int = 10**6,
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
    send_old_values: bool = False,
) -> StreamSlidingWindowAggregate:
    """Lists the values of a window, sorted."""
    return StreamSlidingWindowAggregate(
        "store",
        SlidingWindows(difference, grace),
        tuple,
        lambda key, value, values: tuple(sorted((*values, value))),
        emit,
        send_old_values,
    )


def windows(out: list[Out]) -> list[tuple[int, int, Any]]:
    return [(*record.key.window, record.value.new) for record in out]


def test_a_record_has_a_left_window_and_makes_the_right_window_of_the_one_before() -> None:
    bench = Bench(listing(), WindowStore())
    assert bench.feed("k", 1, 20, HEADERS) == [
        Out(Windowed("k", Window(10, 20)), Change((1,)), 20, HEADERS)
    ]
    assert windows(bench.feed("k", 2, 25)) == [(21, 31, (2,)), (15, 25, (1, 2))]


def test_a_late_record_is_taken_into_what_is_there_and_gets_its_right_window() -> None:
    bench = Bench(listing(send_old_values=True), WindowStore())
    bench.feed("k", 2, 25)
    out = bench.feed("k", 1, 20)
    assert windows(out) == [(15, 25, (1, 2)), (10, 20, (1,)), (21, 31, (2,))]
    assert [record.value.old for record in out] == [(2,), (), None]
    assert [record.timestamp for record in out] == [25, 20, 25]


def test_records_of_the_same_time() -> None:
    bench = Bench(listing(), WindowStore())
    bench.feed("k", 1, 20)
    assert windows(bench.feed("k", 2, 20)) == [(10, 20, (1, 2))]


def test_records_before_the_difference_share_the_first_window() -> None:
    bench = Bench(listing(), WindowStore())
    assert windows(bench.feed("k", 1, 3)) == [(0, 10, (1,))]
    assert windows(bench.feed("k", 2, 5)) == [(4, 14, (2,)), (0, 10, (1, 2))]
    assert windows(bench.feed("k", 0, 1)) == [(2, 12, (1, 2)), (0, 10, (0, 1, 2))]


def test_null_keys_and_values_are_dropped() -> None:
    bench = Bench(listing(), WindowStore())
    assert bench.feed(None, 1, 5) == []
    assert bench.feed("k", None, 5) == []
    assert bench.dropped == 2


def test_a_record_whose_right_window_is_closed_is_dropped() -> None:
    bench = Bench(listing(grace=5), WindowStore())
    bench.feed("other", 1, 100)
    assert bench.feed("k", 1, 84) == []
    assert bench.dropped == 1
    assert bench.feed("k", 1, 85) == []
    assert bench.dropped == 2, "its left window [75, 85] is closed"


def test_a_window_still_takes_records_when_it_ends_at_the_close_time() -> None:
    bench = Bench(listing(grace=5), WindowStore())
    bench.feed("other", 1, 100)
    assert windows(bench.feed("k", 1, 95)) == [(85, 95, (1,))]


def test_a_difference_of_zero_can_not_be_aggregated() -> None:
    with pytest.raises(ArgumentError, match="difference of 0"):
        Bench(listing(difference=0), WindowStore()).feed("k", 1, 5)


def test_a_cached_store_forwards_when_it_is_flushed() -> None:
    store = WindowStore(cached=True)
    bench = Bench(listing(), store)
    assert bench.feed("k", 1, 20) == []
    assert windows(bench.drain(store)) == [(10, 20, (1,))]


def test_emit_on_close() -> None:
    operator = listing(grace=0, emit=EmitStrategy.ON_WINDOW_CLOSE)
    bench = Bench(operator, WindowStore(), config={EMIT_INTERVAL: 0})
    assert bench.feed("k", 1, 5) == []
    assert bench.feed("k", 2, 10) == []
    assert windows(bench.feed("k", 3, 16, HEADERS)) == [(0, 10, (1, 2))]
    assert bench.out[0].headers == HEADERS
    assert windows(bench.feed("k", 4, 17)) == [(6, 16, (2, 3))]
    assert bench.context.processor_metadata == {"store": 17}


def model(
    records: list[tuple[str, int]], difference: int
) -> dict[tuple[str, int], ValueAndTimestamp]:
    """All windows that the records have, each with the numbers of the records in it."""
    times = {key: [at for other, at in records if other == key] for key, _ in records}
    starts = {(key, max(0, at - difference)) for key, at in records}
    starts |= {
        (key, at + 1)
        for key, at in records
        if any(at < other <= at + 1 + difference for other in times[key])
    }
    rows = {}
    for key, start in starts:
        inside = [
            (number, at)
            for number, (other, at) in enumerate(records)
            if other == key and start <= at <= start + difference
        ]
        numbers = tuple(number for number, _ in inside)
        rows[key, start] = ValueAndTimestamp(numbers, max(at for _, at in inside))
    return rows


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50)), max_size=30), st.integers(1, 15)
)
def test_in_any_order_against_a_plain_model(
    records: list[tuple[str, int]], difference: int
) -> None:
    store = WindowStore(size=difference)
    bench = Bench(listing(difference), store)
    for number, (key, timestamp) in enumerate(records):
        bench.feed(key, number, timestamp)
    assert store.rows == model(records, difference)
    last = {
        (out.key.key, out.key.window.start): (out.value.new, out.timestamp) for out in bench.out
    }
    assert last == store.rows


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 80)), min_size=1, max_size=30),
    st.integers(1, 15),
)
def test_in_order_every_closed_window_is_emitted_once(
    records: list[tuple[str, int]], difference: int
) -> None:
    records.sort(key=lambda record: record[1])
    operator = listing(difference, 0, EmitStrategy.ON_WINDOW_CLOSE)
    bench = Bench(operator, WindowStore(size=difference), config={EMIT_INTERVAL: 0})
    for number, (key, timestamp) in enumerate(records):
        bench.feed(key, number, timestamp)
    close_time = records[-1][1]
    closed = [
        (key, start, row.value)
        for (key, start), row in model(records, difference).items()
        if start + difference < close_time
    ]
    emitted = [(out.key.key, out.key.window.start, out.value.new) for out in bench.out]
    assert sorted(emitted) == sorted(closed)
