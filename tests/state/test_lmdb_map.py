"""A map in LMDB is a sorted dict, whatever is committed, rolled back and reopened in between."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headrace.core.errors import StateError
from headrace.runtime.stores import OrderedMap
from headrace.state import Checkpoint, TaskState

CHECKPOINT = Checkpoint("run", 1)

LONG = b"L" * 495
STEMS = (b"", b"\0", b"a", b"L", LONG[:-1], LONG, LONG + b"x" * 16, b"\xff" * 600)
keys = st.builds(
    lambda stem, end: stem + end,
    st.sampled_from(STEMS),
    st.binary(max_size=2) | st.sampled_from([b"x" * 15, b"x" * 16, b"x" * 17, b"\xff" * 20]),
)
"""Empty, short, as long as LMDB takes, longer, and longer with a common beginning."""

bounds = st.none() | keys
values = st.binary(max_size=3) | st.just(b"v" * 5000)


class MapMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self._open()
        self.model: dict[bytes, bytes] = {}
        self.committed: dict[bytes, bytes] = {}

    def _open(self) -> None:
        self.state = TaskState(Path(self._directory.name), "model")
        self.state.acquire(0)
        self.map: OrderedMap = self.state.map("m" * 300)

    @rule(key=keys, value=values)
    def put(self, key: bytes, value: bytes) -> None:
        self.map.put(key, value)
        self.model[key] = value

    @rule(key=keys)
    def delete(self, key: bytes) -> None:
        self.map.delete(key)
        self.model.pop(key, None)

    @rule(key=keys)
    def get(self, key: bytes) -> None:
        assert self.map.get(key) == self.model.get(key)

    @rule(low=bounds, high=bounds, inclusive=st.booleans(), limit=st.none() | st.integers(1, 5))
    def scan(
        self, low: bytes | None, high: bytes | None, inclusive: bool, limit: int | None
    ) -> None:
        expected = [
            (key, self.model[key])
            for key in sorted(self.model)
            if (low is None or key >= low)
            and (high is None or key < high or (inclusive and key == high))
        ]
        found = self.map.range(low, high, high_inclusive=inclusive, limit=limit)
        assert list(found) == expected[:limit]
        if inclusive:
            assert list(self.map.reverse_range(low, high)) == expected[::-1]

    @rule(key=keys, value=values)
    def change_while_scanning(self, key: bytes, value: bytes) -> None:
        expected = sorted(self.model.items())
        found = []
        for item in self.map.range(None, None):
            found.append(item)
            self.delete(item[0])
            self.put(key, value)
        assert found == expected

    @rule()
    def count(self) -> None:
        assert len(self.map) == len(self.model)

    @rule()
    def commit(self) -> None:
        self.state.commit(CHECKPOINT, {})
        self.committed = dict(self.model)

    @rule()
    def roll_back(self) -> None:
        self.state.rollback()
        self.model = dict(self.committed)

    @rule()
    def release(self) -> None:
        self.state.release()
        self.state.acquire(0)
        self.model = dict(self.committed)

    @rule()
    def reopen(self) -> None:
        self._close()
        self._open()
        self.model = dict(self.committed)

    @rule()
    def drop(self) -> None:
        self.state.drop("m" * 300)
        self.map = self.state.map("m" * 300)
        self.model = {}

    @invariant()
    def is_named(self) -> None:
        if self.model:
            assert self.state.names("m") == ["m" * 300]

    def teardown(self) -> None:
        self._close()
        self._directory.cleanup()

    def _close(self) -> None:
        self.state.release()
        self.state._close_environment()


TestMap = MapMachine.TestCase
TestMap.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_map_is_only_read_in_turn(tmp_path: Path) -> None:
    state = TaskState(tmp_path, "x")
    state.acquire(0)
    entries = state.map("m")
    entries.put(b"a", b"1")
    state.commit(CHECKPOINT, {})
    state.release()
    with pytest.raises(StateError, match=r"between acquire\(\) and release\(\)"):
        entries.get(b"a")
    with pytest.raises(StateError, match=r"between acquire\(\) and release\(\)"):
        list(entries.range(None, None))
    state.acquire(0)
    assert entries.get(b"a") == b"1"
    state.close()


def test_a_scan_ends_with_its_commit(tmp_path: Path) -> None:
    state = TaskState(tmp_path, "x")
    state.acquire(0)
    entries = state.map("m")
    entries.put(b"a", b"1")
    entries.put(b"b", b"2")
    state.commit(CHECKPOINT, {})
    scan = entries.range(None, None)
    assert next(scan) == (b"a", b"1")
    state.commit(CHECKPOINT, {})
    with pytest.raises(StateError, match="A scan must be over before the next commit"):
        next(scan)
    assert entries.get(b"a") == b"1"
    state.close()


def test_what_came_and_went_leaves_nothing_to_scan_over(tmp_path: Path) -> None:
    state = TaskState(tmp_path, "x")
    state.acquire(0)
    entries = state.map("m")
    for number in range(100):
        key = b"%03d" % number
        entries.put(key, b"")
        assert next(entries.range(None, None, limit=1)) == (key, b"")
        entries.delete(key)
    assert entries._changes == {}  # type: ignore[attr-defined]
    state.close()
