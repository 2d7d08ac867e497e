from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.record import Change
from headrace.core.windowed import LONG_MAX, Window, Windowed
from headrace.metrics import catalogue
from headrace.topology.operators import StreamWindowAggregate
from headrace.topology.windows import EmitStrategy, TimeWindows, UnlimitedWindows

from .harness import HEADERS, Bench, Out, WindowStore

EMIT_INTERVAL = "__emit.interval.ms.kstreams.windowed.aggregation__"


def listing(
    windows: TimeWindows | UnlimitedWindows,
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
    send_old_values: bool = False,
) -> StreamWindowAggregate:
    """Lists the values of a window."""
    return StreamWindowAggregate(
        "store", windows, tuple, lambda key, value, values: (*values, value), emit, send_old_values
    )


def time_windows(size: int, advance: int | None = None, grace: int = 0) -> TimeWindows:
    return TimeWindows(size, advance or size, grace)


def window(key: Any, start: int, size: int = 10) -> Windowed[Any]:
    return Windowed(key, Window(start, start + size))


def test_tumbling_windows() -> None:
    bench = Bench(listing(time_windows(10)), WindowStore())
    assert bench.feed("k", 1, 9, HEADERS) == [Out(window("k", 0), Change((1,)), 9, HEADERS)]
    assert bench.feed("k", 2, 3) == [Out(window("k", 0), Change((1, 2)), 9)]
    assert bench.feed("k", 3, 10) == [Out(window("k", 10), Change((3,)), 10)]


def test_a_closed_window_takes_no_record() -> None:
    bench = Bench(listing(time_windows(10, grace=5)), WindowStore())
    bench.feed("other", 1, 14)
    assert len(bench.feed("k", 1, 9)) == 1
    bench.feed("other", 1, 15)
    assert bench.feed("k", 1, 9) == []
    assert bench.dropped == 1


def test_null_keys_are_dropped_and_do_not_move_time_but_null_values_count() -> None:
    for windows in (time_windows(10), time_windows(10, 5)):
        for cached in (False, True):
            store = WindowStore(cached=cached)
            bench = Bench(listing(windows), store)
            assert bench.feed(None, 1, 100) == []
            assert bench.dropped == 1
            bench.feed("k", None, 0)
            assert store.rows == {("k", 0): ((None,), 0)}


def test_the_first_old_value_is_the_initial_one() -> None:
    bench = Bench(listing(time_windows(10), send_old_values=True), WindowStore())
    assert bench.feed("k", 1, 5) == [Out(window("k", 0), Change((1,), ()), 5)]
    assert bench.feed("k", 2, 5) == [Out(window("k", 0), Change((1, 2), (1,)), 5)]


def test_hopping_windows_close_one_by_one() -> None:
    bench = Bench(listing(time_windows(10, 5)), WindowStore())
    assert [out.key.window.start for out in bench.feed("k", 1, 12)] == [5, 10]
    assert [out.key.window.start for out in bench.feed("k", 2, 7)] == [5]
    assert bench.dropped == 1


def test_a_cached_store_forwards_when_it_is_flushed() -> None:
    store = WindowStore(cached=True)
    bench = Bench(listing(time_windows(10), send_old_values=True), store)
    assert bench.feed("k", 1, 5) == []
    assert bench.feed("k", 2, 3, HEADERS) == []
    assert bench.drain(store) == [Out(window("k", 0), Change((1, 2)), 5, HEADERS)]


def test_the_unlimited_window() -> None:
    bench = Bench(listing(UnlimitedWindows(10)), WindowStore())
    assert bench.feed("k", 1, 9) == []
    assert bench.dropped == 0
    bench.feed("k", 1, 10**9)
    key = Windowed("k", Window(10, LONG_MAX))
    assert bench.feed("k", 2, 10) == [Out(key, Change((1, 2)), 10**9)]


class TestEmitOnClose:
    def bench(self, interval: int = 0, grace: int = 0, advance: int = 10) -> Bench:
        operator = listing(time_windows(10, advance, grace), EmitStrategy.ON_WINDOW_CLOSE)
        return Bench(operator, WindowStore(), config={EMIT_INTERVAL: interval})

    def test_a_window_is_emitted_once_with_the_headers_of_the_record_that_closes_it(self) -> None:
        bench = self.bench(grace=2)
        assert bench.feed("a", 1, 5) == []
        assert bench.feed("b", 2, 7) == []
        assert bench.feed("a", 3, 11) == []
        assert bench.feed("x", 4, 12, HEADERS) == [
            Out(window("a", 0), Change((1,)), 5, HEADERS),
            Out(window("b", 0), Change((2,)), 7, HEADERS),
        ]
        assert bench.feed("x", 4, 21) == []
        assert bench.feed("x", 4, 22) == [
            Out(window("a", 10), Change((3,)), 11),
            Out(window("x", 10), Change((4,)), 12),
        ]
        assert bench.context.metrics.counter(catalogue.FINAL_EMIT, "node").total == 4

    def test_the_close_time_is_kept_for_a_restart(self) -> None:
        bench = self.bench()
        bench.feed("a", 1, 5)
        bench.feed("a", 1, 25)
        assert bench.context.processor_metadata == {"store": 25}
        bench.feed("a", 1, 26)
        assert bench.context.processor_metadata == {"store": 25}

    def test_after_a_restart_nothing_is_emitted_again(self) -> None:
        bench = self.bench()
        bench.feed("a", 1, 5)
        bench.context.processor_metadata["store"] = 10
        for resume in bench.node.on_init:
            resume()
        assert bench.feed("a", 1, 15) == []
        assert bench.feed("a", 1, 20) == [Out(window("a", 10), Change((1,)), 15)]

    def test_windows_are_looked_for_once_in_an_interval(self) -> None:
        bench = self.bench(interval=1000)
        assert bench.feed("a", 1, 5) == []
        assert bench.feed("a", 1, 15) == []
        bench.clock.advance(999)
        assert bench.feed("a", 1, 16) == []
        bench.clock.advance(1)
        assert bench.feed("a", 1, 17) == [Out(window("a", 0), Change((1,)), 5)]

    def test_a_late_record_closes_nothing(self) -> None:
        bench = self.bench(grace=5)
        bench.feed("a", 1, 15)
        bench.feed("a", 1, 25)
        assert bench.feed("a", 1, 20) == []

    def test_hopping(self) -> None:
        bench = self.bench(advance=5)
        bench.feed("a", 1, 7)
        out = bench.feed("a", 2, 15)
        assert [(record.key.window.start, record.value.new) for record in out] == [
            (0, (1,)),
            (5, (1,)),
        ]


records = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60)), max_size=40)


@given(records, st.integers(1, 12), st.integers(1, 12), st.integers(0, 20), st.booleans())
def test_against_a_plain_model(
    records: list[tuple[str, int]], size: int, advance: int, grace: int, cached: bool
) -> None:
    windows = TimeWindows.of_size(
        timedelta(milliseconds=size), grace=timedelta(milliseconds=grace)
    ).advance_by(timedelta(milliseconds=min(advance, size)))
    store = WindowStore(size=size, cached=cached)
    bench = Bench(listing(windows), store)
    model: dict[Windowed[str], tuple[list[int], int]] = {}
    stream_time = 0
    for number, (key, timestamp) in enumerate(records):
        stream_time = max(stream_time, timestamp)
        expected = []
        for start in range(0, timestamp + 1, windows.advance_ms):
            if start + size > timestamp and start + size + grace > stream_time:
                values, latest = model.get(window(key, start, size), ([], 0))
                row = [*values, number], max(latest, timestamp)
                model[window(key, start, size)] = row
                expected.append(Out(window(key, start, size), Change(tuple(row[0])), row[1]))
        assert bench.feed(key, number, timestamp) == ([] if cached else expected)
    assert store.rows == {
        (key.key, key.window.start): (tuple(values), latest)
        for key, (values, latest) in model.items()
    }
    if cached:
        assert {(out.key, out.value.new, out.timestamp) for out in bench.drain(store)} == {
            (key, tuple(values), latest) for key, (values, latest) in model.items()
        }


@given(records, st.integers(1, 12), st.integers(1, 12), st.integers(0, 20))
def test_every_window_that_closes_is_emitted_once_if_the_store_keeps_it(
    records: list[tuple[str, int]], size: int, advance: int, grace: int
) -> None:
    windows = time_windows(size, min(advance, size), grace)
    store = WindowStore(size=size)
    bench = Bench(listing(windows, EmitStrategy.ON_WINDOW_CLOSE), store, config={EMIT_INTERVAL: 0})
    for number, (key, timestamp) in enumerate(records):
        bench.feed(key, number, timestamp)
    close_time = max((timestamp for _, timestamp in records), default=0) - grace
    emitted = [(out.key.key, out.key.window.start) for out in bench.out]
    assert len(emitted) == len(set(emitted))
    assert set(emitted) == {row for row in store.rows if row[1] + size <= close_time}
    assert all(
        (out.value.new, out.timestamp) == store.rows[out.key.key, out.key.window.start]
        for out in bench.out
    )


@pytest.mark.parametrize("advance", [10, 5])
def test_a_failing_aggregator_leaves_the_window_as_it_was(advance: int) -> None:
    def fail(key: Any, value: Any, values: Any) -> Any:
        raise ZeroDivisionError

    store = WindowStore()
    operator = StreamWindowAggregate("store", time_windows(10, advance), tuple, fail)
    with pytest.raises(ZeroDivisionError):
        Bench(operator, store).feed("k", 1, 5)
    assert store.rows == {}
