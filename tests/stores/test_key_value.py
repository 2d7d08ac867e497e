from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import NullArgumentError
from headrace.core.record import Headers, ValueAndTimestamp
from headrace.runtime.stores import ChangelogRecord, KeyValueStore, TimestampedKeyValueStore
from headrace.topology.stores import Backend, KeyValueStoreSpec, SubscriptionStoreSpec
from tests.stores.environment import NUMBER, TEXT, Task, restored


def spec(**options: Any) -> KeyValueStoreSpec:
    return KeyValueStoreSpec(**{"name": "s", "key_serde": TEXT, "value_serde": TEXT, **options})


def test_a_put_value_is_read_back_and_none_deletes_it() -> None:
    store = Task().build(spec())
    store.put("a", "1")
    assert store.get("a") == "1"
    store.put("a", None)
    assert store.get("a") is None


@pytest.mark.parametrize("call", ["get", "delete"])
def test_a_key_must_be_given(call: str) -> None:
    for options in ({}, {"timestamped": True}, {"timestamped": True, "caching": True}):
        with pytest.raises(NullArgumentError):
            getattr(Task().build(spec(**options)), call)(None)


def test_a_key_must_be_given_to_puts() -> None:
    for options in ({}, {"timestamped": True}, {"timestamped": True, "caching": True}):
        store = Task().build(spec(**options))
        with pytest.raises(NullArgumentError):
            store.put(None, ValueAndTimestamp("1", 2))
        with pytest.raises(NullArgumentError):
            store.put_all([(None, ValueAndTimestamp("1", 2))])
        with pytest.raises(NullArgumentError):
            store.prefix_scan(None, TEXT)


@pytest.mark.parametrize("caching", [False, True])
def test_scans_go_by_key_bytes_and_bounds_are_inclusive(caching: bool) -> None:
    store = Task().build(spec(caching=caching))
    store.put_all([(key, key) for key in ("b", "a", "ab", "c", "é")])
    assert [key for key, _ in store.all()] == ["a", "ab", "b", "c", "é"]
    assert [key for key, _ in store.reverse_all()] == ["é", "c", "b", "ab", "a"]
    assert [key for key, _ in store.range("ab", "c")] == ["ab", "b", "c"]
    assert [key for key, _ in store.range(None, "ab")] == ["a", "ab"]
    assert [key for key, _ in store.reverse_range("b", None)] == ["é", "c", "b"]
    assert [key for key, _ in store.prefix_scan("a", TEXT)] == ["a", "ab"]
    assert [key for key, _ in store.prefix_scan("a", str.encode)] == ["a", "ab"]
    assert list(store.range("c", "a")) == list(store.reverse_range("c", "a")) == []


def test_a_prefix_of_highest_bytes_has_no_upper_bound() -> None:
    store = Task().build(spec())
    store.put("é", "1")
    assert list(store.prefix_scan(b"\xff\xff", bytes)) == []


def test_a_store_may_be_changed_during_a_scan() -> None:
    store = Task().build(spec())
    store.put_all([("a", "1"), ("b", "2")])
    seen = []
    for key, _ in store.all():
        store.delete(key)
        store.put(key + "x", "3")
        seen.append(key)
    assert seen == ["a", "b"]


@pytest.mark.parametrize("caching", [False, True])
def test_put_if_absent_and_delete_return_what_was_there(caching: bool) -> None:
    store = Task().build(spec(caching=caching))
    assert store.put_if_absent("a", "1") is None
    assert store.put_if_absent("a", "2") == "1"
    assert store.delete("a") == "1"
    assert store.delete("a") is None


def test_a_plain_store_logs_with_the_timestamp_of_the_record_and_without_headers() -> None:
    task = Task()
    store = task.build(spec())
    task.at(5, Headers([("h", b"1")]))
    store.put("a", "1")
    store.delete("b")
    assert task.changelog == [
        ChangelogRecord(b"a", b"1", 5),
        ChangelogRecord(b"b", None, 5),
    ]


def test_a_timestamped_store_logs_raw_values_with_their_own_timestamp() -> None:
    task = Task()
    store = task.build(spec(timestamped=True))
    task.at(5)
    store.put("a", ValueAndTimestamp("1", 3))
    store.put("a", None)
    assert task.changelog == [ChangelogRecord(b"a", b"1", 3), ChangelogRecord(b"a", None, 5)]


def test_deletions_of_a_store_with_headers_are_logged_with_those_of_the_record() -> None:
    task = Task(dsl_store_format="headers")
    store = task.build(spec(headers=None))
    assert isinstance(store, TimestampedKeyValueStore)
    headers = Headers([("h", b"1")])
    task.at(5, headers)
    store.put("a", ValueAndTimestamp("1", 3))
    store.put("a", None)
    assert task.changelog == [
        ChangelogRecord(b"a", b"1", 3),
        ChangelogRecord(b"a", None, 5, headers),
    ]


def test_only_persistent_stores_keep_headers_because_of_the_setting() -> None:
    task = Task(dsl_store_format="headers")
    store = task.build(spec(headers=None, timestamped=True, backend=Backend.IN_MEMORY))
    task.at(5, Headers([("h", b"1")]))
    store.put("a", None)
    assert task.changelog == [ChangelogRecord(b"a", None, 5)]


def test_a_store_made_of_a_plain_one_forgets_timestamps_behind_its_cache() -> None:
    task = Task()
    store = task.build(spec(timestamped=True, forgets_timestamps=True))
    store.put("a", ValueAndTimestamp("1", 3))
    assert store.get("a") == ValueAndTimestamp("1", -1)
    assert task.changelog == [ChangelogRecord(b"a", b"1", 3)]
    cached = task.build(spec(timestamped=True, forgets_timestamps=True, caching=True))
    cached.put("a", ValueAndTimestamp("1", 3))
    cached.flush()
    assert cached.get("a") == ValueAndTimestamp("1", 3)


def test_a_backward_scan_may_show_deletions_that_are_in_the_cache() -> None:
    store = Task().build(spec(caching=True))
    store.put("b", "1")
    store.put("d", "2")
    store.flush()
    store.put("a", None)
    store.put("c", None)
    assert list(store.all()) == [("b", "1"), ("d", "2")]
    assert list(store.reverse_all()) == [("d", "2"), ("c", None), ("b", "1")]
    store.put("c", "3")
    store.delete("e")
    assert list(store.all()) == [("b", "1"), ("c", "3"), ("d", "2")]
    assert list(store.reverse_all()) == [("e", None), ("d", "2"), ("c", "3"), ("b", "1")]


def test_a_subscription_store_logs_all_headers_and_is_scanned_by_raw_prefix() -> None:
    task = Task()
    store = task.build(SubscriptionStoreSpec(name="s", key_serde=TEXT, value_serde=TEXT))
    headers = Headers([("h", b"1")])
    task.at(5, headers)
    store.put("ab", ValueAndTimestamp("1", 3))
    assert task.changelog == [ChangelogRecord(b"ab", b"1", 3, headers)]
    assert list(store.prefix_scan(b"a")) == [("ab", ValueAndTimestamp("1", 3))]


def test_nothing_is_logged_without_logging() -> None:
    task = Task()
    task.build(spec(logging=False)).put("a", "1")
    assert task.changelog == []


def test_an_lru_store_forgets_what_was_not_used_and_logs_it_first() -> None:
    task = Task()
    lru = spec(backend=Backend.LRU, max_entries=2)
    store = task.build(lru)
    task.at(1)
    store.put("b", "1")
    store.put("a", "2")
    assert store.get("b") == "1"
    store.put("c", "3")
    assert [key for key, _ in store.all()] == ["b", "c"]
    assert [key for key, _ in store.reverse_range(None, "b")] == ["b"]
    assert [(record.key, record.value) for record in task.changelog[2:]] == [
        (b"a", None),
        (b"c", b"3"),
    ]
    assert store.approximate_num_entries() == 2
    store.delete("c")
    assert list(restored(lru, task.changelog).all()) == list(store.all()) == [("b", "1")]


def test_an_lru_store_logs_entries_put_together_after_what_they_drive_out() -> None:
    task = Task()
    store = task.build(spec(backend=Backend.LRU, max_entries=1))
    store.put_all([("a", "1"), ("b", "2")])
    assert [(record.key, record.value) for record in task.changelog] == [
        (b"a", None),
        (b"a", b"1"),
        (b"b", b"2"),
    ]


def test_a_mutable_value_is_never_shared_with_the_cache() -> None:
    import json

    from headrace.serde.serde import Serde

    as_json: Serde[Any] = Serde(lambda value: json.dumps(value).encode(), json.loads)
    store = Task().build(spec(value_serde=as_json, timestamped=True, caching=True))
    value = {"n": 1}
    store.put_value("a", value, 0)
    value["n"] = 2
    assert store.get_value("a") == ({"n": 1}, 0)
    store.get_value("a")[0]["n"] = 3
    assert store.get_value("a") == ({"n": 1}, 0)


Operation = tuple[str, str, str | None]
operations = st.lists(
    st.tuples(
        st.sampled_from(["put", "put_if_absent", "get", "delete", "flush"]),
        st.text("ab", max_size=3),
        st.none() | st.text("xy", max_size=2),
    )
)


@given(operations, st.booleans(), st.booleans(), st.integers(1, 400))
def test_a_store_is_a_dict_whatever_its_cache(
    steps: list[Operation], timestamped: bool, caching: bool, budget: int
) -> None:
    task, model = Task(budget=budget), dict[str, Any]()
    the_spec = spec(timestamped=timestamped, caching=caching)
    store: KeyValueStore = task.build(the_spec)
    for time, (call, key, text) in enumerate(steps):
        task.at(time)
        value: Any = ValueAndTimestamp(text, time) if timestamped and text is not None else text
        before = model.get(key)
        if call == "put":
            store.put(key, value)
        elif call == "put_if_absent":
            assert store.put_if_absent(key, value) == before
            value = before if before is not None else value
        elif call == "delete":
            assert store.delete(key) == before
            value = None
        else:
            assert store.get(key) == before
            if call == "flush":
                store.flush()
                assert list(store.reverse_all()) == sorted(model.items(), reverse=True)
            continue
        model.pop(key, None)
        if value is not None:
            model[key] = value
        assert list(store.all()) == sorted(model.items())
        if not caching:
            assert list(store.reverse_all()) == sorted(model.items(), reverse=True)
        assert list(store.range("a", "b")) == sorted(
            (key, value) for key, value in model.items() if "a" <= key <= "b"
        )
    store.close()
    assert task.cache.size == 0
    assert not store.is_open
    assert list(restored(the_spec, task.changelog).all()) == sorted(model.items())


def test_numbers_are_kept_as_they_are() -> None:
    store = Task().build(spec(value_serde=NUMBER, timestamped=True, caching=True))
    store.put_value("a", 1, 5)
    assert store.get_value("a") == (1, 5)
    store.flush()
    assert store.get("a") == ValueAndTimestamp(1, 5)
    store.put_value("b", None, 0)
    assert store.get_value("b") is None
    assert store.get_value("c") is None
