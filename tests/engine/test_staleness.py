"""Local state that is older than deletions are kept: what was deleted since must not come back."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsBuilder, StreamsConfig, serdes
from headrace.core.clock import SystemClock
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.global_state import GlobalState
from headrace.engine.plan import GLOBAL, Plan, TaskPlan
from headrace.engine.restore import Restore
from headrace.engine.standby import Standby
from headrace.query.local_state import LocalState
from headrace.state import Checkpoint, StateDirectory, TaskState
from headrace.state.boot import Moment
from tests.engine.logs import Logs
from tests.engine.test_global_state import Heard

CHANGELOG = TopicPartition("app-counts-changelog", 0)
NAMES = TopicPartition("names", 0)
MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class Machine:
    """Its clocks; another boot begins with an uptime of nothing."""

    def __init__(self) -> None:
        self.moment = Moment("first boot", HOUR, 1_700_000_000_000)

    def passes(self, milliseconds: int) -> None:
        _, uptime_ms, wall_ms = self.moment
        self.moment = self.moment._replace(
            uptime_ms=uptime_ms + milliseconds, wall_ms=wall_ms + milliseconds
        )

    def boots(self, uptime_ms: int = 0) -> None:
        self.moment = self.moment._replace(boot="another boot", uptime_ms=uptime_ms)

    def is_set(self, milliseconds: int) -> None:
        self.moment = self.moment._replace(wall_ms=self.moment.wall_ms + milliseconds)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(Moment, "now", lambda: machine.moment)
    return machine


@pytest.fixture
def logs() -> Logs:
    return Logs()


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string(), value=serdes.string())
    stream.group_by_key().count("counts")
    builder.global_table("names", "all-names", key=serdes.string(), value=serdes.string())
    topology = builder.build()
    sub, shared = sorted(topology.subtopologies(), key=lambda sub: sub.is_global)
    task = TaskPlan(TaskId(0, 0), tuple(sub.nodes), {TopicPartition("in", 0): sub.nodes[0]})
    global_task = TaskPlan(GLOBAL, tuple(shared.nodes), {NAMES: shared.nodes[0]})
    config = StreamsConfig({"application.id": "app", "state.dir": str(tmp_path)})
    ids = {CHANGELOG.topic: "id", NAMES.topic: "id"}
    return Plan(1, topology, config, (task,), global_task, {"names": 1}, ids, 1)


# How old something is


def test_an_age_within_a_boot_is_not_told_by_the_clock(machine: Machine) -> None:
    then = machine.moment
    machine.passes(5)
    for change in (-DAY, 3 * DAY):
        machine.is_set(change)
        assert then.age_ms() == 5


def test_an_age_over_boots_is_at_least_that_of_this_one(machine: Machine) -> None:
    then = machine.moment
    machine.passes(DAY)
    machine.boots(HOUR)
    assert then.age_ms() == DAY
    machine.is_set(-DAY + MINUTE)  # it was set back, but not before what it was then
    assert then.age_ms() == HOUR


def test_what_was_in_the_future_is_of_any_age(machine: Machine) -> None:
    then = machine.moment
    machine.boots()
    machine.is_set(-1)
    assert then.age_ms() == math.inf


def test_the_machine_has_such_clocks() -> None:
    then = Moment.now()
    time.sleep(0.02)
    assert 15 <= then.age_ms() < 600_000


# A task that has come back


@pytest.fixture
def state(machine: Machine, tmp_path: Path) -> Iterator[TaskState]:
    """It knows the changelog up to offset 2."""
    state = TaskState(tmp_path / "0_0", "task")
    state.acquire(0)
    state.map("counts").put(b"deleted", b"1")
    state.commit(Checkpoint("run", 3, {}, {CHANGELOG.topic: ("id", 2)}), {})
    yield state
    state.close()


def is_kept(state: TaskState, logs: Logs) -> bool:
    Restore(TaskId(0, 0), state, logs.kafka, {CHANGELOG.topic: "id"}, Heard()).check(3)
    return state.checkpoint is not None


def write(logs: Logs, part: TopicPartition, count: int) -> None:
    for number in range(count):
        logs.write(part, b"%d" % number, b"value")


def test_state_that_missed_nothing_is_kept_however_old(
    state: TaskState, logs: Logs, machine: Machine
) -> None:
    write(logs, CHANGELOG, 2)
    machine.passes(100 * DAY)
    assert is_kept(state, logs)


@pytest.mark.parametrize(
    ("passed", "config", "kept"),
    [
        (22 * HOUR, {}, True),
        (23 * HOUR, {}, False),
        (100 * DAY, {}, False),
        (2 * HOUR, {"delete.retention.ms": str(4 * HOUR)}, True),
        (3 * HOUR, {"delete.retention.ms": str(4 * HOUR)}, False),
        (29 * MINUTE, {"delete.retention.ms": str(HOUR)}, True),
        (30 * MINUTE, {"delete.retention.ms": str(HOUR)}, False),
        (9_999, {"delete.retention.ms": "100"}, True),
        (10_000, {"delete.retention.ms": "100"}, False),
        (100 * DAY, {"cleanup.policy": "delete"}, True),
        (100 * DAY, {"cleanup.policy": "compact,delete"}, False),
    ],
)
def test_state_is_wiped_when_deletions_may_be_forgotten(
    passed: int,
    config: dict[str, str | None],
    kept: bool,
    state: TaskState,
    logs: Logs,
    machine: Machine,
) -> None:
    write(logs, CHANGELOG, 3)
    logs.config = config
    machine.passes(passed)
    assert is_kept(state, logs) is kept


def test_a_clock_that_was_set_back_does_not_make_it_younger(
    state: TaskState, logs: Logs, machine: Machine
) -> None:
    write(logs, CHANGELOG, 3)
    machine.passes(2 * DAY)
    machine.is_set(-2 * DAY)
    assert not is_kept(state, logs)


def test_nor_does_one_that_was_set_back_over_a_restart(
    state: TaskState, logs: Logs, machine: Machine
) -> None:
    write(logs, CHANGELOG, 3)
    machine.passes(2 * DAY)
    machine.boots()
    machine.is_set(-3 * DAY)
    assert not is_kept(state, logs)


# Copies


def counts(plan: Plan) -> dict[str, int]:
    local = LocalState(plan)
    try:
        found = local.partitions("counts")[0]
        with found.snapshot() as snapshot:
            return {key: value.value for key, value in found.store(snapshot).all()}
    finally:
        local.close()


def follower(plan: Plan, logs: Logs) -> Standby:
    return Standby(plan, plan.tasks[0], StateDirectory.of(plan.config), logs.kafka, SystemClock())


def one(number: int) -> bytes:
    return number.to_bytes(8, "big")


@pytest.mark.parametrize("is_new", [False, True])
def test_a_copy_that_was_not_followed_for_long_is_made_anew(
    is_new: bool, plan: Plan, logs: Logs, machine: Machine
) -> None:
    logs.write(CHANGELOG, b"deleted", one(1))
    logs.write(CHANGELOG, b"kept", one(1))
    standby = follower(plan, logs)
    list(standby.follow())
    machine.passes(25 * HOUR)
    # The deletion was written, and is forgotten; the offsets are there, as in a compacted log.
    logs.log(CHANGELOG)[:] = [(b"kept", one(2), 5, ())] * 4
    if is_new:
        standby.close()
        standby = follower(plan, logs)
    list(standby.follow())
    standby.close()
    assert counts(plan) == {"kept": 2}


def test_a_copy_that_was_followed_all_the_time_is_kept(
    plan: Plan, logs: Logs, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiped: list[Any] = []
    monkeypatch.setattr(TaskState, "wipe", wiped.append)
    logs.write(CHANGELOG, b"a", one(1))
    standby = follower(plan, logs)
    list(standby.follow())
    for _ in range(60):
        machine.passes(HOUR)
        list(standby.follow())
    logs.write(CHANGELOG, b"a", one(2))
    list(standby.follow())
    standby.close()
    assert wiped == []
    assert counts(plan) == {"a": 2}


# Global stores


def test_global_stores_that_were_not_followed_for_long_are_read_anew(
    plan: Plan, logs: Logs, machine: Machine
) -> None:
    assert plan.global_task is not None
    logs.write(NAMES, b"deleted", b"x")
    directory = StateDirectory.of(plan.config)
    shared = GlobalState(plan, plan.global_task, directory, logs.kafka, Heard(), SystemClock())
    stores = shared.catch_up()
    assert stores["all-names"].get("deleted").value == "x"
    machine.passes(12 * HOUR)
    shared.catch_up()
    machine.passes(12 * HOUR)
    logs.write(NAMES, b"kept", b"y")
    stores = shared.catch_up()
    assert stores["all-names"].get("deleted").value == "x"
    machine.passes(25 * HOUR)
    logs.log(NAMES)[:] = [(b"kept", b"z", 5, ())] * 4
    stores = shared.catch_up()
    assert {key: found.value for key, found in stores["all-names"].all()} == {"kept": "z"}
    shared.close()
