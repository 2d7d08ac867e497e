"""Processes that share the state of a task."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import pytest

from headrace.core.errors import LockError, StateError
from headrace.state import Checkpoint, TaskState

from .processes import run, start

CHECKPOINT = Checkpoint("run", 1)


def acquired(path: Path, **options: int) -> TaskState:
    state = TaskState(path, "task", **options)
    state.acquire(0)
    return state


def test_a_holder_is_waited_for_and_named(tmp_path: Path) -> None:
    holder = start(
        f"""
        state = TaskState(Path({str(tmp_path)!r}), "task")
        state.acquire(0)
        print("acquired", flush=True)
        sys.stdin.readline()
        state.release()
        """
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdout.readline()
    state = TaskState(tmp_path, "task")
    with pytest.raises(LockError, match=f"in use by process {holder.pid}. Stop it"):
        state.acquire(0.05)
    holder.stdin.write("\n")
    holder.stdin.close()
    state.acquire(30)
    state.close()
    assert holder.wait(30) == 0
    holder.stdout.close()
    assert holder.stderr is not None
    holder.stderr.close()


def test_two_processes_take_turns(tmp_path: Path) -> None:
    script = f"""
        state = TaskState(Path({str(tmp_path)!r}), "task")
        for _ in range(50):
            state.acquire(30)
            assert state.reset_reason is None
            sequence = state.checkpoint.sequence if state.checkpoint else 0
            store, names = state.map("store"), state.names("store/")
            assert len(store) == sequence, (len(store), sequence)
            assert names == [f"store/{{n:03}}" for n in range(max(sequence - 3, 0), sequence)]
            assert state.facts("store").get("sequence", 0) == sequence
            store.put(b"%d" % sequence, b"%d" % os.getpid())
            state.map(f"store/{{sequence:03}}").put(b"k", b"v")
            if sequence > 2:
                state.drop(f"store/{{sequence - 3:03}}")
            state.commit(
                Checkpoint("run", sequence + 1), {{"store": {{"sequence": sequence + 1}}}}
            )
            state.release()
            time.sleep(0.001)
    """
    first, second = start(script), start(script)
    assert first.communicate(timeout=60)[1] == ""
    assert second.communicate(timeout=60)[1] == ""
    state = acquired(tmp_path)
    assert state.checkpoint == Checkpoint("run", 100)
    writers = [value for _, value in state.map("store").range(None, None)]
    assert sorted(set(writers)) == sorted(b"%d" % child.pid for child in (first, second))
    state.close()


def test_another_process_may_have_grown_the_map(tmp_path: Path) -> None:
    state = acquired(tmp_path, map_size=1 << 20)
    state.commit(CHECKPOINT, {})
    state.release()
    child = run(
        f"""
        state = TaskState(Path({str(tmp_path)!r}), "task")
        state.acquire(10)
        for number in range(3000):
            state.map("store").put(b"%d" % number, b"v" * 1000)
        state.commit(Checkpoint("child", 1), {{}})
        state.release()
        """
    )
    assert child.returncode == 0, child.stderr
    state.acquire(0)
    assert state.checkpoint == Checkpoint("child", 1)
    assert len(state.map("store")) == 3000
    state.map("store").put(b"more", b"v")
    state.commit(CHECKPOINT, {})
    state.close()


def test_another_process_may_have_wiped_it(tmp_path: Path) -> None:
    state = acquired(tmp_path)
    entries = state.map("store")
    entries.put(b"a", b"1")
    state.commit(CHECKPOINT, {})
    state.release()
    run(
        f"""
        state = TaskState(Path({str(tmp_path)!r}), "task")
        state.acquire(10)
        state.wipe()
        state.map("store").put(b"b", b"2")
        state.commit(Checkpoint("child", 9), {{}})
        state.release()
        """
    )
    state.acquire(0)
    assert state.checkpoint == Checkpoint("child", 9)
    assert list(entries.range(None, None)) == [(b"b", b"2")]
    state.close()


def test_shared_state_is_read_as_it_was(tmp_path: Path) -> None:
    state = acquired(tmp_path)
    entries = state.map("store")
    entries.put(b"a", b"1")
    state.commit(CHECKPOINT, {})
    entries.put(b"a", b"lost")
    state.share()
    with pytest.raises(StateError, match="must be acquired first"):
        state.commit(CHECKPOINT, {})
    child = run(
        f"""
        state = TaskState(Path({str(tmp_path)!r}), "task")
        state.acquire(10)
        state.map("store").put(b"a", b"2")
        state.commit(Checkpoint("child", 2), {{}})
        state.share()
        assert state.map("store").get(b"a") == b"2"
        state.release()
        """
    )
    assert child.returncode == 0, child.stderr
    assert entries.get(b"a") == b"1"
    state.acquire(0)
    assert state.checkpoint == Checkpoint("child", 2)
    assert entries.get(b"a") == b"2"
    state.close()


def test_killed_at_any_moment(tmp_path: Path) -> None:
    script = f"""
        state = TaskState(Path({str(tmp_path)!r}), "task")
        state.acquire(30)
        assert state.reset_reason is None, state.reset_reason
        sequence = state.checkpoint.sequence if state.checkpoint else 0
        print("go", flush=True)
        while True:
            sequence += 1
            for number in range(300):
                state.map("store").put(b"%d" % number, b"%d" % sequence + b"." * 500)
            state.commit(Checkpoint("run", sequence), {{"store": {{"sequence": sequence}}}})
            state.release()
            state.acquire(0)
    """
    chance = random.Random(5)
    reached = 0
    for _ in range(8):
        child = start(script)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(chance.uniform(0, 0.05))
        child.kill()
        child.communicate()
        state = acquired(tmp_path)
        assert state.reset_reason is None
        if state.checkpoint is not None:
            assert state.checkpoint.sequence >= reached
            reached = state.checkpoint.sequence
            values = {value for _, value in state.map("store").range(None, None)}
            assert values == {b"%d" % reached + b"." * 500}
            assert state.facts("store") == {"sequence": reached}
        state.release()
        state._close_environment()
    assert reached > 0


def test_killed_in_the_middle_of_a_commit(tmp_path: Path) -> None:
    state = acquired(tmp_path)
    state.map("a").put(b"k", b"old")
    state.map("b").put(b"k", b"old")
    state.commit(CHECKPOINT, {})
    state.close()
    child = run(
        f"""
        from headrace.state.lmdb_map import LmdbMap
        write = LmdbMap.write

        def killed(map, transaction, trees):
            if map.name == "b":
                os.kill(os.getpid(), signal.SIGKILL)
            write(map, transaction, trees)

        LmdbMap.write = killed
        state = TaskState(Path({str(tmp_path)!r}), "task")
        state.acquire(0)
        state.map("a").put(b"k", b"new")
        state.map("b").put(b"k", b"new")
        state.commit(Checkpoint("run", 2), {{}})
        """
    )
    assert child.returncode == -9
    state = acquired(tmp_path)
    assert state.reset_reason is None
    assert state.checkpoint == CHECKPOINT
    assert state.map("a").get(b"k") == state.map("b").get(b"k") == b"old"
    state.close()


def test_a_child_has_nothing_of_its_parent(tmp_path: Path) -> None:
    state = acquired(tmp_path)
    entries = state.map("store")
    entries.put(b"a", b"1")
    state.commit(CHECKPOINT, {})
    entries.put(b"b", b"2")

    def while_the_parent_has_it() -> None:
        with pytest.raises(StateError, match="was in use when this process was forked"):
            state.acquire(0)
        state.release()
        state.close()

    def when_the_parent_let_go() -> None:
        state.acquire(0)
        assert state.checkpoint == Checkpoint("run", 2)
        assert list(entries.range(None, None)) == [(b"a", b"1"), (b"b", b"2")]
        entries.put(b"c", b"3")
        state.commit(Checkpoint("run", 3), {})
        state.close()

    _in_a_fork(while_the_parent_has_it)
    _in_a_fork(state.close)
    assert state._snapshot.id() == 1
    state.commit(Checkpoint("run", 2), {})
    state.release()
    _in_a_fork(when_the_parent_let_go)
    state.acquire(0)
    assert state.checkpoint == Checkpoint("run", 3)
    assert entries.get(b"c") == b"3"
    entries.put(b"d", b"4")
    state.commit(Checkpoint("run", 4), {})
    state.close()


def test_an_older_file_may_be_put_under_processes_that_have_it_open(tmp_path: Path) -> None:
    path = tmp_path / "0_0"
    state = acquired(path)
    for number in range(5):
        state.map("store").put(b"a", b"%d" % number)
        state.commit(Checkpoint("run", number), {})
        if number == 1:
            shutil.copytree(path, tmp_path / "backup")
    state.release()
    for name in ("data.mdb", "checksums"):
        shutil.copyfile(tmp_path / "backup" / name, path / name)
    child = run(
        f"""
        state = TaskState(Path({str(path)!r}), "task")
        state.acquire(10)
        assert state.checkpoint.sequence == 1, state.checkpoint
        assert state.map("store").get(b"a") == b"1"
        state.map("store").put(b"a", b"child")
        state.commit(Checkpoint("child", 2), {{}})
        state.release()
        """
    )
    assert child.returncode == 0, child.stderr
    state.acquire(0)
    assert state.checkpoint == Checkpoint("child", 2)
    assert state.map("store").get(b"a") == b"child"
    state.close()


def _in_a_fork(action: object) -> None:
    assert callable(action)
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
