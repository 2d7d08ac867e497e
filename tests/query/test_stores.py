"""Reading the stores of an application that runs."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from headrace import (
    Materialized,
    SessionWindows,
    StoreNotAvailableError,
    StreamsBuilder,
    TimeWindows,
    Topology,
    UnknownPartitionError,
    UnknownStoreError,
    ValueAndTimestamp,
    VersionedRecord,
    Windowed,
    serdes,
    stores,
)
from headrace.core.windowed import Window
from headrace.query import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyTimestampedKeyValueStore,
    ReadOnlyTimestampedWindowStore,
    ReadOnlyVersionedStore,
    ReadOnlyWindowStore,
)
from headrace.query.stores import check_type, type_of
from headrace.state.checkpoint import RESTORING
from tests.query.application import Application

ORDERS = [("alice", b"a", 10), ("bob", b"b", 20), ("alice", b"c", 30), ("carol", b"d", 70_000)]


def counts() -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string(), value=serdes.bytes_())
    stream.group_by_key().count("counts")
    return builder.build()


def windowed_counts() -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=serdes.string(), value=serdes.bytes_()).group_by_key()
    minutes = TimeWindows.of_size(timedelta(minutes=1), grace=timedelta(hours=1))
    grouped.windowed_by(minutes).count("windows")
    grouped.windowed_by(SessionWindows.of_inactivity_gap(timedelta(seconds=30))).count("sessions")
    return builder.build()


def versions() -> Topology:
    builder = StreamsBuilder()
    store = stores.versioned("versions", history=timedelta(hours=1))
    builder.table("in", Materialized(supplier=store), key=serdes.string(), value=serdes.bytes_())
    return builder.build()


@pytest.fixture
def counted(tmp_path: Path) -> Application:
    application = Application(counts(), tmp_path)
    application.process(ORDERS)
    return application


def test_key_value_store_gives_what_was_committed(counted: Application) -> None:
    store = ReadOnlyKeyValueStore[str, int]("counts", counted.state.partitions("counts"))
    assert store.get("alice") == 2
    assert store.get("nobody") is None
    assert sorted(store.all()) == [("alice", 2), ("bob", 1), ("carol", 1)]
    assert sorted(store.reverse_all()) == [("alice", 2), ("bob", 1), ("carol", 1)]
    assert sorted(store.range("b", "bz")) == [("bob", 1)]
    assert list(store.reverse_range("c", None)) == [("carol", 1)]
    assert list(store.prefix_scan("al", serdes.string())) == [("alice", 2)]
    assert store.approximate_num_entries() == 3


def test_timestamped_store_gives_timestamps(counted: Application) -> None:
    partitions = counted.state.partitions("counts")
    store = ReadOnlyTimestampedKeyValueStore[str]("counts", partitions)
    assert store.get("alice") == ValueAndTimestamp(2, 30)
    assert dict(store.all())["bob"] == ValueAndTimestamp(1, 20)


def test_reads_follow_commits(counted: Application) -> None:
    store = ReadOnlyKeyValueStore[str, int]("counts", counted.state.partitions("counts"))
    assert store.get("alice") == 2
    counted.process([("alice", b"x", 80_000)])
    assert store.get("alice") == 3


def test_a_scan_is_of_one_commit(counted: Application) -> None:
    partition = counted.state.partitions("counts")[0]
    keys = [key for key, _ in ReadOnlyKeyValueStore[str, int]("counts", {0: partition}).all()]
    store = ReadOnlyKeyValueStore[str, int]("counts", {0: partition})
    before = store.all()
    first = next(before)
    counted.process([(key, b"x", 80_000) for key in keys])
    assert [first[1], *(count for _, count in before)] != [count for _, count in store.all()]
    assert store.get(keys[0]) == first[1] + 1


def test_one_partition_has_only_its_own_keys(counted: Application) -> None:
    found = [
        dict(
            ReadOnlyKeyValueStore[str, int](
                "counts", counted.state.partitions("counts", number)
            ).all()
        )
        for number in range(2)
    ]
    assert not found[0].keys() & found[1].keys()
    assert {**found[0], **found[1]} == {"alice": 2, "bob": 1, "carol": 1}


def test_window_store(tmp_path: Path) -> None:
    application = Application(windowed_counts(), tmp_path)
    application.process(ORDERS)
    store = ReadOnlyWindowStore[str, int]("windows", application.state.partitions("windows"))
    assert store.fetch_one("alice", 0) == 2
    assert store.fetch_one("alice", 60_000) is None
    assert list(store.fetch("carol", 0, 100_000)) == [(60_000, 1)]
    assert list(store.backward_fetch("carol", 0, 100_000)) == [(60_000, 1)]
    windows = {(key.key, key.window.start): count for key, count in store.all()}
    assert windows == {("alice", 0): 2, ("bob", 0): 1, ("carol", 60_000): 1}
    assert len(list(store.backward_all())) == 3
    assert [key.key for key, _ in store.fetch_all(60_000, 60_000)] == ["carol"]
    assert [key.key for key, _ in store.backward_fetch_all(60_000, 60_000)] == ["carol"]
    assert {key.key for key, _ in store.fetch_range("a", "b", 0, 100_000)} == {"alice"}
    assert {key.key for key, _ in store.backward_fetch_range("a", "b", 0, 100_000)} == {"alice"}
    timed = ReadOnlyTimestampedWindowStore[str]("windows", application.state.partitions("windows"))
    assert timed.fetch_one("alice", 0) == ValueAndTimestamp(2, 30)


def test_session_store(tmp_path: Path) -> None:
    application = Application(windowed_counts(), tmp_path)
    application.process(ORDERS)
    store = ReadOnlySessionStore[str, int]("sessions", application.state.partitions("sessions"))
    assert store.fetch_session("alice", 10, 30) == 2
    session = Windowed("alice", Window(10, 30)), 2
    assert list(store.fetch("alice")) == [session]
    assert list(store.backward_fetch("alice")) == [session]
    assert list(store.find_sessions("alice", 0, 100)) == [session]
    assert list(store.backward_find_sessions("alice", 0, 100)) == [session]
    assert list(store.fetch_range("a", "b")) == [session]
    assert list(store.backward_fetch_range("a", "b")) == [session]
    assert list(store.find_sessions_range("a", "b", 0, 100)) == [session]
    assert list(store.backward_find_sessions_range("a", "b", 0, 100)) == [session]


def test_versioned_store(tmp_path: Path) -> None:
    application = Application(versions(), tmp_path)
    application.process(ORDERS)
    partitions = application.state.partitions("versions")
    store = ReadOnlyVersionedStore[str]("versions", partitions)
    assert store.get("alice") == VersionedRecord(b"c", 30)
    assert store.get_as_of("alice", 20) == VersionedRecord(b"a", 10)


def test_nothing_is_there_before_the_first_commit(tmp_path: Path) -> None:
    state = Application(counts(), tmp_path).state
    with pytest.raises(StoreNotAvailableError, match=r"Partition . of store counts"):
        ReadOnlyKeyValueStore[str, int]("counts", state.partitions("counts")).get("alice")


def test_a_state_that_is_being_restored_is_not_shown(tmp_path: Path) -> None:
    application = Application(counts(), tmp_path)
    application.process(ORDERS, sequence=RESTORING)
    with pytest.raises(StoreNotAvailableError):
        ReadOnlyKeyValueStore[str, int]("counts", application.state.partitions("counts")).get(
            "alice"
        )


def test_state_that_was_made_anew_is_found(counted: Application) -> None:
    store = ReadOnlyKeyValueStore[str, int]("counts", counted.state.partitions("counts"))
    assert store.get("alice") == 2
    for number in range(2):
        for file in counted.directory.task(f"0_{number}").iterdir():
            file.unlink()
    time.sleep(0.1)
    with pytest.raises(StoreNotAvailableError):
        store.get("alice")
    counted.process([("alice", b"x", 10)])
    assert store.get("alice") == 1


def test_closed_state_is_not_available(counted: Application) -> None:
    store = ReadOnlyKeyValueStore[str, int]("counts", counted.state.partitions("counts"))
    counted.state.close()
    with pytest.raises(StoreNotAvailableError):
        store.get("alice")


def test_many_threads_may_read(counted: Application) -> None:
    store = ReadOnlyKeyValueStore[str, int]("counts", counted.state.partitions("counts"))
    with ThreadPoolExecutor(8) as threads:
        found = threads.map(store.get, ["alice", "bob", "nobody", "carol"] * 500)
    assert list(found) == [2, 1, None, 1] * 500


def test_unknown_stores_and_partitions(counted: Application) -> None:
    with pytest.raises(UnknownStoreError, match="Did you mean 'counts'"):
        counted.state.partitions("count")
    with pytest.raises(UnknownStoreError, match="There are counts"):
        counted.state.spec("zzz")
    with pytest.raises(UnknownPartitionError, match="it has 2"):
        counted.state.partitions("counts", 7)


def test_the_type_of_a_store(counted: Application) -> None:
    spec = counted.state.spec("counts")
    assert type_of(spec) is ReadOnlyKeyValueStore
    check_type(spec, ReadOnlyTimestampedKeyValueStore)
    with pytest.raises(UnknownStoreError, match="one for ReadOnlyKeyValueStore"):
        check_type(spec, ReadOnlyWindowStore)
