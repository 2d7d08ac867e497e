from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import ArgumentError, NullArgumentError
from headrace.core.record import Headers, ValueAndTimestamp
from headrace.core.windowed import LONG_MAX, Window, Windowed
from headrace.runtime.stores import ChangelogRecord, WindowStore
from headrace.serde.window_store_key import window_store_key
from headrace.topology.stores import Backend, WindowStoreSpec
from tests.stores.environment import TEXT, Task, restored

MINUTE = 60_000


def spec(**options: Any) -> WindowStoreSpec:
    defaults = {"name": "s", "key_serde": TEXT, "value_serde": TEXT, "retention_ms": 100}
    return WindowStoreSpec(**{**defaults, "window_ms": 10, **options})


def in_window(key: str, start: int, size: int = 10) -> Windowed[str]:
    return Windowed(key, Window(start, start + size))


def keys(found: Any) -> list[tuple[str, int]]:
    return [(windowed.key, windowed.window.start) for windowed, _ in found]


def filled(**options: Any) -> WindowStore:
    """Entries in two segments of a persistent store: from 0 to 60 000, and from there on."""
    store: WindowStore = Task().build(spec(retention_ms=2 * MINUTE, **options))
    timestamped = options.get("timestamped")
    for key, start in [("b", 0), ("a", 10), ("ab", 5), ("b", MINUTE), ("a", MINUTE + 10)]:
        store.put(key, ValueAndTimestamp("v", 1) if timestamped else "v", start)
    return store


PERSISTENT_ORDER = [("a", 10), ("ab", 5), ("b", 0), ("a", MINUTE + 10), ("b", MINUTE)]
TIME_ORDER = [("b", 0), ("ab", 5), ("a", 10), ("b", MINUTE), ("a", MINUTE + 10)]


@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("timestamped", [False, True])
def test_persistent_scans_go_by_segment_then_key(caching: bool, timestamped: bool) -> None:
    store = filled(caching=caching, timestamped=timestamped)
    assert keys(store.all()) == PERSISTENT_ORDER
    assert keys(store.backward_all()) == PERSISTENT_ORDER[::-1]
    assert keys(store.fetch_all(0, MINUTE)) == [*PERSISTENT_ORDER[:3], ("b", MINUTE)]
    assert keys(store.backward_fetch_all(5, 10)) == [("ab", 5), ("a", 10)]
    assert keys(store.fetch_range("a", "ab", 0, LONG_MAX)) == [
        ("a", 10), ("ab", 5), ("a", MINUTE + 10),
    ]  # fmt: skip
    assert keys(store.fetch_range(None, "a", 0, MINUTE)) == [("a", 10)]
    assert keys(store.backward_fetch_range("ab", None, 0, MINUTE)) == [
        ("b", MINUTE), ("b", 0), ("ab", 5),
    ]  # fmt: skip
    assert list(store.fetch_range("b", "a", 0, 100)) == []


@pytest.mark.parametrize("caching", [False, True])
def test_in_memory_scans_go_by_time_then_key(caching: bool) -> None:
    store = filled(backend=Backend.IN_MEMORY, caching=caching)
    assert keys(store.all()) == TIME_ORDER
    assert keys(store.backward_all()) == TIME_ORDER[::-1]
    assert keys(store.fetch_range("a", "ab", 0, LONG_MAX)) == [
        ("ab", 5), ("a", 10), ("a", MINUTE + 10),
    ]  # fmt: skip
    assert keys(store.fetch_all(5, MINUTE)) == TIME_ORDER[1:4]


@pytest.mark.parametrize("caching", [False, True])
def test_a_time_ordered_store_scans_all_by_time_and_ranges_by_key(caching: bool) -> None:
    store = filled(time_ordered=True, caching=caching, timestamped=True)
    assert keys(store.all()) == TIME_ORDER
    assert keys(store.backward_fetch_all(0, 10)) == TIME_ORDER[2::-1]
    assert keys(store.fetch_range(None, None, 0, LONG_MAX)) == PERSISTENT_ORDER
    store.put("a", None, 10)
    store.flush()
    assert keys(store.fetch_all(0, 10)) == TIME_ORDER[:2]


def test_a_fetch_of_one_key_is_not_confused_by_keys_that_look_alike() -> None:
    for backend in (Backend.PERSISTENT, Backend.IN_MEMORY):
        for caching in (False, True):
            store = Task().build(spec(backend=backend, caching=caching))
            for key in ("a", "a\0", "a\0\0\0\0\0\0\0\0", "aa"):
                store.put(key, key, 7)
            assert list(store.fetch("a", 0, 100)) == [(7, "a")]
            assert list(store.backward_fetch("a\0", 0, 100)) == [(7, "a\0")]
            assert list(store.fetch("a", 8, 100)) == list(store.fetch("a", -9, -1)) == []


def test_reads_end_strictly_at_the_retention() -> None:
    for options, first in (
        ({}, 21),
        ({"backend": Backend.IN_MEMORY}, 21),
        ({"time_ordered": True}, 20),
    ):
        store = Task().build(spec(**options))
        for start in (19, 20, 21, 120):
            store.put("a", str(start), start)
        expected = [start for start in (20, 21, 120) if start >= first]
        assert [start for start, _ in store.fetch("a", 0, 200)] == expected
        assert [start for _, start in keys(store.all())] == expected
        assert [start for _, start in keys(store.fetch_all(0, 20))] == [20][first - 20 :]
        assert [start for start in (19, 20, 21) if store.fetch_one("a", start)] == expected[:-1]
        assert list(store.fetch("a", 0, 19)) == list(store.fetch_range("a", "b", 0, 19)) == []


def test_late_puts_are_dropped_by_segment_or_in_memory_by_time_but_logged() -> None:
    for backend, dropped in ((Backend.PERSISTENT, 1), (Backend.IN_MEMORY, 2)):
        task = Task()
        store = task.build(spec(backend=backend))
        store.put("a", "1", 3 * MINUTE)
        store.put("a", "1", 3 * MINUTE - 200)
        store.put("a", "2", MINUTE)
        assert task.dropped == dropped
        assert len(task.changelog) == 3
        assert keys(store.all()) == [("a", 3 * MINUTE)]


def test_segments_are_dropped_as_a_whole() -> None:
    for options in ({}, {"backend": Backend.IN_MEMORY}):
        store = Task().build(spec(**options))
        store.put("a", "1", 0)
        store.put("b", "1", 5 * MINUTE)
        assert len(store._entries._segments._segments) == 1


def test_duplicates_are_told_apart_by_a_sequence_number() -> None:
    for backend in (Backend.PERSISTENT, Backend.IN_MEMORY):
        task = Task()
        the_spec = spec(backend=backend, retain_duplicates=True, caching=True)
        store = task.build(the_spec)
        task.at(4)
        assert not store.set_flush_listener(lambda *update: None, False)
        store.put("a", "1", 5)
        store.put("a", None, 5)
        store.put("a", "2", 5)
        assert list(store.fetch("a", 0, 10)) == [(5, "1"), (5, "2")]
        assert task.changelog == [
            ChangelogRecord(window_store_key(b"a", 5, 1), b"1", 4),
            ChangelogRecord(window_store_key(b"a", 5, 2), None, 4),
            ChangelogRecord(window_store_key(b"a", 5, 3), b"2", 4),
        ]
        assert store.fetch_one("a", 5) == ("2" if backend is Backend.PERSISTENT else None)
        again = restored(the_spec, task.changelog)
        again.put("a", "3", 5)
        assert list(again.fetch("a", 0, 10)) == [(5, "1"), (5, "2"), (5, "3")]


def test_a_null_that_deletes_nothing_moves_the_time_of_a_store_in_memory_only() -> None:
    for backend, time in ((Backend.PERSISTENT, 5), (Backend.IN_MEMORY, 500)):
        task = Task()
        the_spec = spec(backend=backend, retain_duplicates=True)
        store = task.build(the_spec)
        store.put("a", "1", 5)
        store.put("a", None, 500)
        assert store.observed_time == restored(the_spec, task.changelog).observed_time == time


def test_the_store_of_a_join_logs_the_headers_of_its_records() -> None:
    task = Task()
    store = task.build(spec(retain_duplicates=True, headers=None))
    headers = Headers([("h", b"1")])
    task.at(4, headers)
    store.put("a", "1", 4)
    assert task.changelog == [ChangelogRecord(window_store_key(b"a", 4, 1), b"1", 4, headers)]


def test_the_store_of_a_join_in_memory_keeps_timestamps_and_headers() -> None:
    task = Task()
    the_spec = spec(retain_duplicates=True, headers=None, backend=Backend.IN_MEMORY)
    store = task.build(the_spec)
    headers = Headers([("h", b"1")])
    task.at(4, headers)
    store.put("a", "1", 4)
    assert list(store.fetch("a", 0, 10)) == [(4, "1")]
    rows = [(in_window("a", 4), ("1", 4, headers))]
    assert list(store.all()) == rows
    assert list(restored(the_spec, task.changelog).all()) == rows


def test_changelogs_of_the_other_stores() -> None:
    task = Task()
    task.at(9, Headers([("h", b"1")]))
    task.build(spec()).put("a", "1", 5)
    timestamped = task.build(spec(timestamped=True))
    timestamped.put("a", ValueAndTimestamp("1", 3), 5)
    timestamped.put("a", None, 5)
    key = window_store_key(b"a", 5)
    assert task.take_changelog() == [
        ChangelogRecord(key, b"1", 9),
        ChangelogRecord(key, b"1", 3),
        ChangelogRecord(key, None, 9),
    ]
    task.build(spec(timestamped=True, headers=True)).put("a", None, 5)
    assert task.take_changelog() == [ChangelogRecord(key, None, 9, [("h", b"1")])]


def test_a_cached_update_is_told_with_its_window() -> None:
    task = Task()
    store = task.build(spec(timestamped=True, caching=True))
    told: list[Any] = []
    assert store.set_flush_listener(lambda *update: told.append(update), True)
    task.at(1)
    store.put_value("a", "1", 20, 5)
    store.flush()
    store.put_value("a", "2", 20, 6)
    store.flush()
    assert told == [
        (in_window("a", 20), "1", None, 5),
        (in_window("a", 20), "2", "1", 6),
    ]


def test_the_short_way_for_operators() -> None:
    for caching in (False, True):
        store = Task().build(spec(timestamped=True, caching=caching))
        assert store.fetch_value("a", 20) is None
        store.put_value("a", "1", 20, 5)
        assert store.fetch_value("a", 20) == ("1", 5)
        assert store.fetch_one("a", 20) == ValueAndTimestamp("1", 5)
        store.put_value("b", "2", 30, 5)
        store.put("b", ValueAndTimestamp("3", 6), 30)
        store.flush()
        assert store.fetch_value("b", 30) == ("3", 6)
        store.put_value("a", None, 20, 5)
        assert store.fetch_value("a", 20) is None
        assert store.fetch_one("a", 20) is None
        for call in (store.fetch_value, store.fetch_one):
            with pytest.raises(NullArgumentError):
                call(None, 1)
        with pytest.raises(NullArgumentError):
            store.put_value(None, "1", 1, 1)
        with pytest.raises(NullArgumentError):
            store.fetch(None, 0, 1)


def test_a_store_of_windows_without_size_can_be_fetched_but_not_scanned() -> None:
    store = Task().build(spec(window_ms=0))
    store.put("a", "1", 5)
    assert list(store.fetch("a", 0, 10)) == [(5, "1")]
    with pytest.raises(ArgumentError):
        list(store.all())


def test_windows_do_not_end_after_the_end_of_time() -> None:
    store = Task().build(spec(window_ms=LONG_MAX, retention_ms=LONG_MAX))
    store.put("a", "1", 5)
    assert list(store.all()) == [(Windowed("a", Window(5, LONG_MAX)), "1")]


starts = st.integers(0, 4).map(lambda n: n * 30) | st.integers(0, 4 * MINUTE)
updates = st.lists(
    st.tuples(st.text("ab", min_size=1, max_size=2), st.none() | st.text("x"), starts)
)


@given(
    updates,
    st.sampled_from([Backend.PERSISTENT, Backend.IN_MEMORY]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_a_store_is_a_dict_of_what_has_not_expired(
    puts: list[tuple[str, str | None, int]],
    backend: Backend,
    caching: bool,
    timestamped: bool,
    time_ordered: bool,
) -> None:
    retention = 2 * MINUTE
    task = Task()
    the_spec = spec(
        backend=backend,
        caching=caching,
        timestamped=timestamped,
        retention_ms=retention,
        time_ordered=time_ordered,
    )
    store: WindowStore = task.build(the_spec)
    model: dict[tuple[int, str], Any] = {}
    latest = -1
    for time, (key, text, start) in enumerate(puts):
        task.at(time)
        latest = max(latest, start)
        value: Any = ValueAndTimestamp(text, time) if timestamped and text is not None else text
        store.put(key, value, start)
        model.pop((start, key), None)
        if value is not None:
            model[start, key] = value
    store.flush()
    again = restored(the_spec, task.changelog)
    first = latest - retention + (0 if time_ordered and backend is Backend.PERSISTENT else 1)
    live = {at: value for at, value in model.items() if at[0] >= first}
    for found in (again, store):
        if found is again or not caching:
            assert {(w.window.start, w.key): v for w, v in found.all()} == live
        for key in {key for _, key in live}:
            times = sorted(start for start, other in live if other == key)
            expected = [(start, live[start, key]) for start in times]
            assert list(found.fetch(key, first, LONG_MAX)) == expected
            assert list(found.backward_fetch(key, first, LONG_MAX)) == expected[::-1]
            for start in times:
                assert found.fetch_one(key, start) == live[start, key]
