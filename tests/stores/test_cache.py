from __future__ import annotations

from typing import Any

import pytest

from headrace.core.record import Headers, ValueAndTimestamp
from headrace.runtime.stores import TimestampedKeyValueStore
from headrace.serde.serde import Serde
from headrace.topology.stores import KeyValueStoreSpec
from tests.stores.environment import TEXT, Task

ENTRY = 24 + 1 + 8 + 8 + 4
"""What an entry takes up besides key, value, topic and headers."""


def cached(task: Task, name: str = "s", **options: Any) -> TimestampedKeyValueStore:
    options = {"caching": True, "timestamped": True, **options}
    spec = KeyValueStoreSpec(name=name, key_serde=TEXT, value_serde=TEXT, **options)
    store: TimestampedKeyValueStore = task.build(spec)
    return store


class Listener:
    def __init__(self, task: Task, store: TimestampedKeyValueStore, send_old: bool = True) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.task = task
        assert store.set_flush_listener(self, send_old)

    def __call__(self, key: Any, new: Any, old: Any, timestamp: int) -> None:
        self.calls.append((key, new, old, timestamp, self.task.context.timestamp))


def test_updates_are_told_at_the_flush_in_the_order_of_the_last_ones() -> None:
    task = Task()
    store = cached(task)
    listener = Listener(task, store)
    for time, (key, value) in enumerate([("a", "1"), ("b", "1"), ("a", "2")]):
        task.at(time)
        store.put_value(key, value, time + 10)
    assert listener.calls == task.changelog == []
    task.at(99)
    store.flush()
    assert listener.calls == [("b", "1", None, 11, 1), ("a", "2", None, 12, 2)]
    assert [(record.key, record.timestamp) for record in task.changelog] == [(b"b", 11), (b"a", 12)]
    assert task.context.timestamp == 99
    store.flush()
    assert len(listener.calls) == 2


def test_the_old_value_is_that_of_the_store_and_intermediate_ones_collapse() -> None:
    task = Task()
    store = cached(task)
    listener = Listener(task, store)
    task.at(1)
    store.put_value("a", "1", 1)
    store.flush()
    store.put_value("a", "2", 2)
    store.put_value("a", "3", 3)
    store.flush()
    store.put_value("a", None, 0)
    task.at(4)
    store.flush()
    assert listener.calls == [
        ("a", "1", None, 1, 1),
        ("a", "3", "1", 3, 1),
        ("a", None, "3", 1, 1),
    ]


def test_an_update_that_comes_to_nothing_is_not_told_nor_logged() -> None:
    task = Task()
    store = cached(task)
    listener = Listener(task, store, send_old=False)
    store.put_value("a", "1", 1)
    store.put_value("a", None, 0)
    store.flush()
    assert listener.calls == task.changelog == []
    assert task.cache.size == 0


def test_without_a_listener_a_deletion_is_written_in_any_case() -> None:
    task = Task()
    store = cached(task)
    store.put_value("a", None, 0)
    store.flush()
    assert [(record.key, record.value) for record in task.changelog] == [(b"a", None)]


def test_old_values_are_left_out_unless_asked_for() -> None:
    task = Task()
    store = cached(task)
    listener = Listener(task, store, send_old=False)
    store.put_value("a", "1", 1)
    store.flush()
    store.put_value("a", None, 1)
    store.flush()
    assert [call[1:3] for call in listener.calls] == [("1", None), (None, None)]


def test_sizes_are_counted_as_kafka_streams_counts_them() -> None:
    task = Task()
    store = cached(task)
    task.at(1, Headers([("head", b"er"), ("none", None)]), "topic")
    store.put_value("key", "value", 1)
    assert task.cache.size == ENTRY + 3 + (8 + 5) + 5 + (4 + 2 + 4)
    task.at(1, topic=None)
    store.put_value("key", None, 1)
    assert task.cache.size == ENTRY + 3
    store.flush()
    assert task.cache.size == 0


def test_a_value_read_from_the_store_is_kept_in_the_cache() -> None:
    task = Task()
    store = cached(task)
    store.restore([(b"k", b"v", 3, ())])
    assert store.get("k") == ValueAndTimestamp("v", 3)
    assert task.cache.size == ENTRY + 1 + 9
    assert store.get("k") == ValueAndTimestamp("v", 3)
    plain: Any = cached(task, timestamped=False)
    plain.restore([(b"k", b"v", 3, ())])
    assert plain.get("k") == "v"
    assert task.cache.size == (ENTRY + 1 + 9) + (ENTRY + 1 + 1)


def test_evicting_a_dirty_entry_writes_all_dirty_ones_the_evicted_first() -> None:
    task = Task(budget=2 * (ENTRY + 1 + 9 + 2))
    store = cached(task)
    listener = Listener(task, store)
    task.at(1)
    store.put_value("a", "1", 1)
    store.put_value("b", "1", 1)
    assert store.get_value("a") == ("1", 1)
    store.put_value("c", "1", 1)
    assert [call[0] for call in listener.calls] == ["b", "a", "c"]
    assert sorted(store._cache.entries) == [b"a", b"c"]  # type: ignore[union-attr]
    store.put_value("d", "1", 1)
    assert [call[0] for call in listener.calls] == ["b", "a", "c"]
    assert sorted(store._cache.entries) == [b"c", b"d"]  # type: ignore[union-attr]


def test_an_entry_that_is_too_large_goes_right_through() -> None:
    task = Task(budget=1)
    store = cached(task)
    listener = Listener(task, store)
    store.put_value("a", "1", 1)
    assert [call[:3] for call in listener.calls] == [("a", "1", None)]
    assert store.get_value("a") == ("1", 1)
    assert task.cache.size == 0


def test_only_the_store_that_is_updated_has_to_give_way() -> None:
    task = Task(budget=ENTRY + 1 + 9 + 2)
    first, second = cached(task, "first"), cached(task, "second")
    task.at(1)
    first.put_value("a", "1", 1)
    assert task.changelog == []
    second.put_value("b", "1", 1)
    assert [record.key for record in task.changelog] == [b"b"]
    assert task.cache.size == ENTRY + 1 + 9 + 2


def test_an_update_made_while_entries_are_written_is_kept() -> None:
    task = Task()
    store = cached(task)
    told: list[tuple[Any, Any]] = []

    def listener(key: Any, new: Any, old: Any, timestamp: int) -> None:
        told.append((key, new))
        if new == "1":
            store.put_value(key, "2", 2)

    store.set_flush_listener(listener, True)
    store.put_value("a", "1", 1)
    store.flush()
    assert store.get_value("a") == ("2", 2)
    store.flush()
    assert told == [("a", "1"), ("a", "2")]


def test_a_deletion_that_was_written_leaves_the_cache_with_what_came_since() -> None:
    task = Task()
    store = cached(task)
    store.restore([(b"a", b"0", 0, ())])

    def listener(key: Any, new: Any, old: Any, timestamp: int) -> None:
        if new is None:
            store.put_value(key, "2", 2)

    store.set_flush_listener(listener, True)
    store.put_value("a", None, 1)
    store.flush()
    assert store.get_value("a") is None


def test_there_is_no_cache_without_memory_or_if_it_is_not_asked_for() -> None:
    for store in (cached(Task(budget=0)), cached(Task(), caching=False)):
        assert not store.set_flush_listener(lambda *update: None, True)
        store.flush()


def test_the_registers_are_put_back_when_a_listener_raises() -> None:
    task = Task()
    store = cached(task)

    def listener(key: Any, new: Any, old: Any, timestamp: int) -> None:
        raise LookupError

    store.set_flush_listener(listener, False)
    task.at(1)
    store.put_value("a", "1", 1)
    task.at(2)
    with pytest.raises(LookupError):
        store.flush()
    assert task.context.timestamp == 2


@pytest.mark.parametrize("immutable", [True, False])
def test_values_that_nobody_changes_are_not_read_again(immutable: bool) -> None:
    reads: list[bytes] = []

    def read(data: bytes) -> tuple[str, ...]:
        reads.append(data)
        return tuple(data.decode())

    def write(row: tuple[str, ...]) -> bytes:
        return "".join(row).encode()

    spec = KeyValueStoreSpec(
        name="s",
        key_serde=TEXT,
        value_serde=Serde(write, read, immutable=immutable),
        caching=True,
        timestamped=True,
    )
    task = Task()
    task.at(1)
    store: TimestampedKeyValueStore = task.build(spec)
    aggregate = store.aggregation(lambda: (), lambda key, value, state: (*state, value))
    for letter in "abc":
        aggregate(b"k", "k", letter, 1)
    assert store.get_value("k") == (("a", "b", "c"), 1)
    assert reads == ([] if immutable else [b"a", b"ab", b"abc"])
    store.put_value("k", ("x",), 2)
    assert store.get_value("k") == (("x",), 2)
    assert reads == ([] if immutable else [b"a", b"ab", b"abc", b"x"])
