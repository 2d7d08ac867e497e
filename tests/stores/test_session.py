from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import ArgumentError, NullArgumentError, StateError
from headrace.core.record import Headers
from headrace.core.windowed import LONG_MAX, Window, Windowed
from headrace.runtime.stores import ChangelogRecord, SessionStore
from headrace.serde.session_store_key import session_store_key
from headrace.topology.stores import Backend, SessionStoreSpec
from tests.stores.environment import TEXT, Task, restored

MINUTE = 60_000


def spec(**options: Any) -> SessionStoreSpec:
    defaults = {"name": "s", "key_serde": TEXT, "value_serde": TEXT, "retention_ms": 100}
    return SessionStoreSpec(**{**defaults, **options})


def session(key: str, start: int, end: int) -> Windowed[str]:
    return Windowed(key, Window(start, end))


def spans(found: Any) -> list[tuple[str, int, int]]:
    return [(windowed.key, *windowed.window) for windowed, _ in found]


def filled(**options: Any) -> SessionStore:
    store: SessionStore = Task().build(spec(retention_ms=2 * MINUTE, **options))
    for key, start, end in [
        ("b", 0, 5), ("a", 10, 10), ("ab", 2, 7), ("b", 7, MINUTE), ("a", 1, 10),
    ]:  # fmt: skip
        store.put(session(key, start, end), "v")
    return store


BY_SEGMENT = [("a", 1, 10), ("a", 10, 10), ("ab", 2, 7), ("b", 0, 5), ("b", 7, MINUTE)]
BY_END = [("b", 0, 5), ("ab", 2, 7), ("a", 10, 10), ("a", 1, 10), ("b", 7, MINUTE)]


@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("time_ordered", [False, True])
def test_persistent_scans_go_by_segment_then_key(caching: bool, time_ordered: bool) -> None:
    store = filled(caching=caching, time_ordered=time_ordered)
    assert spans(store.fetch_range(None, None)) == BY_SEGMENT
    assert spans(store.backward_fetch_range(None, None)) == BY_SEGMENT[::-1]
    assert spans(store.fetch_range("a", "ab")) == BY_SEGMENT[:3]
    assert spans(store.find_sessions_range("ab", None, 6, 2)) == [("ab", 2, 7)]
    assert spans(store.backward_find_sessions_range(None, "ab", 8, 100)) == BY_SEGMENT[1::-1]
    assert spans(store.fetch("a")) == BY_SEGMENT[:2]
    assert spans(store.backward_fetch("a")) == BY_SEGMENT[1::-1]
    assert list(store.fetch_range("b", "a")) == []


def test_in_memory_scans_go_by_end_then_key_then_the_latest_start() -> None:
    store = filled(backend=Backend.IN_MEMORY)
    assert spans(store.fetch_range(None, None)) == BY_END
    assert spans(store.backward_fetch_range(None, None)) == BY_END[::-1]
    assert spans(store.find_sessions("a", 10, 9)) == [("a", 1, 10)]
    assert spans(store.fetch("a")) == BY_END[2:4]


def test_an_in_memory_store_and_its_cache_disagree_on_sessions_of_the_same_end() -> None:
    store = filled(backend=Backend.IN_MEMORY, caching=True)
    assert spans(store.fetch("a")) == [("a", 1, 10), ("a", 10, 10)]
    store.flush()
    assert spans(store.fetch("a")) == [("a", 1, 10), ("a", 10, 10), ("a", 1, 10)]
    assert spans(store.backward_fetch("a")) == [("a", 10, 10), ("a", 1, 10), ("a", 10, 10)]


def test_an_in_memory_store_refuses_a_range_that_is_upside_down() -> None:
    store = filled(backend=Backend.IN_MEMORY)
    with pytest.raises(ArgumentError, match="'b' comes after 'a'"):
        store.fetch_range("b", "a")
    with pytest.raises(ArgumentError, match="'b' comes after 'a'"):
        store.backward_fetch_range("b", "a")
    assert list(store.find_sessions_range("b", "a", 0, LONG_MAX)) == []
    empty = Task().build(spec(backend=Backend.IN_MEMORY))
    assert list(empty.fetch_range("b", "a")) == []


def test_a_backward_search_misses_what_only_the_cache_has() -> None:
    store = Task().build(spec(caching=True))
    store.put(session("a", 5, 20), "v")
    assert spans(store.find_sessions("a", 0, 10)) == [("a", 5, 20)]
    assert spans(store.backward_find_sessions("a", 0, 10)) == []
    assert spans(store.backward_find_sessions("a", 0, 20)) == [("a", 5, 20)]
    store.flush()
    assert spans(store.backward_find_sessions("a", 0, 10)) == [("a", 5, 20)]
    store.put(session("a", MINUTE, MINUTE), "v")
    with pytest.raises(StateError, match="can't be searched backwards from 10"):
        store.backward_find_sessions("a", 0, 10)


def test_sessions_are_found_by_end_where_they_are_kept_by_time() -> None:
    assert spans(filled(backend=Backend.IN_MEMORY).find_sessions_by_end(6, 10)) == BY_END[1:4]
    assert spans(filled(time_ordered=True).find_sessions_by_end(6, 10)) == [
        ("ab", 2, 7), ("a", 1, 10), ("a", 10, 10),
    ]  # fmt: skip
    assert list(filled(time_ordered=True).find_sessions_by_end(9, 6)) == []
    for store in (filled(), filled(backend=Backend.IN_MEMORY, caching=True)):
        with pytest.raises(StateError):
            store.find_sessions_by_end(0, 10)


def test_expired_sessions_are_hidden_except_from_a_time_ordered_scan_by_end() -> None:
    for options, by_end in (({"backend": Backend.IN_MEMORY}, 1), ({"time_ordered": True}, 2)):
        store = Task().build(spec(**options))
        store.put(session("a", 0, 20), "1")
        store.put(session("a", 0, 21), "1")
        store.put(session("b", 0, 120), "1")
        assert spans(store.fetch("a")) == [("a", 0, 21)]
        assert store.fetch_session("a", 0, 20) is None
        assert len(list(store.find_sessions_by_end(0, 100))) == by_end


@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("backend", [Backend.PERSISTENT, Backend.IN_MEMORY])
def test_sessions_are_removed(caching: bool, backend: Backend) -> None:
    store = Task().build(spec(caching=caching, backend=backend))
    store.put(session("a", 0, 5), "1")
    store.put(session("a", 8, 9), "2")
    store.flush()
    assert store.fetch_session("a", 0, 5) == "1"
    store.remove(session("a", 0, 5))
    store.put(session("a", 8, 9), None)
    store.remove(session("a", 70, 80))
    assert store.fetch_session("a", 0, 5) is None
    assert list(store.fetch("a")) == []


def test_late_puts_are_dropped_but_logged() -> None:
    for backend, dropped in ((Backend.PERSISTENT, 1), (Backend.IN_MEMORY, 2)):
        task = Task()
        store = task.build(spec(backend=backend))
        store.put(session("a", 0, 3 * MINUTE), "1")
        store.put(session("b", 0, 3 * MINUTE - 200), "1")
        store.put(session("b", 0, MINUTE), "1")
        assert task.dropped == dropped
        assert len(task.changelog) == 3
        assert spans(store.fetch_range(None, None)) == [("a", 0, 3 * MINUTE)]


def test_changelogs() -> None:
    task = Task()
    headers = Headers([("h", b"1")])
    task.at(9, headers)
    store = task.build(spec())
    store.put(session("a", 1, 5), "1")
    store.remove(session("a", 1, 5))
    key = session_store_key(b"a", 1, 5)
    assert task.take_changelog() == [ChangelogRecord(key, b"1", 9), ChangelogRecord(key, None, 9)]
    store = task.build(spec(headers=True))
    store.put(session("a", 1, 5), "1")
    store.remove(session("a", 1, 5))
    assert task.take_changelog() == [
        ChangelogRecord(key, b"1", 9),
        ChangelogRecord(key, None, 9, headers),
    ]


def test_a_cached_update_is_told_at_the_end_of_its_session() -> None:
    task = Task()
    store = task.build(spec(caching=True))
    told: list[Any] = []
    store.set_flush_listener(lambda *update: told.append(update), True)
    task.at(1)
    store.put(session("a", 1, 5), "1")
    store.flush()
    store.remove(session("a", 1, 5))
    store.put(session("a", 1, 9), "2")
    store.remove(session("b", 1, 9))
    store.flush()
    assert told == [
        (session("a", 1, 5), "1", None, 5),
        (session("a", 1, 5), None, "1", 5),
        (session("a", 1, 9), "2", None, 9),
    ]


def test_a_cached_persistent_store_must_have_been_put_to_before_it_is_read_backwards() -> None:
    store = Task().build(spec(caching=True))
    assert list(store.fetch("a")) == []
    with pytest.raises(ArgumentError):
        store.backward_fetch("a")
    store.put(session("b", 1, 1), "1")
    assert list(store.backward_fetch("a")) == []
    assert list(Task().build(spec(caching=True, backend=Backend.IN_MEMORY)).fetch("a")) == []


def test_arguments_are_checked() -> None:
    store = Task().build(spec())
    nowhere: Any = None
    calls: list[Callable[[], object]] = [
        lambda: store.put(None, "1"),
        lambda: store.put(Windowed(None, Window(0, 1)), "1"),
        lambda: store.put(Windowed("a", nowhere), "1"),
        lambda: store.remove(None),
        lambda: store.fetch(None),
        lambda: store.fetch_session(None, 0, 1),
        lambda: store.find_sessions(None, 0, 1),
    ]
    for call in calls:
        with pytest.raises(NullArgumentError):
            call()
    with pytest.raises(ArgumentError):
        store.find_sessions("a", 0, -1)


some_sessions = st.tuples(
    st.text("ab", min_size=1, max_size=2), st.integers(0, 3 * MINUTE), st.integers(0, 200)
).map(lambda it: session(it[0], it[1], it[1] + it[2]))
updates = st.lists(st.tuples(some_sessions, st.none() | st.text("x")))


@given(
    updates,
    st.sampled_from([Backend.PERSISTENT, Backend.IN_MEMORY]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3 * MINUTE),
    st.integers(0, 3 * MINUTE),
)
def test_a_store_is_a_dict_of_what_has_not_expired(
    puts: list[tuple[Windowed[str], str | None]],
    backend: Backend,
    caching: bool,
    time_ordered: bool,
    earliest_end: int,
    latest_start: int,
) -> None:
    task = Task()
    retention = 2 * MINUTE
    the_spec = spec(
        backend=backend, caching=caching, time_ordered=time_ordered, retention_ms=retention
    )
    store: SessionStore = task.build(the_spec)
    model: dict[Windowed[str], str] = {}
    latest = -1
    for time, (windowed, value) in enumerate(puts):
        task.at(time)
        latest = max(latest, windowed.window.end)
        store.put(windowed, value)
        model.pop(windowed, None)
        if value is not None:
            model[windowed] = value
    store.flush()
    live = {at: value for at, value in model.items() if at.window.end > latest - retention}
    again = restored(the_spec, task.changelog)
    assert again.observed_time == latest
    assert dict(again.fetch_range(None, None)) == live
    if not caching:
        assert dict(store.fetch_range(None, None)) == live
    for key in {at.key for at in live}:
        expected = {
            at: value
            for at, value in live.items()
            if at.key == key and at.window.end >= earliest_end and at.window.start <= latest_start
        }
        found = list(again.find_sessions(key, earliest_end, latest_start))
        assert dict(found) == expected
        assert found == sorted(found, key=lambda item: item[0].window.end)
        assert again.fetch_range(key, key) is not None
        assert again.observed_time < LONG_MAX
