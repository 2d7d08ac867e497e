"""State that only its owner can see, and that no link or name leads away from."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.core.errors import ArgumentError, StreamsError
from headrace.core.user_directories import user_state_directory
from headrace.state import Checkpoint, StateDirectory, TaskState
from headrace.state.reader import StateReader

CHECKPOINT = Checkpoint("run", 1)


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def fill(directory: StateDirectory, name: str = "0_0") -> Path:
    state = TaskState(directory.task(name), name)
    state.acquire(0)
    state.map("store").put(b"key", b"value")
    state.commit(CHECKPOINT, {})
    state.close()
    return state.path


def modes(path: Path) -> dict[str, int]:
    found = [path, *path.rglob("*")]
    return {str(entry): stat.S_IMODE(entry.lstat().st_mode) for entry in found}


@pytest.mark.usefixtures("open_umask")
def test_directories_and_files_are_private(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "root", "app")
    fill(directory)
    directory.write("slot-0.owner", "me")
    for name, mode in modes(tmp_path / "root").items():
        assert mode == (0o700 if Path(name).is_dir() else 0o600), name


@pytest.mark.usefixtures("open_umask")
def test_a_directory_of_ours_that_others_can_see_is_closed(tmp_path: Path) -> None:
    path = fill(StateDirectory(tmp_path, "app"))
    path.parent.chmod(0o775)
    path.chmod(0o755)
    fill(StateDirectory(tmp_path, "app"))
    assert modes(path.parent)[str(path.parent)] == 0o700
    assert modes(path)[str(path)] == 0o700


def test_a_directory_that_everybody_may_write_to_is_refused(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path, "app")
    path = fill(directory)
    path.chmod(0o777)
    with pytest.raises(StreamsError, match="may be written to by everybody"):
        fill(directory)
    path.parent.chmod(0o777)
    with pytest.raises(StreamsError, match=r"app may be written to by everybody.* Remove it"):
        directory.claim()


def test_a_link_to_another_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "app").symlink_to(tmp_path / "elsewhere")
    directory = StateDirectory(tmp_path, "app")
    with pytest.raises(StreamsError, match="is a symbolic link"):
        directory.claim()
    with pytest.raises(StreamsError, match="is a symbolic link"):
        directory.wipe()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_task_that_is_a_link_is_neither_used_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "thesis.txt").write_text("years of work")
    directory = StateDirectory(tmp_path / "root", "app")
    directory.task("0_0").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StreamsError, match="is a symbolic link"):
        fill(directory)
    assert directory.tasks() == []
    assert directory.remove_unused([], 0) == []
    directory.wipe()
    assert [entry.name for entry in (tmp_path / "elsewhere").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("name", ["data.mdb", "lock.mdb", "checksums", ".lock"])
def test_a_file_that_is_a_link_is_not_followed(name: str, tmp_path: Path) -> None:
    path = fill(StateDirectory(tmp_path / "root", "app"))
    (path / name).unlink()
    target = tmp_path / "target"
    target.write_text("years of work")
    (path / name).symlink_to(target)
    assert name == ".lock" or StateReader(path, "0_0").snapshot() is None
    state = TaskState(path, "0_0")
    if name == ".lock":
        with pytest.raises(StreamsError, match="can't be used"):
            state.acquire(0)
    else:
        state.acquire(0)
        assert name in (state.reset_reason or "")
        state.close()
        assert not (path / name).is_symlink()
    assert target.read_text() == "years of work"


def test_the_directory_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = StateDirectory(tmp_path, "app")
    path = fill(directory)
    other = os.geteuid() + 1
    monkeypatch.setattr("headrace.state.private.os.geteuid", lambda: other)
    told = (
        rf"belongs to user {other - 1}, and this process runs as user {other}.* another state.dir"
    )
    with pytest.raises(StreamsError, match=told):
        directory.claim()
    with pytest.raises(StreamsError, match=told):
        directory.wipe()
    with pytest.raises(StreamsError, match=told):
        TaskState(path, "0_0").acquire(0)


def test_a_root_that_anybody_could_have_made_must_be_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "named").mkdir()
    (tmp_path / "temporary").mkdir()
    (tmp_path / "temporary").chmod(0o1777)
    (tmp_path / "temporary" / "headrace-7").mkdir()
    monkeypatch.setattr("headrace.state.private.os.geteuid", lambda: -1)
    with pytest.raises(StreamsError, match="headrace-7 belongs to user"):
        StateDirectory(tmp_path / "temporary" / "headrace-7", "app").claim()
    monkeypatch.undo()
    fill(StateDirectory(tmp_path / "temporary" / "headrace-7", "app"))
    assert modes(tmp_path / "temporary")[str(tmp_path / "temporary" / "headrace-7")] == 0o700


def hostile_names() -> list[str]:
    """More than 200 names that would lead elsewhere, if somebody took them at their word."""
    parts = ["..", ".", "", "/", "etc", "app", "\0", "%2e%2e", "%2f", "..%2f", "%252e", "..;"]
    names = [separator.join((a, b)) for separator in "/\\\0" for a in parts for b in parts]
    names += ["\u2025", "\u2024\u2024", "..\u2215etc", "\uff0e\uff0e", "a\u202etxt", "\ud800"]
    names += ["a" * 255, "a" * 256, "ä" * 128, "a" * 300, "a\n", "a\r", "a\t", " ", "~", "~root"]
    names += ["-rf", "$HOME", "`id`", "CON", "nul", "a:b", "*", "?", "..", ".", "", "/", "//"]
    return names


def test_no_application_id_leads_out_of_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    names = hostile_names()
    assert len(names) > 200
    used = 0
    for name in names:
        try:
            directory = StateDirectory(root, name)
        except ArgumentError as error:
            assert "can't name a directory" in str(error)  # noqa: PT017
            continue
        fill(directory)
        directory.wipe()
        fill(directory)
        used += 1
        assert directory.path.parent == root
        assert [entry.name for entry in tmp_path.iterdir()] == ["root"]
    assert len(list(root.iterdir())) == used > 20


@pytest.mark.parametrize(
    ("given", "home", "expected"),
    [
        ("{tmp}/state", "{tmp}", "{tmp}/state/headrace"),
        ("relative", "{tmp}", "{tmp}/.local/state/headrace"),
        ("", "{tmp}", "{tmp}/.local/state/headrace"),
        ("", "{tmp}/nowhere", "{tmp}/temporary/headrace-{user}"),
        ("", "", "{tmp}/temporary/headrace-{user}"),
    ],
)
def test_the_default_is_the_users_own(
    given: str, home: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def filled(text: str) -> str:
        return text.format(tmp=tmp_path, user=os.geteuid())

    monkeypatch.setenv("XDG_STATE_HOME", filled(given))
    monkeypatch.setenv("HOME", filled(home))
    monkeypatch.setenv("TMPDIR", filled("{tmp}/temporary"))
    assert user_state_directory() == filled(expected)
