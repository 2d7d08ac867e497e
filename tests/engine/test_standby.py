"""Copies that follow changelogs, without a Kafka."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count as count_up
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsBuilder, StreamsConfig, serdes
from headrace.core.clock import SystemClock
from headrace.core.errors import LockError
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.identity import identity
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.standby import STANDBY, Standby, Standbys, changelogs
from headrace.query.local_state import LocalState
from headrace.state.checkpoint import Checkpoint
from headrace.state.directory import StateDirectory
from headrace.state.lock import LONGEST_WAIT_S, DirectoryLock
from headrace.state.task_state import LOCK_FILE, TaskState
from tests.engine.logs import Logs

PART = TopicPartition("app-counts-changelog", 0)
OTHER = TopicPartition("app-counts-changelog", 1)


class HurriedClock(SystemClock):
    """Whenever it is looked at, `step_s` have passed."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._now_s = 0.0

    def seconds(self) -> float:
        self._now_s += self._step_s
        return self._now_s


@pytest.fixture
def logs() -> Logs:
    return Logs()


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string(), value=serdes.string())
    stream.group_by_key().count("counts")
    topology = builder.build()
    (sub,) = topology.subtopologies()
    tasks = tuple(
        TaskPlan(TaskId(0, n), tuple(sub.nodes), {TopicPartition("in", n): sub.nodes[0]})
        for n in range(2)
    )
    config = StreamsConfig(
        {
            "application.id": "app",
            "bootstrap.servers": "localhost:9092",
            "state.dir": str(tmp_path),
        }
    )
    return Plan(1, topology, config, tasks, None, {}, {PART.topic: "id"}, 1)


def count(logs: Logs, key: str, number: int, part: TopicPartition = PART) -> None:
    logs.write(part, key.encode(), number.to_bytes(8, "big"))


def follower(plan: Plan, logs: Logs, clock: SystemClock | None = None) -> Standby:
    directory = StateDirectory.of(plan.config)
    return Standby(plan, plan.tasks[0], directory, logs.kafka, clock or SystemClock())


def follow(standby: Standby) -> int | None:
    """To the end; what is then still to come."""
    return list(standby.follow())[-1]


def lock_of(plan: Plan) -> DirectoryLock:
    return DirectoryLock(StateDirectory.of(plan.config).task("0_0") / LOCK_FILE)


def counts(plan: Plan, partition: int = 0) -> dict[str, int]:
    """What a reader finds."""
    state = LocalState(plan)
    try:
        found = state.partitions("counts")[partition]
        with found.snapshot() as snapshot:
            return {key: value.value for key, value in found.store(snapshot).all()}
    finally:
        state.close()


def test_it_follows(plan: Plan, logs: Logs) -> None:
    count(logs, "a", 1)
    count(logs, "b", 1)
    standby = follower(plan, logs)
    assert follow(standby) == 0
    count(logs, "a", 2)
    assert follow(standby) == 0
    assert follow(standby) == 0
    standby.close()
    assert counts(plan) == {"a": 2, "b": 1}


def test_it_counts_what_it_applies(plan: Plan, logs: Logs) -> None:
    config = StreamsConfig({**plan.config.given(), "metrics.recording.level": "DEBUG"})
    plan = replace(plan, config=config)
    for number in range(3):
        count(logs, "a", number)
    standby = follower(plan, logs)
    follow(standby)
    assert standby.metrics.take() == [("task.update", (), (3,))]
    follow(standby)
    standby.close()
    assert standby.metrics.take() == []


def test_another_one_goes_on_where_it_was(plan: Plan, logs: Logs) -> None:
    count(logs, "a", 1)
    first = follower(plan, logs)
    follow(first)
    first.close()
    logs.log(PART)[0] = (b"a", (9).to_bytes(8, "big"), 5, ())  # which nobody reads again
    count(logs, "b", 1)
    second = follower(plan, logs)
    assert follow(second) == 0
    second.close()
    assert counts(plan) == {"a": 1, "b": 1}


def test_a_directory_that_is_in_use_is_left_alone(plan: Plan, logs: Logs) -> None:
    count(logs, "a", 1)
    task = plan.tasks[0]
    holder = TaskState(StateDirectory.of(plan.config).task("0_0"), identity(plan, task))
    holder.acquire(5)
    standby = follower(plan, logs)
    assert follow(standby) is None
    holder.close()
    assert follow(standby) == 0
    standby.close()


def test_a_long_way_is_made_in_slices_with_the_directory_free_in_between(plan: Plan) -> None:
    logs = Logs(batch=5000)
    for number in range(4000):
        count(logs, f"k{number}", number)
    standby = follower(plan, logs, HurriedClock(0.11))  # two looks, and a slice is over
    lags = []
    for lag in standby.follow():
        lags.append(lag)
        lock = lock_of(plan)
        lock.acquire(0)
        lock.release()
    standby.close()
    # Only after all of a list it is known how far that is.
    assert lags == [4000, 4000, 4000, 0, 0]
    assert len(counts(plan)) == 4000


def test_the_directory_is_free_while_kafka_is_waited_for(
    plan: Plan, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        count(logs, "a", number)
    read = logs.read
    looked = []

    def slowly(part: TopicPartition, start: int, end: int) -> Iterator[Any]:
        for found in read(part, start, end):
            lock = lock_of(plan)
            lock.acquire(0)
            lock.release()
            looked.append(found[1])
            yield found

    monkeypatch.setattr(logs, "read", slowly)
    standby = follower(plan, logs)
    assert follow(standby) == 0
    standby.close()
    assert looked == [2, 4, 6]


def test_a_task_that_comes_between_two_slices_has_the_way(plan: Plan, logs: Logs) -> None:
    for number in range(6):
        count(logs, "a", number)
    standby = follower(plan, logs)
    slices = standby.follow()
    assert next(slices) == 4
    lock = lock_of(plan)
    lock.acquire(0)
    assert list(slices) == [None]
    with pytest.raises(LockError):
        lock_of(plan).acquire(0)
    lock.release()
    assert follow(standby) == 0
    standby.close()
    assert counts(plan) == {"a": 5}


def test_a_task_that_waits_comes_in_while_a_copy_has_a_long_way_to_go(plan: Plan) -> None:
    class Endless(Logs):
        def end_offsets(self, parts: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
            return dict.fromkeys(parts, 1 << 60)

        def read(self, part: TopicPartition, start: int, end: int) -> Iterator[Any]:
            for offset in count_up(start, 20_000):
                keys = (b"%d" % (offset + index) for index in range(20_000))
                yield [(key, bytes(8), 5, ()) for key in keys], offset + 20_000

    directory, clock = StateDirectory.of(plan.config), SystemClock()
    standbys = Standbys(plan, directory, Endless().kafka, clock)
    standbys.keep(["0_0"])
    has_begun, has_come = threading.Event(), threading.Event()

    def follow_until_somebody_comes() -> None:
        while True:
            for _ in standbys.follow():
                has_begun.set()
                if has_come.is_set():
                    return
                clock.sleep(2 * LONGEST_WAIT_S)

    following = threading.Thread(target=follow_until_somebody_comes)
    following.start()
    try:
        assert has_begun.wait(60)
        lock = lock_of(plan)
        lock.acquire(20)
        lock.release()
    finally:
        has_come.set()
        following.join()
        standbys.close()


def test_what_a_task_has_done_between_two_slices_stays(plan: Plan, logs: Logs) -> None:
    for number in range(6):
        count(logs, "a", number)
    standby = follower(plan, logs)
    slices = standby.follow()
    assert next(slices) == 4
    standby.close()
    task = TaskState(StateDirectory.of(plan.config).task("0_0"), identity(plan, plan.tasks[0]))
    task.acquire(5)
    left = Checkpoint("1", 7, {TopicPartition("in", 0): 9}, {PART.topic: ("id", 6)})
    task.commit(left, {})
    task.close()
    assert list(slices) == [None]
    standby.close()
    task.acquire(5)
    assert task.checkpoint == left
    task.close()


def test_a_slice_that_was_cut_short_is_applied_again(plan: Plan) -> None:
    logs = Logs(batch=5000)
    for number in range(1500):
        count(logs, f"k{number % 700}", number)
    first = follower(plan, logs, HurriedClock(1.0))
    slices = first.follow()
    assert next(slices) == 1500
    first.close()
    second = follower(plan, logs)
    assert follow(second) == 0
    second.close()
    expected = {f"k{number % 700}": number for number in range(1500)}
    assert counts(plan) == expected


def test_a_log_that_was_cut_off_is_read_anew(plan: Plan, logs: Logs) -> None:
    for number in range(4):
        count(logs, f"{number}", 1)
    standby = follower(plan, logs)
    follow(standby)
    for number in range(4, 8):
        count(logs, f"{number}", 1)
    logs.begins_at = 6
    assert follow(standby) == 8
    assert follow(standby) == 0
    standby.close()
    assert counts(plan) == {"6": 1, "7": 1}


def test_what_it_leaves_is_of_no_run(plan: Plan, logs: Logs) -> None:
    count(logs, "a", 1)
    standby = follower(plan, logs)
    follow(standby)
    standby.close()
    state = TaskState(StateDirectory.of(plan.config).task("0_0"), identity(plan, plan.tasks[0]))
    state.acquire(5)
    assert state.checkpoint is not None
    assert (state.checkpoint.run_id, state.checkpoint.sequence) == (STANDBY, 0)
    assert state.checkpoint.changelogs == {PART.topic: ("id", 1)}
    state.close()


def test_copies_of_several_tasks(plan: Plan, logs: Logs) -> None:
    count(logs, "a", 1)
    count(logs, "b", 2, OTHER)
    standbys = Standbys(plan, StateDirectory.of(plan.config), logs.kafka, SystemClock())
    standbys.keep(["0_0", "0_1"])
    assert standbys.take_report()[0] == {"0_0": None, "0_1": None}
    assert list(standbys.follow()) == []  # none has to wait before it goes on
    assert standbys.take_report()[0] == {"0_0": 0, "0_1": 0}
    standbys.keep(["0_1"])
    assert len(standbys) == 1
    assert standbys.take_report()[0] == {"0_1": 0}
    standbys.close()
    assert counts(plan) == {"a": 1}
    assert counts(plan, 1) == {"b": 2}


def test_a_copy_that_is_far_behind_does_not_keep_the_others(plan: Plan, logs: Logs) -> None:
    for number in range(100):
        count(logs, "a", number)
    count(logs, "b", 2, OTHER)
    directory = StateDirectory.of(plan.config)
    standbys = Standbys(plan, directory, logs.kafka, HurriedClock(1.0))
    standbys.keep(["0_0", "0_1"])
    rounds = 0
    while (lags := standbys.take_report()[0]) != {"0_0": 0, "0_1": 0}:
        pauses = list(standbys.follow())
        assert len(pauses) < 5
        if rounds == 0:
            assert standbys.take_report()[0]["0_1"] == 0
        rounds += 1
        assert rounds < 100, lags
    assert rounds > 5
    standbys.close()
    assert counts(plan) == {"a": 99}


def test_a_copy_that_fails_does_not_keep_the_others(
    plan: Plan, logs: Logs, caplog: pytest.LogCaptureFixture
) -> None:
    count(logs, "a", 1)
    count(logs, "b", 2, OTHER)
    directory = StateDirectory.of(plan.config)
    standbys = Standbys(plan, directory, logs.kafka, SystemClock())
    standbys.keep(["0_0", "0_1"])
    (directory.path / "0_0").write_text("in the way")
    list(standbys.follow())
    assert standbys.take_report()[0] == {"0_0": None, "0_1": 0}
    assert "The standby of task 0_0" in caplog.text
    (directory.path / "0_0").unlink()
    list(standbys.follow())
    assert standbys.take_report()[0] == {"0_0": 0, "0_1": 0}
    standbys.close()


def test_stores_without_a_changelog_of_their_own_are_not_copied(plan: Plan) -> None:
    assert changelogs(plan, plan.tasks[0]) == {"counts": PART.topic}
    builder = StreamsBuilder()
    builder.table("in", "table", key=serdes.string(), value=serdes.string())
    topology = builder.build({"topology.optimization": "all"})
    (sub,) = topology.subtopologies()
    task = TaskPlan(TaskId(0, 0), tuple(sub.nodes), {TopicPartition("in", 0): sub.nodes[0]})
    other = Plan(1, topology, plan.config, (task,), None, {}, {}, 1)
    assert changelogs(other, task) == {}
