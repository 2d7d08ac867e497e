"""Processes that are killed and machines that lose their power, whenever it may be."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from headrace.state import Checkpoint, TaskState
from headrace.state.checksums import CHECKSUMS_FILE, DATA_FILE, Checksums, _rows

FORK = multiprocessing.get_context("fork")
IDENTITY = "app 0_0"
KEYS = 50
PAGE = 4096


def commit(state: TaskState, number: int) -> None:
    """Every key has the number of the commit, and many keys come and go."""
    for key in range(KEYS):
        state.map("counts").put(b"%d" % key, b"%d" % number)
        state.map("values").put(b"%d" % (number * KEYS + key), b"v" * (key * 60))
        state.map("values").delete(b"%d" % ((number - 5) * KEYS + key))
    state.commit(Checkpoint("run", number), {"counts": {"number": number}})


def committed(state: TaskState) -> int:
    """The number of the commit that the state is of, all of it."""
    assert state.checkpoint is not None
    number = state.checkpoint.sequence
    counts = dict(state.map("counts").range(None, None))
    assert counts == {b"%d" % key: b"%d" % number for key in range(KEYS)}
    values = dict(state.map("values").range(None, None))
    first = max(1, number - 4)
    assert values == {
        b"%d" % (n * KEYS + key): b"v" * (key * 60)
        for n in range(first, number + 1)
        for key in range(KEYS)
    }
    assert state.facts("counts") == {"number": number}
    return number


def write_for_ever(path: Path, told: Connection) -> None:
    state = TaskState(path, IDENTITY)
    state.acquire(10)
    assert state.reset_reason is None
    number = 0 if state.checkpoint is None else state.checkpoint.sequence
    while True:
        number += 1
        commit(state, number)
        told.send(number)


def test_no_death_in_the_middle_of_a_turn_costs_the_state(tmp_path: Path) -> None:
    """A stop that doesn't wait for the batch is such a death: any number of them wipes nothing."""
    chance = random.Random(3)
    path = tmp_path / "0_0"
    for _ in range(40):
        ours, theirs = FORK.Pipe()
        writer = FORK.Process(target=write_for_ever, args=(path, theirs))
        writer.start()
        theirs.close()
        for _ in range(chance.randrange(1, 30)):
            told = ours.recv()
        time.sleep(chance.random() / 200)
        writer.kill()
        writer.join()
        ours.close()
        assert writer.exitcode == -signal.SIGKILL
        state = TaskState(path, IDENTITY)
        state.acquire(10)
        assert state._lock.died
        assert state.reset_reason is None
        assert committed(state) >= told
        # This holder dies too, as far as the next one can tell.
        state._lock.forget()
        state._close_environment()


def die(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def die_after_the_first(rows: Any) -> Any:
    def some(sums: Any) -> Any:
        for at, row in enumerate(rows(sums)):
            if at:
                die()
            yield row

    return some


def write_and_die(path: Path, place: str, replacement: Any) -> None:
    state = TaskState(path, IDENTITY)
    state.acquire(10)
    with patch(f"headrace.state.checksums.{place}", replacement):
        commit(state, 4)


@pytest.mark.parametrize(
    ("place", "replacement", "survives"),
    [
        ("Checksums.begin", die, 3),
        ("Checksums.finish", die, 4),
        ("DataFile.added", die, 4),
        ("os.utime", die, 4),
        ("_rows", die_after_the_first(_rows), 4),
    ],
)
def test_a_death_between_a_commit_and_its_checksums_costs_nothing(
    place: str, replacement: Any, survives: int, tmp_path: Path
) -> None:
    path = tmp_path / "0_0"
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    for number in (1, 2, 3):
        commit(state, number)
    state.close()
    writer = FORK.Process(target=write_and_die, args=(path, place, replacement))
    writer.start()
    writer.join()
    assert writer.exitcode == -signal.SIGKILL
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    assert state.reset_reason is None
    assert committed(state) == survives
    commit(state, survives + 1)
    state.release()
    Checksums(path).check(thorough=True)
    state.close()


def images(path: Path, commits: int) -> list[dict[str, bytes]]:
    """What the files are after each commit. Only the first is on the disk for sure."""
    found = []
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    for number in range(1, commits + 1):
        commit(state, number)
        found.append({name: (path / name).read_bytes() for name in (DATA_FILE, CHECKSUMS_FILE)})
    state.close()
    return found


def after_power_loss(versions: list[bytes], common: int, chance: random.Random) -> bytes:
    """A file of which the disk has some blocks as they were at one time and some as at another."""
    size = len(versions[chance.choice([common, -1])])
    torn = chance.choice([0.0, 0.01, 0.3])
    blocks = []
    for at in range(0, size, PAGE):
        version = chance.randrange(len(versions)) if chance.random() < torn else common
        block = versions[version][at : at + PAGE]
        blocks.append(block.ljust(min(PAGE, size - at), b"\0"))
    return b"".join(blocks)


def test_after_a_loss_of_power_there_is_a_commit_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = images(tmp_path / "0_0", 12)
    lock = (tmp_path / "0_0" / ".lock").read_text()
    assert '"unsynced_boot":null' in lock
    monkeypatch.setattr("os.fsync", lambda file: None)
    chance = random.Random(11)
    kept = wiped = 0
    for number in range(300):
        path = tmp_path / f"{number}"
        path.mkdir(0o700)
        common = chance.randrange(len(known))
        for name in (DATA_FILE, CHECKSUMS_FILE):
            versions = [image[name] for image in known]
            # The two files reach the disk at times of their own.
            at = common if chance.random() < 0.7 else chance.randrange(len(known))
            (path / name).write_bytes(after_power_loss(versions, at, chance))
        (path / ".lock").write_text(lock.replace("null", '"another boot"'))
        state = TaskState(path, IDENTITY)
        state.acquire(0)
        if state.checkpoint is None:
            wiped += 1
            assert state.names("") == []
        else:
            kept += 1
            assert 1 <= committed(state) <= len(known)
        state.close()
        shutil.rmtree(path)
    assert kept > 30
    assert wiped > 100
