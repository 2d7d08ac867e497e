"""What is thrown away while an application runs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from headrace import StreamsBuilder, StreamsConfig, serdes
from headrace.app.housekeeping import Housekeeping, Leftovers
from headrace.app.metadata import NO_HOST
from headrace.app.nodes import Nodes
from headrace.core.clock import SystemClock
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.report import TaskReport
from headrace.kafka.port import Kafka
from headrace.state.directory import StateDirectory
from headrace.state.lock import DirectoryLock
from headrace.state.task_state import LOCK_FILE

INNER = TopicPartition("app-counts-repartition", 0)


class Records:
    """A Kafka whose records can only be deleted."""

    def __init__(self) -> None:
        self.admin = self
        self.deleted: list[Mapping[TopicPartition, int]] = []

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.deleted.append(offsets)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    builder = StreamsBuilder()
    text = serdes.string()
    stream = builder.stream("in", key=text, value=text).select_key(lambda key, value: value)
    stream.repartition(name="counts", key=text, value=text).group_by_key().count("counts")
    topology = builder.build()
    tasks = tuple(
        TaskPlan(TaskId(sub.id, 0), tuple(sub.nodes), {}) for sub in topology.subtopologies()
    )
    config = StreamsConfig(
        {
            "application.id": "app",
            "state.dir": str(tmp_path),
            "repartition.purge.interval.ms": 0,
        }
    )
    return Plan(1, topology, config, tasks, None, {}, {}, 1)


def leave_state(plan: Plan, *tasks: str, unused_for_s: float = 3600) -> StateDirectory:
    directory = StateDirectory.of(plan.config)
    for name in tasks:
        lock = DirectoryLock(directory.task(name) / LOCK_FILE)
        lock.acquire(0)
        lock.release()
        then = time.time() - unused_for_s
        os.utime(directory.path / name / LOCK_FILE, (then, then))
    return directory


def housekeeping(plan: Plan, nodes: Nodes, kafka: Records | None = None) -> Housekeeping:
    return Housekeeping(plan.config, cast(Kafka, kafka or Records()), nodes, SystemClock())


def test_the_driver_removes_what_tasks_have_left_that_are_gone(plan: Plan) -> None:
    directory = leave_state(plan, "0_0", "1_0", "2_0", "global")
    housekeeping(plan, Nodes(0, None)).run(plan, {})
    assert directory.tasks() == ["0_0", "1_0"]


def test_what_was_used_lately_is_kept(plan: Plan) -> None:
    directory = leave_state(plan, "2_0")
    leave_state(plan, "3_0", unused_for_s=60)
    housekeeping(plan, Nodes(0, None)).run(plan, {})
    assert directory.tasks() == ["3_0"]


def test_what_a_process_has_is_kept(plan: Plan) -> None:
    directory = leave_state(plan, "2_0")
    lock = DirectoryLock(directory.path / "2_0" / LOCK_FILE)
    lock.acquire(0)
    os.utime(directory.path / "2_0" / LOCK_FILE, (0, 0))
    Leftovers(plan.config).remove(())
    assert directory.tasks() == ["2_0"]
    lock.release()


def test_where_there_are_nodes_the_driver_leaves_directories_to_them(plan: Plan) -> None:
    directory = leave_state(plan, "2_0")
    nodes = Nodes(0, None)
    nodes.planned(plan)
    nodes.joined("a", NO_HOST, lambda message: None)
    nodes.ran([TaskReport("0_0", 0, "worker", node="a")])
    housekeeping(plan, nodes).run(plan, {})
    assert directory.tasks() == ["2_0"]


def test_records_of_repartition_topics_are_deleted_once(plan: Plan) -> None:
    kafka: Any = Records()
    keeping = housekeeping(plan, Nodes(0, None), kafka)
    keeping.run(plan, {INNER: 5, TopicPartition("in", 0): 7})
    keeping.run(plan, {INNER: 5, TopicPartition("in", 0): 9})
    keeping.run(plan, {INNER: 6})
    assert kafka.deleted == [{INNER: 5}, {INNER: 6}]
