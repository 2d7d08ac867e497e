"""Copies that follow changelogs, without a Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsBuilder, StreamsConfig, serdes
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.identity import identity
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.standby import STANDBY, Standby, changelogs
from headrace.kafka.errors import OffsetGone
from headrace.query.local_state import LocalState
from headrace.state.directory import StateDirectory
from headrace.state.task_state import TaskState

PART = TopicPartition("app-counts-changelog", 0)


class FakeClients:
    """A changelog in memory; instead of Clients."""

    def __init__(self) -> None:
        self.log: list[tuple[bytes, bytes | None, int, tuple[()]]] = []
        self.begins_at = 0
        self.group = self.changelogs = self

    def count(self, key: bytes, count: int) -> None:
        self.log.append((key, count.to_bytes(8, "big"), 5, ()))

    def end_offsets(self, parts: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(parts, len(self.log))

    def read(self, part: TopicPartition, start: int, end: int) -> Iterator[tuple[list[Any], int]]:
        if 0 < start < self.begins_at:
            raise OffsetGone("gone")
        for offset in range(max(start, self.begins_at), end, 2):
            until = min(offset + 2, end)
            yield self.log[offset:until], until


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string(), value=serdes.string())
    stream.group_by_key().count("counts")
    topology = builder.build()
    (sub,) = topology.subtopologies()
    task = TaskPlan(TaskId(0, 0), tuple(sub.nodes), {TopicPartition("in", 0): sub.nodes[0]})
    config = StreamsConfig(
        {
            "application.id": "app",
            "bootstrap.servers": "localhost:9092",
            "state.dir": str(tmp_path),
        }
    )
    return Plan(1, topology, config, (task,), None, {}, {PART.topic: "id"}, 1)


def follower(plan: Plan, clients: FakeClients) -> Standby:
    directory = StateDirectory.of(plan.config)
    return Standby(plan, plan.tasks[0], directory, clients)  # type: ignore[arg-type]


def counts(plan: Plan) -> dict[str, int]:
    """What a reader finds."""
    state = LocalState(plan)
    try:
        with state.partitions("counts")[0].snapshot() as snapshot:
            store = state.partitions("counts")[0].store(snapshot)
            return {key: value.value for key, value in store.all()}
    finally:
        state.close()


def test_it_follows(plan: Plan) -> None:
    clients = FakeClients()
    clients.count(b"a", 1)
    clients.count(b"b", 1)
    standby = follower(plan, clients)
    assert standby.follow() == 0
    clients.count(b"a", 2)
    assert standby.follow() == 0
    standby.close()
    assert counts(plan) == {"a": 2, "b": 1}


def test_it_counts_what_it_applies(plan: Plan) -> None:
    config = StreamsConfig({**plan.config.given(), "metrics.recording.level": "DEBUG"})
    plan = replace(plan, config=config)
    clients = FakeClients()
    for number in range(3):
        clients.count(b"a", number)
    standby = follower(plan, clients)
    standby.follow()
    assert standby.metrics.take() == [("task.update", (), (3,))]
    standby.follow()
    standby.close()
    assert standby.metrics.take() == []


def test_another_one_goes_on_where_it_was(plan: Plan) -> None:
    clients = FakeClients()
    clients.count(b"a", 1)
    first = follower(plan, clients)
    first.follow()
    first.close()
    clients.log[0] = (b"a", (9).to_bytes(8, "big"), 5, ())  # which nobody reads again
    clients.count(b"b", 1)
    second = follower(plan, clients)
    assert second.follow() == 0
    second.close()
    assert counts(plan) == {"a": 1, "b": 1}


def test_a_directory_that_is_in_use_is_left_alone(plan: Plan) -> None:
    clients = FakeClients()
    clients.count(b"a", 1)
    task = plan.tasks[0]
    holder = TaskState(StateDirectory.of(plan.config).task("0_0"), identity(plan, task))
    holder.acquire(5)
    standby = follower(plan, clients)
    assert standby.follow() is None
    holder.close()
    assert standby.follow() == 0
    standby.close()


def test_a_log_that_was_cut_off_is_read_anew(plan: Plan) -> None:
    clients = FakeClients()
    for number in range(4):
        clients.count(b"%d" % number, 1)
    standby = follower(plan, clients)
    standby.follow()
    for number in range(4, 8):
        clients.count(b"%d" % number, 1)
    clients.begins_at = 6
    assert standby.follow() == 8
    assert standby.follow() == 0
    standby.close()
    assert counts(plan) == {"6": 1, "7": 1}


def test_what_it_leaves_is_of_no_run(plan: Plan) -> None:
    clients = FakeClients()
    clients.count(b"a", 1)
    standby = follower(plan, clients)
    standby.follow()
    standby.close()
    state = TaskState(StateDirectory.of(plan.config).task("0_0"), identity(plan, plan.tasks[0]))
    state.acquire(5)
    assert state.checkpoint is not None
    assert (state.checkpoint.run_id, state.checkpoint.sequence) == (STANDBY, 0)
    assert state.checkpoint.changelogs == {PART.topic: ("id", 1)}
    state.close()


def test_stores_without_a_changelog_of_their_own_are_not_copied(plan: Plan) -> None:
    assert changelogs(plan, plan.tasks[0]) == {"counts": PART.topic}
    builder = StreamsBuilder()
    builder.table("in", "table", key=serdes.string(), value=serdes.string())
    topology = builder.build({"topology.optimization": "all"})
    (sub,) = topology.subtopologies()
    task = TaskPlan(TaskId(0, 0), tuple(sub.nodes), {TopicPartition("in", 0): sub.nodes[0]})
    other = Plan(1, topology, plan.config, (task,), None, {}, {}, 1)
    assert changelogs(other, task) == {}
