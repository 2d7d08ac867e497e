"""State that can't be trusted is wiped, and it is said why."""

from __future__ import annotations

import errno
import os
import random
import shutil
from binascii import crc32
from collections.abc import Callable
from pathlib import Path

import lmdb
import pytest

from headrace.core.errors import StreamsError
from headrace.runtime.stores import StorageError
from headrace.state import Checkpoint, TaskState
from headrace.state.checksums import _SEAL, Checksums
from headrace.state.data_file import read_meta
from headrace.state.environment import Environment

from .processes import run

CHECKPOINT = Checkpoint("run", 1)
IDENTITY = "app 0_0"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The directory of a task with state in it."""
    state = TaskState(tmp_path / "0_0", IDENTITY)
    state.acquire(0)
    for number in range(2000):
        state.map("store").put(b"%04d" % number, b"value-%d" % number)
    state.commit(CHECKPOINT, {})
    state.close()
    return tmp_path / "0_0"


def reset_reason(path: Path, identity: str = IDENTITY) -> str | None:
    """Acquires it, and sees that it is either whole or new."""
    state = TaskState(path, identity)
    state.acquire(0)
    reason = state.reset_reason
    assert state.checkpoint == (CHECKPOINT if reason is None else None)
    assert len(state.map("store")) == (2000 if reason is None else 0)
    state.map("store").put(b"new", b"1")
    state.commit(CHECKPOINT, {})
    state.close()
    again = TaskState(path, identity)
    again.acquire(0)
    assert again.reset_reason is None
    assert again.map("store").get(b"new") == b"1"
    again.close()
    return reason


def cut_off(file: Path) -> None:
    with file.open("r+b") as data:
        data.truncate(file.stat().st_size // 2)


def cut_to_a_few_bytes(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100])


def one_meta_page(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:4096])


def random_bytes(file: Path) -> None:
    file.write_bytes(random.Random(1).randbytes(file.stat().st_size))


def text(file: Path) -> None:
    file.write_text("This is something else.\n" * 1000)


def test_sound_state_is_kept(path: Path) -> None:
    assert reset_reason(path) is None


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (cut_off, "data.mdb is cut off: it has"),
        (cut_to_a_few_bytes, "data.mdb is not a file of LMDB"),
        (one_meta_page, "data.mdb is not a file of LMDB"),
        (random_bytes, "data.mdb is not a file of LMDB"),
        (text, "data.mdb is not a file of LMDB"),
    ],
)
def test_a_spoilt_file_is_noticed(path: Path, spoil: Callable[[Path], None], reason: str) -> None:
    spoil(path / "data.mdb")
    assert (reset_reason(path) or "").startswith(reason)


def test_an_empty_file_is_new_state(path: Path) -> None:
    (path / "data.mdb").write_bytes(b"")
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    assert state.reset_reason is None
    assert state.checkpoint is None
    state.close()


def test_a_missing_file_is_new_state(path: Path) -> None:
    (path / "data.mdb").unlink()
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    assert state.checkpoint is None
    state.close()


def test_a_page_of_zeros_is_noticed(path: Path) -> None:
    meta = read_meta(path / "data.mdb")
    assert meta is not None
    with (path / "data.mdb").open("r+b") as data:
        data.seek(2 * meta.page_size)
        data.write(bytes((meta.last_page - 1) * meta.page_size))
    assert reset_reason(path) == "page 2 of data.mdb is not as it was written"


def test_damage_that_a_read_finds_is_gone_after_the_turn(path: Path) -> None:
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    meta = read_meta(path / "data.mdb")
    assert meta is not None
    with (path / "data.mdb").open("r+b") as data:
        data.seek(2 * meta.page_size)
        data.write(bytes((meta.last_page - 1) * meta.page_size))
    with pytest.raises(StorageError, match=r"Map store can't be read: .* It will be restored"):
        state.map("store").get(b"0007")
    state.release()
    state.acquire(0)
    assert "LMDB can't read map store" in (state.reset_reason or "")
    assert state.checkpoint is None
    state.release()
    state.acquire(0)
    assert state.reset_reason is None
    state.close()


def test_another_identity_is_noticed(path: Path) -> None:
    assert reset_reason(path, "app 0_1") == "it belongs to app 0_0, and not to app 0_1"


def test_other_stores_are_noticed(path: Path) -> None:
    assert reset_reason(path, f"{IDENTITY}\nother stores") == "its stores were of another kind"


def test_what_somebody_else_has_committed_is_noticed(path: Path) -> None:
    with (
        lmdb.open(str(path), max_dbs=10) as environment,
        environment.begin(write=True) as transaction,
    ):
        about = environment.open_db(b"about", txn=transaction)
        record = transaction.get(b"about", b"", db=about)
        transaction.put(b"about", record.replace(b'"run"', b'"ruin'), db=about)
    assert reset_reason(path) == "its checksums are of another commit"


def test_a_database_of_something_else_is_noticed(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path)) as environment, environment.begin(write=True) as transaction:
        transaction.put(b"some", b"thing")
    (tmp_path / ".lock").write_text('{"busy":false}')
    assert reset_reason(tmp_path) == "there are no checksums of its pages"


def test_state_of_before_there_were_checksums_is_wiped(path: Path) -> None:
    (path / "checksums").unlink()
    assert reset_reason(path) == "there are no checksums of its pages"


def test_checksums_of_another_format_are_noticed(path: Path) -> None:
    data = bytearray((path / "checksums").read_bytes())
    data[8:12] = (7).to_bytes(4, "little")
    data[_SEAL.size : _SEAL.size + 4] = crc32(data[: _SEAL.size]).to_bytes(4, "little")
    (path / "checksums").write_bytes(data)
    assert reset_reason(path) == "its checksums have format 7, and not 1"


def test_a_missing_record_of_holders_is_no_reason(path: Path) -> None:
    (path / ".lock").unlink()
    assert reset_reason(path) is None


def test_an_old_backup_is_old_state(path: Path, tmp_path: Path) -> None:
    shutil.copytree(path, tmp_path / "backup")
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    state.map("store").put(b"new", b"1")
    state.commit(Checkpoint("run", 2), {})
    state.close()
    shutil.rmtree(path)
    shutil.copytree(tmp_path / "backup", path)
    assert reset_reason(path) is None


@pytest.mark.parametrize("in_place", [True, False])
def test_an_old_backup_may_come_while_the_state_is_open(
    path: Path, tmp_path: Path, in_place: bool
) -> None:
    shutil.copytree(path, tmp_path / "backup")
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    state.map("store").put(b"new", b"1")
    state.commit(Checkpoint("run", 2), {})
    state.release()
    for name in ("data.mdb", "checksums"):
        if not in_place:
            (path / name).unlink()
        shutil.copyfile(tmp_path / "backup" / name, path / name)
    state.acquire(0)
    assert state.checkpoint == CHECKPOINT
    assert state.map("store").get(b"new") is None
    assert len(state.map("store")) == 2000
    state.close()


def test_state_that_was_not_closed_outlasts_a_restart_if_all_of_it_is_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    state.release()
    state._close_environment()
    monkeypatch.setattr("headrace.state.boot.boot_id", lambda: "another")
    assert reset_reason(path) is None


def test_state_that_was_closed_outlasts_a_restart(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.state.boot.boot_id", lambda: "another")
    assert reset_reason(path) is None


def test_a_lock_file_that_was_half_written_is_a_death(path: Path) -> None:
    (path / ".lock").write_text('{"pid":1,"bu')
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    assert state._lock.died
    assert state.reset_reason is None
    state.close()


def test_the_file_always_has_the_pages_that_it_claims(tmp_path: Path) -> None:
    chance = random.Random(3)
    state = TaskState(tmp_path, IDENTITY)
    state.acquire(0)
    for number in range(60):
        for _ in range(chance.randrange(1, 40)):
            key = b"%d" % chance.randrange(50)
            entries = state.map(f"store/{chance.randrange(3)}")
            if chance.random() < 0.4:
                entries.delete(key)
            else:
                entries.put(key, b"v" * chance.choice([1, 100, 20_000]))
        if chance.random() < 0.3:
            state.drop(f"store/{chance.randrange(3)}")
        state.commit(Checkpoint("run", number), {})
        Checksums(tmp_path).check(thorough=True)
    state.close()


def test_a_full_disk_is_said_and_survived(path: Path) -> None:
    child = run(
        f"""
        import resource
        path = Path({str(path)!r})
        state = TaskState(path, {IDENTITY!r})
        state.acquire(0)
        size = (path / "data.mdb").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        for number in range(5000):
            state.map("store").put(b"%d" % number, b"v" * 1000)
        try:
            state.commit(Checkpoint("run", 2), {{}})
        except HeadraceError as error:
            print(error)
        assert state.checkpoint == Checkpoint("run", 1)
        assert len(state.map("store")) == 2000
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        state.map("store").put(b"0000", b"again")
        state.commit(Checkpoint("run", 1), {{}})
        state.close()
        """
    )
    assert child.returncode == 0, child.stderr
    assert "could not be written" in child.stdout
    assert "disk seems to be full" in child.stdout
    assert reset_reason(path) is None


def failing(monkeypatch: pytest.MonkeyPatch, error: lmdb.Error) -> None:
    def write(self: Environment, change: object) -> int:
        raise error

    monkeypatch.setattr(Environment, "write", write)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (lmdb.DiskError(os.strerror(errno.ENOSPC)), "Its disk seems to be full: make room"),
        (lmdb.Error(f"mdb_txn_commit: {os.strerror(errno.EIO)}"), "disk seems to be full"),
        (lmdb.DbsFullError("mdb_dbi_open"), "could not be written: mdb_dbi_open"),
    ],
)
def test_a_failed_commit_leaves_the_one_before(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: lmdb.Error, message: str
) -> None:
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    state.map("store").put(b"new", b"1")
    with monkeypatch.context() as patched:
        failing(patched, error)
        with pytest.raises(StreamsError, match=message):
            state.commit(Checkpoint("run", 2), {})
    assert state.checkpoint == CHECKPOINT
    assert state.map("store").get(b"new") is None
    state.close()
    assert reset_reason(path) is None


def test_damage_that_a_commit_finds_is_gone_after_the_turn(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    state.map("store").put(b"new", b"1")
    with monkeypatch.context() as patched:
        failing(patched, lmdb.CorruptedError("mdb_put"))
        with pytest.raises(StreamsError, match="could not be written: mdb_put"):
            state.commit(Checkpoint("run", 2), {})
    state.release()
    state.acquire(0)
    assert "LMDB can't write it: mdb_put" in (state.reset_reason or "")
    assert state.checkpoint is None
    state.close()


def test_the_directory_may_be_deleted_at_any_time(path: Path) -> None:
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    shutil.rmtree(path)
    assert len(state.map("store")) == 2000
    state.map("store").put(b"lost", b"1")
    state.commit(CHECKPOINT, {})
    state.release()
    state.acquire(0)
    assert state.reset_reason is None
    assert state.checkpoint is None
    state.map("store").put(b"new", b"1")
    state.commit(CHECKPOINT, {})
    state.release()
    shutil.rmtree(path)
    state.acquire(0)
    assert state.checkpoint is None
    shutil.rmtree(path)
    state.close()
    state.close()


def test_a_directory_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "0_0").write_text("a file")
    with pytest.raises(StreamsError, match="can't be used"):
        TaskState(tmp_path / "0_0", IDENTITY).acquire(0)
