"""The directory of an application's state."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from headrace.app.housekeeping import Leftovers
from headrace.core.config import StreamsConfig
from headrace.core.errors import ArgumentError, LockError, StreamsError
from headrace.state import Checkpoint, StateDirectory, TaskState


def make_task(directory: StateDirectory, name: str) -> TaskState:
    state = TaskState(directory.task(name), name)
    state.acquire(0)
    state.commit(Checkpoint("run", 1), {})
    state.close()
    return state


def test_tasks_have_a_directory_each(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path, "app")
    assert directory.tasks() == []
    assert directory.task("0_1") == tmp_path / "app" / "0_1"
    make_task(directory, "0_1")
    make_task(directory, "global")
    assert StateDirectory(tmp_path, "app").tasks() == ["0_1", "global"]


@pytest.mark.parametrize("application_id", ["", ".", "..", "a/b"])
def test_an_application_id_is_one_directory(application_id: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="can't name a directory"):
        StateDirectory(tmp_path, application_id)


def test_unused_tasks_are_removed_after_a_delay(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path, "app")
    for name in ("0_0", "0_1", "0_2", "0_3"):
        make_task(directory, name)
    old = (tmp_path / "app" / "0_1" / ".lock").stat().st_mtime - 3600
    for name in ("0_1", "0_2"):
        os.utime(tmp_path / "app" / name / ".lock", (old, old))
    in_use = TaskState(directory.task("0_3"), "0_3")
    in_use.acquire(0)
    assert directory.remove_unused(["0_2"], 600_000) == ["0_1"]
    assert directory.tasks() == ["0_0", "0_2", "0_3"]
    assert directory.remove_unused(["0_2"], 0) == ["0_0"]
    assert directory.tasks() == ["0_2", "0_3"]
    in_use.close()


def test_a_task_that_was_used_in_the_future_is_of_any_age(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path, "app")
    make_task(directory, "0_0")
    make_task(directory, "0_1")
    soon = (tmp_path / "app" / "0_1" / ".lock").stat().st_mtime + 3600
    os.utime(tmp_path / "app" / "0_1" / ".lock", (soon, soon))
    assert directory.remove_unused([], 600_000) == ["0_1"]


@pytest.mark.parametrize(("max_age", "left"), [(-1, ["0_0", "0_1"]), (7_200_000, ["0_0"])])
def test_outdated_state_is_removed_at_the_start(
    max_age: int, left: list[str], tmp_path: Path
) -> None:
    config = StreamsConfig(
        {
            "application.id": "app",
            "state.dir": tmp_path,
            "state.cleanup.dir.max.age.ms": max_age,
        }
    )
    directory = StateDirectory.of(config)
    make_task(directory, "0_0")
    make_task(directory, "0_1")
    old = (tmp_path / "app" / "0_1" / ".lock").stat().st_mtime - 7_201
    os.utime(tmp_path / "app" / "0_1" / ".lock", (old, old))
    Leftovers(config).remove_outdated()
    assert directory.tasks() == left


def test_a_directory_without_a_lock_is_unused(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path, "app")
    directory.task("0_1").mkdir()
    assert directory.remove_unused([], 600_000) == ["0_1"]


def test_everything_can_be_wiped(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path, "app")
    directory.wipe()
    make_task(directory, "0_1")
    directory.wipe()
    assert not (tmp_path / "app").exists()
    make_task(directory, "0_1")


def test_state_in_use_is_not_wiped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.state.directory._LAST_BATCH_S", 0.1)
    directory = StateDirectory(tmp_path, "app")
    state = make_task(directory, "0_1")
    state.acquire(0)
    with pytest.raises(LockError, match=f"process {os.getpid()}"):
        directory.wipe()
    assert state.checkpoint == Checkpoint("run", 1)
    state.close()


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "thesis.txt").write_text("years of work")
    directory = StateDirectory(tmp_path, "app")
    with pytest.raises(StreamsError, match="is not the state directory of application app"):
        directory.task("0_1")
    with pytest.raises(StreamsError, match="is not the state directory of application app"):
        directory.wipe()
    assert (tmp_path / "app" / "thesis.txt").read_text() == "years of work"


def test_a_renamed_directory_is_another_applications(tmp_path: Path) -> None:
    make_task(StateDirectory(tmp_path, "one"), "0_1")
    (tmp_path / "one").rename(tmp_path / "two")
    with pytest.raises(StreamsError, match="is not the state directory of application two"):
        StateDirectory(tmp_path, "two").wipe()


def test_a_root_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("a file")
    with pytest.raises(StreamsError, match=r"can't be used: .* set another state.dir"):
        StateDirectory(tmp_path / "root", "app").task("0_1")


def lock_of(path: Path) -> dict[str, Any]:
    form = orjson.loads((path / ".lock").read_bytes())
    assert isinstance(form, dict)
    return form


def test_what_tasks_have_left_is_brought_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = StateDirectory(tmp_path, "app")
    directory.sync()
    make_task(directory, "0_0")
    left = TaskState(directory.task("0_1"), "0_1")
    left.acquire(0)
    left.commit(Checkpoint("run", 1), {})
    left.release()
    killed = TaskState(directory.task("0_2"), "0_2")
    killed.acquire(0)
    killed.commit(Checkpoint("run", 1), {})
    killed._lock.forget()
    busy = TaskState(directory.task("0_3"), "0_3")
    busy.acquire(0)
    busy.commit(Checkpoint("run", 1), {})
    used = (left.path / ".lock").stat().st_mtime_ns
    assert lock_of(left.path)["unsynced_boot"] is not None
    synced: list[Path] = []
    monkeypatch.setattr("headrace.state.task_state.sync_files", synced.append)
    directory.sync()
    assert synced == [left.path, killed.path]
    for state in (left, killed):
        assert lock_of(state.path)["unsynced_boot"] is None
        assert lock_of(state.path)["busy"] is False
    assert lock_of(busy.path)["busy"] is True
    assert (left.path / ".lock").stat().st_mtime_ns == used
    busy.close()


def test_what_could_not_be_brought_to_the_disk_is_not_said_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise OSError("Input/output error")

    directory = StateDirectory(tmp_path, "app")
    state = TaskState(directory.task("0_0"), "0_0")
    state.acquire(0)
    state.commit(Checkpoint("run", 1), {})
    state.release()
    monkeypatch.setattr("headrace.state.task_state.sync_files", fail)
    directory.sync()
    assert lock_of(state.path)["unsynced_boot"] is not None
