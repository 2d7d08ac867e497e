"""Gadgets in the files of a state directory. Whose it may be is in tests/state/test_private.py."""

from __future__ import annotations

import json
from binascii import crc32
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.core.errors import StreamsError
from headrace.state import Checkpoint, StateDirectory, TaskState
from headrace.state.environment import Environment
from headrace.state.reader import StateReader
from headrace.state.task_state import ABOUT
from tests.gadgets.gadget import Gadget, Gadgets

TASK = "0_0"
IDENTITY = "app 0_0"
CHECKPOINT = Checkpoint("run", 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def fill(root: Path, key: bytes = b"key", value: bytes = b"value") -> Path:
    state = StateDirectory(root, "app").state(TASK, IDENTITY)
    state.acquire(0)
    state.map("store").put(key, value)
    state.commit(CHECKPOINT, {})
    state.close()
    return state.path


def reset_reason(path: Path) -> str | None:
    """Why what is there isn't used; everything works after that."""
    reader = StateReader(path, IDENTITY)
    snapshot = reader.snapshot()
    if snapshot is not None:
        snapshot.release()
    reader.close()
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    reason = state.reset_reason
    assert (state.checkpoint is None) == (reason is not None)
    state.commit(CHECKPOINT, {})
    state.close()
    return reason


def test_keys_and_values_are_bytes(gadgets: Gadgets, root: Path) -> None:
    for gadget in gadgets:
        path = fill(root, gadget.data, gadget.data)
        state = TaskState(path, IDENTITY)
        state.acquire(0)
        assert state.map("store").get(gadget.data) == gadget.data
        state.close()


@pytest.mark.parametrize("name", ["data.mdb", "checksums"])
def test_a_file_of_a_task(gadgets: Gadgets, root: Path, name: str) -> None:
    for gadget in gadgets:
        path = fill(root)
        (path / name).write_bytes(gadget.data)
        assert reset_reason(path) is not None


@pytest.mark.parametrize("name", [".lock", "lock.mdb", "__init__.py", "store.pkl", "x.pyc"])
def test_a_file_that_says_nothing_of_the_state(gadgets: Gadgets, root: Path, name: str) -> None:
    for gadget in gadgets:
        path = fill(root)
        (path / name).write_bytes(gadget.data)
        assert reset_reason(path) is None


def test_pages_of_a_data_file(gadgets: Gadgets, root: Path) -> None:
    for gadget in gadgets:
        filler = b"v" * len(gadget.data)
        path = fill(root, value=filler)
        data = (path / "data.mdb").read_bytes()
        assert filler in data
        (path / "data.mdb").write_bytes(data.replace(filler, gadget.data))
        assert reset_reason(path) is not None


def test_a_checkpoint_that_was_committed_with_its_checksums(gadgets: Gadgets, root: Path) -> None:
    for gadget in gadgets:
        path = fill(root)
        environment = Environment(path, 1 << 24)
        record = crc32(gadget.data).to_bytes(4, "big") + gadget.data
        environment.write(
            lambda transaction, tree, record=record: transaction.put(ABOUT, record, db=tree(ABOUT))  # type: ignore[misc]
        )
        environment.close()
        assert "what it says of itself can't be read" in (reset_reason(path) or "")


def test_texts_of_a_checkpoint(gadgets: Gadgets, root: Path) -> None:
    for gadget in gadgets:
        path = fill(root)
        checkpoint = Checkpoint(gadget.text, 1, {}, {gadget.text: (gadget.text, 1)})
        state = TaskState(path, IDENTITY)
        state.acquire(0)
        state.commit(checkpoint, {gadget.text: {gadget.text: 1}})
        state.close()
        again = TaskState(path, IDENTITY)
        again.acquire(0)
        assert again.checkpoint == checkpoint
        assert again.facts(gadget.text) == {gadget.text: 1}
        again.close()


def test_the_file_that_says_whose_it_is(gadgets: Gadgets, root: Path) -> None:
    path = fill(root)
    for data in (lambda text: text, lambda text: json.dumps({"application.id": text})):

        def claim(gadget: Gadget, data: Callable[[str], str] = data) -> None:
            (path.parent / "headrace.json").write_text(data(gadget.text), "latin-1")
            with pytest.raises(StreamsError, match="is not the state directory of application"):
                StateDirectory(root, "app").claim()

        gadgets.put_to(claim)


def test_the_file_that_says_who_had_a_slot(gadgets: Gadgets, root: Path) -> None:
    path = fill(root)
    directory = StateDirectory(root, "app")
    directory.write("slot-0.owner", "me")
    assert directory.read("slot-0.owner") == "me"
    for gadget in gadgets:
        (path.parent / "slot-0.owner").write_bytes(gadget.data)
        assert directory.read("slot-0.owner") not in ("", "me")
