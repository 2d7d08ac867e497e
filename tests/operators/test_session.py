from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.core.record import Change
from headrace.core.windowed import Window, Windowed
from headrace.topology.operators import StreamSessionWindowAggregate
from headrace.topology.windows import EmitStrategy, SessionWindows

from .harness import HEADERS, Bench, Out, SessionStore

EMIT_INTERVAL = "__emit.interval.ms.kstreams.windowed.aggregation__"


def listing(
    gap: int = 5,
    grace: int = 10**6,
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
    send_old_values: bool = False,
) -> StreamSessionWindowAggregate:
    """Lists the values of a session, sorted."""
    return StreamSessionWindowAggregate(
        "store",
        SessionWindows(gap, grace),
        tuple,
        lambda key, value, values: tuple(sorted((*values, value))),
        lambda key, one, other: tuple(sorted((*one, *other))),
        emit,
        send_old_values,
    )


def session(start: int, end: int, key: Any = "k") -> Windowed[Any]:
    return Windowed(key, Window(start, end))


def test_results_have_the_end_of_the_session_as_timestamp_and_no_headers() -> None:
    bench = Bench(listing(), SessionStore())
    assert bench.feed("k", 1, 10, HEADERS) == [Out(session(10, 10), Change((1,)), 10)]
    assert bench.feed("k", 2, 8, HEADERS) == [
        Out(session(10, 10), Change(None), 10),
        Out(session(8, 10), Change((1, 2)), 10),
    ]


def test_a_record_connects_sessions() -> None:
    bench = Bench(listing(send_old_values=True), SessionStore())
    bench.feed("k", 1, 10)
    bench.feed("k", 2, 20)
    assert bench.feed("k", 3, 15) == [
        Out(session(10, 10), Change(None, (1,)), 10),
        Out(session(20, 20), Change(None, (2,)), 20),
        Out(session(10, 20), Change((1, 2, 3)), 20),
    ]


def test_a_session_of_one_moment_is_not_deleted_first() -> None:
    bench = Bench(listing(), SessionStore())
    bench.feed("k", 1, 10)
    assert bench.feed("k", 2, 10) == [Out(session(10, 10), Change((1, 2)), 10)]


def test_a_session_that_stays_as_it_is_is_deleted_first() -> None:
    bench = Bench(listing(), SessionStore())
    bench.feed("k", 1, 10)
    bench.feed("k", 2, 14)
    assert [out.value.new for out in bench.feed("k", 3, 12)] == [None, (1, 2, 3)]


def test_null_keys_are_dropped_but_null_values_count() -> None:
    bench = Bench(listing(), SessionStore())
    assert bench.feed(None, 1, 100) == []
    assert bench.dropped == 1
    assert bench.feed("k", None, 0) == [Out(session(0, 0), Change((None,)), 0)]


def test_a_closed_session_takes_no_record() -> None:
    bench = Bench(listing(gap=5, grace=3), SessionStore())
    bench.feed("other", 1, 100)
    assert bench.feed("k", 1, 91) == []
    assert bench.dropped == 1
    assert bench.feed("k", 1, 92) == [Out(session(92, 92), Change((1,)), 92)]
    assert len(bench.feed("k", 2, 88)) == 2, "the session that it belongs to is open"


def test_a_cached_store_forwards_with_the_headers_of_the_record() -> None:
    store = SessionStore(cached=True)
    bench = Bench(listing(), store)
    bench.feed("k", 1, 10)
    assert bench.feed("k", 2, 12, HEADERS) == []
    assert bench.drain(store) == [Out(session(10, 12), Change((1, 2)), 12, HEADERS)]


def test_a_cached_store_that_keeps_headers_forwards_without() -> None:
    store = SessionStore(cached=True, headers=True)
    bench = Bench(listing(), store)
    bench.feed("k", 1, 10, HEADERS)
    assert bench.drain(store) == [Out(session(10, 10), Change((1,)), 10)]


def test_emit_on_close() -> None:
    operator = listing(gap=5, grace=0, emit=EmitStrategy.ON_WINDOW_CLOSE)
    bench = Bench(operator, SessionStore(), config={EMIT_INTERVAL: 0})
    assert bench.feed("k", 1, 10) == []
    assert bench.feed("k", 2, 12) == []
    assert bench.feed("x", 3, 17) == []
    assert bench.feed("x", 4, 18, HEADERS) == [Out(session(10, 12), Change((1, 2)), 12, HEADERS)]
    assert bench.context.processor_metadata == {"store": 13}
    assert bench.feed("x", 5, 19) == []


def model(records: list[tuple[str, int]], gap: int) -> dict[Windowed[str], tuple[int, ...]]:
    """The sessions of all records, each with the numbers of the records in it."""
    sessions = {}
    for key in {key for key, _ in records}:
        times = sorted((at, number) for number, (other, at) in enumerate(records) if other == key)
        current = [times[0]]
        for moment in [*times[1:], (10**9, -1)]:
            if moment[0] - current[-1][0] > gap:
                numbers = tuple(sorted(number for _, number in current))
                sessions[session(current[0][0], current[-1][0], key)] = numbers
                current = []
            current.append(moment)
    return sessions


records = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60)), max_size=30)


@given(records, st.integers(0, 8), st.booleans())
def test_in_any_order_against_a_plain_model(
    records: list[tuple[str, int]], gap: int, cached: bool
) -> None:
    store = SessionStore(cached=cached)
    bench = Bench(listing(gap), store)
    for number, (key, timestamp) in enumerate(records):
        bench.feed(key, number, timestamp)
    if cached:
        bench.drain(store)
    expected = model(records, gap)
    assert store.rows == expected
    table = {out.key: out.value.new for out in bench.out}
    assert {key: row for key, row in table.items() if row is not None} == expected


@given(records.filter(bool), st.integers(0, 8))
def test_in_order_every_closed_session_is_emitted_once(
    records: list[tuple[str, int]], gap: int
) -> None:
    records.sort(key=lambda record: record[1])
    operator = listing(gap, 0, EmitStrategy.ON_WINDOW_CLOSE)
    bench = Bench(operator, SessionStore(), config={EMIT_INTERVAL: 0})
    for number, (key, timestamp) in enumerate(records):
        bench.feed(key, number, timestamp)
    closed = {
        key: numbers
        for key, numbers in model(records, gap).items()
        if key.window.end < records[-1][1] - gap
    }
    assert len(bench.out) == len(closed)
    assert {out.key: out.value.new for out in bench.out} == closed
