from __future__ import annotations

from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import NullArgumentError
from headrace.core.hash_order import BytesHashSet
from headrace.core.record import Change, Headers, ValueAndTimestamp
from headrace.core.windowed import LONG_MAX
from headrace.runtime.context import RecordContext
from headrace.runtime.stores import ChangelogRecord, Eviction, JoinBuffer, SuppressBuffer
from headrace.serde.outer_join import OuterJoinKey, OuterJoinValue
from headrace.topology.stores import JoinBufferSpec, OuterJoinStoreSpec, SuppressBufferSpec
from tests.stores.environment import NUMBER, TEXT, Task, restored

SUPPRESS = SuppressBufferSpec(name="s", key_serde=TEXT, value_serde=TEXT)
JOIN = JoinBufferSpec(name="s", key_serde=TEXT, value_serde=TEXT, grace_ms=10)
OUTER = OuterJoinStoreSpec(name="s", key_serde=TEXT, value_serde=TEXT, right_value_serde=NUMBER)


def registers(timestamp: int) -> RecordContext:
    return RecordContext(timestamp, Headers(), "in", 0, 3, None, None)


def origin(timestamp: int) -> bytes:
    return pack(">qqi", timestamp, 3, 2) + b"in" + pack(">ii", 0, 0)


def evict_all(buffer: Any) -> list[tuple[Any, Any, int]]:
    evicted: list[Eviction] = []
    buffer.evict_while(lambda: True, evicted.append)
    return [(it.key, it.value, it.registers.timestamp) for it in evicted]


def test_a_suppression_keeps_the_last_update_at_the_time_of_the_first() -> None:
    buffer: SuppressBuffer = Task().build(SUPPRESS)
    assert buffer.min_timestamp == LONG_MAX
    buffer.put(5, "b", Change("1", "0"), registers(5))
    buffer.put(3, "a", Change("1", None), registers(3))
    buffer.put(9, "b", Change("2", "1"), registers(9))
    assert buffer.num_records == 2
    assert buffer.min_timestamp == 3
    assert buffer.prior_value("b") == (True, ValueAndTimestamp("0", -1))
    assert buffer.prior_value("a") == (True, None)
    assert buffer.prior_value("c") == (False, None)
    assert evict_all(buffer) == [("a", Change("1", None), 3), ("b", Change("2", "1"), 9)]
    assert (buffer.num_records, buffer.buffer_size, buffer.min_timestamp) == (0, 0, LONG_MAX)


def test_a_suppression_counts_bytes_as_kafka_streams_does() -> None:
    buffer: SuppressBuffer = Task().build(SUPPRESS)
    buffer.put(5, "key", Change("new", "old!"), registers(5))
    context = 8 + 8 + 2 + 4
    assert buffer.buffer_size == 8 + 3 + 4 + 3 + context
    buffer.put(5, "key", Change("newer", "new"), registers(5))
    assert buffer.buffer_size == 8 + 3 + 4 + 3 + 5 + context


def test_evictions_stop_when_the_predicate_says_so() -> None:
    buffer: SuppressBuffer = Task().build(SUPPRESS)
    for time, key in enumerate("abc"):
        buffer.put(time, key, Change("1"), registers(time))
    evicted: list[Eviction] = []
    buffer.evict_while(lambda: buffer.num_records > 1, evicted.append)
    assert [it.key for it in evicted] == ["a", "b"]
    buffer.evict_while(lambda: False, evicted.append)
    assert len(evicted) == 2


def test_a_suppression_logs_at_the_flush_without_timestamps() -> None:
    task = Task()
    buffer: SuppressBuffer = task.build(SUPPRESS)
    buffer.put(5, "a", Change("1", "0"), registers(4))
    assert task.changelog == []
    buffer.flush()
    value = origin(4) + pack(">i", 1) + b"0" + pack(">i", -2) + pack(">i", 1) + b"1"
    logged = ChangelogRecord(b"a", value + pack(">q", 5), None, (("v", b"\x03"),))
    assert task.take_changelog() == [logged]
    evict_all(buffer)
    buffer.flush()
    assert task.take_changelog() == [ChangelogRecord(b"a", None, None)]
    buffer.flush()
    assert task.changelog == []


def test_a_suppression_without_logging_logs_nothing() -> None:
    task = Task()
    spec = SuppressBufferSpec(name="s", key_serde=TEXT, value_serde=TEXT, logging=False)
    buffer: SuppressBuffer = task.build(spec)
    buffer.put(5, "a", Change("1"), registers(4))
    buffer.flush()
    assert task.changelog == []


def test_a_change_must_be_given() -> None:
    with pytest.raises(NullArgumentError):
        Task().build(SUPPRESS).put(1, "a", None, registers(1))


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.integers(0, 3))))
def test_a_restored_suppression_is_the_same(steps: list[tuple[int, str, int]]) -> None:
    task = Task()
    buffer: SuppressBuffer = task.build(SUPPRESS)
    for time, key, keep in steps:
        buffer.put(time, key, Change(str(time), None), registers(time))
        buffer.evict_while(lambda keep=keep: buffer.num_records > keep, lambda it: None)  # type: ignore[misc]
        buffer.flush()
    again = restored(SUPPRESS, task.changelog)
    for attribute in ("num_records", "buffer_size", "min_timestamp"):
        assert getattr(again, attribute) == getattr(buffer, attribute)
    assert evict_all(again) == evict_all(buffer)


def test_the_set_is_gone_through_in_javas_order() -> None:
    keys = BytesHashSet()
    for key in (b"k2", b"k1", b"k\xff", b"k2"):
        keys.add(key)
    assert list(keys) == [b"k\xff", b"k1", b"k2"]
    for number in range(20):
        keys.add(b"%d" % number)
    assert len(list(keys)) == 23
    keys.clear()
    assert list(keys) == []


def test_a_join_buffer_gives_back_what_stream_time_has_passed_in_order() -> None:
    buffer: JoinBuffer = Task().build(JOIN)
    assert buffer.put(5, "b", "1", registers(5))
    assert buffer.put(5, "a", "2", registers(5))
    assert buffer.put(5, "b", "3", registers(5))
    assert evict_all(buffer) == []
    assert buffer.put(15, "a", "4", registers(15))
    assert buffer.min_timestamp <= 5
    assert evict_all(buffer) == [("a", "2", 5), ("b", "1", 5), ("b", "3", 5)]
    assert (buffer.num_records, buffer.min_timestamp) == (1, 6)
    assert not buffer.put(4, "a", "5", registers(4))
    assert buffer.put(25, "a", "6", registers(25))
    evicted: list[Eviction] = []
    buffer.evict_while(lambda: False, evicted.append)
    stops = iter([True, False])
    buffer.evict_while(lambda: next(stops), evicted.append)
    assert evicted == []
    assert evict_all(buffer) == [("a", "4", 15)]
    assert buffer.num_records == 1


def test_a_join_buffer_logs_its_keys_by_time_and_restores_from_them() -> None:
    task = Task()
    buffer: JoinBuffer = task.build(JOIN)
    buffer.put(5, "b", "1", registers(5))
    buffer.put(15, "a", "22", registers(15))
    evict_all(buffer)
    key = b"\0" + pack(">q", 5) + b"b" + pack(">i", 1)
    value = origin(5) + pack(">iii", -1, -1, 1) + b"1" + bytes(8)
    assert task.changelog[0] == ChangelogRecord(key, value, None)
    assert task.changelog[2] == ChangelogRecord(key, None, None)
    again = restored(JOIN, [*task.changelog, task.changelog[2]])
    assert (again.num_records, again.buffer_size) == (1, buffer.buffer_size)
    again.put(30, "c", "1", registers(30))
    assert evict_all(again) == [("a", "22", 15)]


def test_a_join_buffer_needs_key_and_value() -> None:
    buffer = Task().build(JoinBufferSpec(
        name="s", key_serde=TEXT, value_serde=TEXT, grace_ms=10, logging=False
    ))  # fmt: skip
    with pytest.raises(NullArgumentError):
        buffer.put(1, None, "1", registers(1))
    with pytest.raises(NullArgumentError):
        buffer.put(1, "a", None, registers(1))
    buffer.put(1, "a", "1", registers(1))
    buffer.put(20, "a", "1", registers(20))
    assert evict_all(buffer) == [("a", "1", 1)]
    assert evict_all(buffer) == []


def test_unmatched_records_come_by_time_side_and_key() -> None:
    task = Task()
    store = task.build(OUTER)
    task.at(7)
    left, right = OuterJoinKey(5, True, "a"), OuterJoinKey(5, False, "b")
    store.put(left, OuterJoinValue(True, "1"))
    store.put(right, OuterJoinValue(False, 2))
    store.put(left, OuterJoinValue(True, "3"))
    store.put(OuterJoinKey(4, True, "z"), OuterJoinValue(True, "0"))
    found = list(store.all())
    assert [(key.timestamp, key.is_left, value.value) for key, value in found] == [
        (4, True, "0"), (5, False, 2), (5, True, "1"), (5, True, "3"),
    ]  # fmt: skip
    assert list(restored(OUTER, task.changelog).all()) == found
    store.put_if_absent(left, None)
    store.put_if_absent(OuterJoinKey(9, True, "n"), None)
    store.put(right, None)
    assert [record.value for record in task.changelog[-2:]] == [None, None]
    assert len(task.changelog) == 6
    assert list(restored(OUTER, task.changelog).all()) == list(store.all()) == found[:1]


def test_unmatched_records_may_be_deleted_while_they_are_gone_through() -> None:
    store = Task().build(OUTER)
    for time in range(100):
        store.put(OuterJoinKey(time, True, "a"), OuterJoinValue(True, "1"))
    seen = 0
    for key, _ in store.all():
        store.put(key, None)
        seen += 1
    assert seen == 100
    assert list(store.all()) == []
