"""What the model of a disk and the real one have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.core.errors import LockError, StateError
from headrace.core.record import TopicPartition
from headrace.state.checkpoint import Checkpoint
from headrace.state.directory import StateDirectory
from headrace.state.port import Disk

from .clock import VirtualClock
from .disk import Host, ModelDisk

CHECKPOINT = Checkpoint("run", 7, {TopicPartition("in", 3): 42}, {"log": ("id", 100)})

NewDisk = Callable[[], Disk]


class Owner:
    """Another process, as far as the model knows."""

    def __init__(self) -> None:
        self.name = "process"
        self.clock = VirtualClock()

    def step(self, what: str) -> None: ...


@pytest.fixture(params=["model", "real"])
def new_disk(request: pytest.FixtureRequest, tmp_path: Path) -> NewDisk:
    """Gives what one process after the other has of the same disk."""
    if request.param == "real":
        return lambda: StateDirectory(tmp_path / "root", "app")
    host = Host("host")
    return lambda: ModelDisk(host, Owner())


def test_a_commit_is_found_by_the_next(new_disk: NewDisk) -> None:
    state = new_disk().state("0_0", "app 0_0\nshape")
    state.acquire(0)
    assert state.checkpoint is None
    assert state.names("") == []
    state.map("store").put(b"a", b"1")
    state.map("store/60").put(b"b", b"2")
    state.commit(CHECKPOINT, {"store": {"observed_time": 5}})
    state.close()
    again = new_disk().state("0_0", "app 0_0\nshape")
    again.acquire(0)
    assert again.checkpoint == CHECKPOINT
    assert again.names("store/") == ["store/60"]
    assert again.map("store").get(b"a") == b"1"
    assert again.facts("store") == {"observed_time": 5}
    assert again.facts("other") == {}
    again.close()


def test_what_is_not_committed_is_forgotten(new_disk: NewDisk) -> None:
    state = new_disk().state("0_0", "app")
    state.acquire(0)
    kept = state.map("store")
    kept.put(b"a", b"1")
    state.commit(CHECKPOINT, {})
    kept.put(b"a", b"2")
    kept.delete(b"a")
    state.rollback()
    assert kept.get(b"a") == b"1"
    kept.put(b"b", b"2")
    state.release()
    state.acquire(0)
    assert list(kept.range(None, None)) == [(b"a", b"1")]
    state.close()


def test_one_has_it_at_a_time(new_disk: NewDisk) -> None:
    one, other = new_disk().state("0_0", "app"), new_disk().state("0_0", "app")
    one.acquire(0)
    with pytest.raises(LockError):
        other.acquire(0)
    with pytest.raises(StateError):
        one.acquire(0)
    one.close()
    other.acquire(0)
    with pytest.raises(StateError):
        one.commit(CHECKPOINT, {})
    other.close()


def test_what_is_shared_is_read_but_not_written(new_disk: NewDisk) -> None:
    state = new_disk().state("0_0", "app")
    state.acquire(0)
    state.map("store").put(b"a", b"1")
    state.commit(CHECKPOINT, {})
    state.map("store").put(b"a", b"2")
    state.share()
    assert state.map("store").get(b"a") == b"1"
    with pytest.raises(StateError):
        state.commit(CHECKPOINT, {})
    state.acquire(0)
    state.map("store").put(b"a", b"3")
    state.commit(CHECKPOINT, {})
    state.close()


@pytest.mark.parametrize("wipes", [True, False])
def test_what_is_wiped_or_of_other_stores_is_empty(new_disk: NewDisk, wipes: bool) -> None:
    state = new_disk().state("0_0", "app 0_0\nshape")
    state.acquire(0)
    state.map("store").put(b"a", b"1")
    state.commit(CHECKPOINT, {"store": {"n": 1}})
    if wipes:
        state.wipe()
    state.close()
    again = new_disk().state("0_0", "app 0_0\nshape" if wipes else "app 0_0\nother")
    again.acquire(0)
    assert again.checkpoint is None
    assert again.map("store").get(b"a") is None
    assert again.facts("store") == {}
    again.close()


def test_a_map_is_dropped_with_the_commit(new_disk: NewDisk) -> None:
    state = new_disk().state("0_0", "app")
    state.acquire(0)
    state.map("store/1").put(b"a", b"1")
    state.map("store/2").put(b"b", b"2")
    state.commit(CHECKPOINT, {})
    state.drop("store/1")
    assert state.names("store/") == ["store/2"]
    state.rollback()
    assert state.names("store/") == ["store/1", "store/2"]
    state.drop("store/1")
    state.commit(CHECKPOINT, {})
    state.close()
    again = new_disk().state("0_0", "app")
    again.acquire(0)
    assert again.names("store/") == ["store/2"]
    assert again.map("store/1").get(b"a") is None
    again.close()


def test_notes(new_disk: NewDisk) -> None:
    disk = new_disk()
    assert disk.read("slot-0.owner") == ""
    disk.write("slot-0.owner", "me")
    assert new_disk().read("slot-0.owner") == "me"
