"""What a task's state on disk promises."""

from __future__ import annotations

from pathlib import Path

import lmdb
import pytest

from headrace.core.errors import StateError
from headrace.core.record import TopicPartition
from headrace.state import Checkpoint, TaskState

CHECKPOINT = Checkpoint(
    "run-1",
    7,
    {TopicPartition("in", 3): 42, TopicPartition("other", 3): 0},
    {"app-store-changelog": ("YvT9jPz2Q-i", 100)},
)


@pytest.fixture
def state(tmp_path: Path) -> TaskState:
    return acquired(tmp_path)


def acquired(path: Path, identity: str = "app 0_3", **options: int) -> TaskState:
    state = TaskState(path / "0_3", identity, **options)
    state.acquire(0)
    return state


def reopened(state: TaskState) -> TaskState:
    state.close()
    return acquired(state.path.parent)


def test_new_state_is_empty(state: TaskState) -> None:
    assert state.checkpoint is None
    assert state.reset_reason is None
    assert state.names("") == []
    assert state.facts("store") == {}


def test_a_commit_is_found_again(state: TaskState) -> None:
    state.map("store").put(b"a", b"1")
    state.map("store/60000").put(b"b", b"2")
    state.commit(CHECKPOINT, {"store": {"observed_time": 5}})
    again = reopened(state)
    assert again.reset_reason is None
    assert again.checkpoint == CHECKPOINT
    assert again.names("store") == ["store", "store/60000"]
    assert again.names("store/") == ["store/60000"]
    assert again.map("store").get(b"a") == b"1"
    assert again.facts("store") == {"observed_time": 5}
    assert again.facts("other") == {}


def test_what_lmdb_says_of_its_file(state: TaskState) -> None:
    state.map("store").put(b"a", b"1" * 100_000)
    state.commit(CHECKPOINT, {})
    file = state.file()
    assert file is not None
    assert 100_000 < file.used <= file.map_size
    assert file.readers >= 1
    state.close()
    assert state.file() is None


def test_what_was_not_committed_is_gone(state: TaskState) -> None:
    state.commit(CHECKPOINT, {"store": {"n": 1}})
    state.map("store").put(b"a", b"1")
    again = reopened(state)
    assert again.map("store").get(b"a") is None
    assert again.facts("store") == {"n": 1}


def test_rollback_brings_dropped_maps_back(state: TaskState) -> None:
    state.map("store/0").put(b"a", b"1")
    state.commit(CHECKPOINT, {})
    state.drop("store/0")
    assert state.names("store/") == []
    assert state.map("store/0").get(b"a") is None
    state.rollback()
    assert state.names("store/") == ["store/0"]
    assert state.map("store/0").get(b"a") == b"1"


def test_a_map_can_be_dropped_and_made_anew_in_one_commit(state: TaskState) -> None:
    state.map("store/0").put(b"a", b"1")
    state.map("store/0").put(b"k" * 600, b"1")
    state.commit(CHECKPOINT, {})
    state.drop("store/0")
    state.map("store/0").put(b"b", b"2")
    state.commit(CHECKPOINT, {})
    again = reopened(state)
    assert list(again.map("store/0").range(None, None)) == [(b"b", b"2")]


def test_databases_of_dropped_maps_are_used_again(state: TaskState) -> None:
    for number in range(20):
        segment = state.map(f"store/{number}")
        segment.put(b"key", b"%d" % number)
        segment.put(b"k" * 600, b"%d" % number)
        if number > 1:
            state.drop(f"store/{number - 2}")
        state.commit(CHECKPOINT, {})
    assert state.names("store/") == ["store/18", "store/19"]
    assert set(state._about.maps.values()) < {0, 1, 2}
    again = reopened(state)
    assert [*again.map("store/18").range(None, None)] == [(b"key", b"18"), (b"k" * 600, b"18")]


def test_the_map_grows(tmp_path: Path) -> None:
    state = acquired(tmp_path, map_size=1 << 20)
    entries = state.map("store")
    for number in range(3000):
        entries.put(b"%d" % number, b"v" * 1000)
    state.commit(CHECKPOINT, {})
    other = reopened(state)
    assert len(other.map("store")) == 3000


def test_wiped_state_is_empty(state: TaskState) -> None:
    state.map("store").put(b"a", b"1")
    state.commit(CHECKPOINT, {"store": {"n": 1}})
    state.wipe()
    assert state.checkpoint is None
    assert state.names("") == []
    assert state.facts("store") == {}
    assert state.map("store").get(b"a") is None
    state.map("store").put(b"b", b"2")
    state.commit(CHECKPOINT, {})
    assert reopened(state).map("store").get(b"b") == b"2"


def test_a_turn_is_needed(state: TaskState) -> None:
    with pytest.raises(StateError, match="acquired already"):
        state.acquire(0)
    state.release()
    with pytest.raises(StateError, match="must be acquired first"):
        state.commit(CHECKPOINT, {})
    with pytest.raises(StateError, match="must be acquired first"):
        state.wipe()
    state.release()


def test_a_large_environment_does_not_stay_open(state: TaskState) -> None:
    for number in range(40):
        state.map("store").put(b"%d" % number, b"v" * (1 << 20))
    state.commit(CHECKPOINT, {})
    entries = state.map("store")
    state.release()
    assert state._environment is None
    state.acquire(0)
    assert state.checkpoint == CHECKPOINT
    assert len(entries) == 40
    state.close()


def test_readers_see_only_what_was_committed(state: TaskState) -> None:
    state.map("store").put(b"a", b"1")
    state.commit(CHECKPOINT, {})
    state.map("store").put(b"a", b"2")
    state.release()
    state._close_environment()
    with (
        lmdb.open(str(state.path), readonly=True, max_dbs=10) as environment,
        environment.begin() as snapshot,
    ):
        assert snapshot.get(b"a", db=environment.open_db(b"0", txn=snapshot)) == b"1"


def test_sizes_of_stores(state: TaskState) -> None:
    assert state.sizes() == {}
    state.map("a").put(b"k", b"v")
    state.map("a").put(b"x" * 600, b"a long key")
    for segment in ("w/0", "w/60000"):
        for number in range(100):
            state.map(segment).put(b"%d" % number, b"v" * 100)
    assert state.sizes() == {}  # what is not committed doesn't count
    state.commit(CHECKPOINT, {})
    sizes = state.sizes()
    assert {name: entries for name, (entries, _) in sizes.items()} == {"a": 2, "w": 200}
    assert sizes["w"][1] > 200 * 100
    assert sizes["a"][1] < sizes["w"][1]
    state.release()
    assert state.sizes() == {}
