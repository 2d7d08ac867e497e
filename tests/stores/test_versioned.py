from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import NullArgumentError
from headrace.core.record import VersionedRecord
from headrace.runtime.stores import ChangelogRecord, VersionedKeyValueStore
from headrace.runtime.stores.versioned import (
    NOT_PUT,
    VALID_TO_UNDEFINED,
    default_versioned_segment_interval,
)
from headrace.topology.stores import VersionedStoreSpec
from tests.stores.environment import TEXT, Task, restored


def spec(**options: Any) -> VersionedStoreSpec:
    defaults = {"name": "s", "key_serde": TEXT, "value_serde": TEXT, "history_ms": 1000}
    return VersionedStoreSpec(**{**defaults, **options})


def test_a_put_returns_when_the_version_ends() -> None:
    store = Task().build(spec())
    assert store.put("k", "a", 10) == VALID_TO_UNDEFINED
    assert store.put("k", "b", 20) == VALID_TO_UNDEFINED
    assert store.put("k", "c", 15) == 20
    assert store.put("k", "d", 5) == 10
    assert store.put("k", "e", 5000) == VALID_TO_UNDEFINED
    assert store.put("k", "f", 3999) == NOT_PUT


def test_versions_are_found_by_time() -> None:
    store = Task().build(spec())
    store.put("k", "a", 10)
    store.put("k", None, 20)
    store.put("k", "b", 30)
    assert store.get("k") == VersionedRecord("b", 30)
    assert store.get_as_of("k", 9) is None
    assert store.get_as_of("k", 10) == store.get_as_of("k", 19) == VersionedRecord("a", 10)
    assert store.get_as_of("k", 20) is store.get_as_of("k", 29) is None
    assert store.get_as_of("k", 99) == VersionedRecord("b", 30)
    assert store.get("other") is store.get_as_of("other", 5) is None


def test_a_delete_returns_the_version_that_was_valid() -> None:
    store = Task().build(spec())
    store.put("k", "a", 10)
    assert store.delete("k", 20) == VersionedRecord("a", 10)
    assert store.delete("k", 25) is None
    assert store.get("k") is None
    assert store.delete("k", 15) == VersionedRecord("a", 10)


def test_late_updates_are_dropped_and_counted_but_logged() -> None:
    task = Task()
    store = task.build(spec())
    store.put("k", "a", 2000)
    assert store.put("k", "b", 999) == NOT_PUT
    assert store.delete("k", 999) is None
    assert task.dropped == 2
    assert task.changelog == [
        ChangelogRecord(b"k", b"a", 2000),
        ChangelogRecord(b"k", b"b", 999),
        ChangelogRecord(b"k", None, 999),
    ]


def test_history_expires_but_the_latest_version_does_not() -> None:
    store = Task().build(spec(history_ms=100, segment_ms=10))
    store.put("k", "a", 0)
    store.put("k", "b", 50)
    store.put("other", "x", 500)
    assert store.get("k") == store.get_as_of("k", 60) == VersionedRecord("b", 50)
    assert store.get_as_of("k", 10) is None
    assert len(store._segments._segments) == 0


def test_a_key_must_be_given() -> None:
    store = Task().build(spec())
    calls: list[Callable[[], object]] = [
        lambda: store.put(None, "1", 0),
        lambda: store.get(None),
        lambda: store.get_as_of(None, 0),
        lambda: store.delete(None, 0),
    ]
    for call in calls:
        with pytest.raises(NullArgumentError):
            call()


def test_an_update_that_is_applied_again_changes_nothing() -> None:
    task = Task()
    store = task.build(spec())
    for timestamp, value in [(10, "a"), (20, "b"), (30, "c"), (25, None), (40, None)]:
        store.put("k", value, timestamp)
    again = restored(spec(), task.changelog)
    again.restore(task.changelog)
    for timestamp in range(9, 45):
        assert again.get_as_of("k", timestamp) == store.get_as_of("k", timestamp)


@pytest.mark.parametrize(
    ("history", "segment"),
    [(1, 2_000), (60_000, 20_000), (60_001, 20_000), (300_000, 60_000), (3_600_000, 300_000),
     (7_200_000, 300_000), (24_000_000, 1_000_000)],
)  # fmt: skip
def test_segments_are_chosen_by_the_history(history: int, segment: int) -> None:
    assert default_versioned_segment_interval(history) == segment


def test_a_deletion_of_the_latest_version_at_its_own_time_leaves_no_trace() -> None:
    store = Task().build(spec())
    store.put("k", "a", 10)
    store.put("k", None, 10)
    assert store.put("k", "b", 5) == VALID_TO_UNDEFINED
    assert store.get("k") == VersionedRecord("b", 5)


versions = st.lists(
    st.tuples(st.sampled_from("ab"), st.none() | st.text("x"), st.integers(0, 60)),
    unique_by=lambda version: (version[0], version[2]),
)


@given(versions, st.integers(1, 100), st.integers(1, 40))
def test_versions_are_those_of_a_full_history_within_the_retention(
    puts: list[tuple[str, str | None, int]], history: int, segment: int
) -> None:
    task = Task()
    the_spec = spec(history_ms=history, segment_ms=segment)
    store: VersionedKeyValueStore = task.build(the_spec)
    model: dict[str, dict[int, str | None]] = {"a": {}, "b": {}}
    time = -1
    for key, value, timestamp in puts:
        result = store.put(key, value, timestamp)
        assert (timestamp < time - history) <= (result == NOT_PUT)
        time = max(time, timestamp)
        if result != NOT_PUT:
            later = [at for at in model[key] if at > timestamp]
            if result != VALID_TO_UNDEFINED:
                assert result == min(later)
            model[key][timestamp] = value
    again = restored(the_spec, task.changelog)
    assert again.observed_time == time
    for key, known in model.items():
        for timestamp in range(max(0, time - history), time + 1):
            past = [at for at in known if at <= timestamp]
            value = known[max(past)] if past else None
            expected = None if value is None else VersionedRecord(value, max(past))
            assert store.get_as_of(key, timestamp) == expected
            assert again.get_as_of(key, timestamp) == expected
        newest = known[max(known)] if known else None
        found = store.get(key)
        assert (None if found is None else found.value) == newest
