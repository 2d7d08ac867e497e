"""Who has which task on a cluster, and who keeps a copy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from headrace import StreamsBuilder, StreamsConfig, serdes
from headrace.app.metadata import NO_HOST, HostInfo
from headrace.app.nodes import Copy, Nodes
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.report import TaskReport

A, B, C = (HostInfo(name, 8080) for name in "abc")


@pytest.fixture
def plan() -> Plan:
    builder = StreamsBuilder()
    counted = builder.stream("in", key=serdes.string(), value=serdes.string())
    counted.group_by_key().count("counts")
    topology = builder.build()
    (sub,) = topology.subtopologies()
    tasks = tuple(
        TaskPlan(TaskId(0, n), tuple(sub.nodes), {TopicPartition("in", n): sub.nodes[0]})
        for n in range(2)
    )
    config = StreamsConfig({"application.id": "app", "bootstrap.servers": "localhost:9092"})
    return Plan(1, topology, config, tasks, None, {}, {}, 2)


class Heard:
    """What a node was told last."""

    def __init__(self) -> None:
        self.message: Any = None

    def __call__(self, message: Any) -> None:
        self.message = orjson.loads(orjson.dumps(message))


def ran(task: str, node: str) -> TaskReport:
    return TaskReport(task, 0, "worker", node=node)


def test_a_copy_is_kept_elsewhere(plan: Plan) -> None:
    nodes, a, b = Nodes(1, None), Heard(), Heard()
    nodes.planned(plan)
    nodes.joined("a", A, a)
    nodes.joined("b", B, b)
    nodes.ran([ran("0_0", "a"), ran("0_1", "b")])
    assert a.message == b.message
    assert a.message["standby"] == {"a": ["0_1"], "b": ["0_0"]}
    assert nodes.active("0_0") == A
    assert nodes.copies("0_0") == [Copy(B, None)]
    nodes.followed("b", {"0_0": 7})
    assert nodes.copies("0_0") == [Copy(B, 7)]


def test_a_task_that_moves_leaves_a_copy_behind(plan: Plan) -> None:
    nodes, a, b = Nodes(1, None), Heard(), Heard()
    nodes.planned(plan)
    nodes.joined("a", A, a)
    nodes.joined("b", B, b)
    nodes.ran([ran("0_0", "a")])
    nodes.ran([ran("0_0", "b")])
    assert a.message["active"] == {"0_0": "b"}
    assert a.message["standby"] == {"a": ["0_0"], "b": []}


def test_nobody_is_told_the_same_twice(plan: Plan) -> None:
    nodes, a = Nodes(0, B), Heard()
    nodes.planned(plan)
    nodes.joined("a", A, a)
    nodes.ran([ran("0_0", "a")])
    assert a.message["driver"] == [*B]
    a.message = None
    nodes.ran([ran("0_0", "a")])
    assert a.message is None


def test_copies_don_t_move_when_another_node_comes(plan: Plan) -> None:
    names = [f"n{i}" for i in range(6)]
    nodes = Nodes(2, None)
    nodes.planned(plan)
    for number, name in enumerate(names):
        nodes.joined(name, HostInfo(name, number), Heard())
    nodes.ran([ran("0_0", "n0")])
    before = {copy.host for copy in nodes.copies("0_0")}
    nodes.joined("more", C, Heard())
    assert len(before & {copy.host for copy in nodes.copies("0_0")}) >= 1


def test_a_node_that_is_gone_is_not_named(plan: Plan) -> None:
    nodes, a, b = Nodes(1, None), Heard(), Heard()
    nodes.planned(plan)
    nodes.joined("a", A, a)
    nodes.joined("b", B, b)
    nodes.ran([ran("0_0", "a")])
    nodes.left(a)
    nodes.left(Heard())
    assert nodes.active("0_0") is None
    assert nodes.copies("0_0") == [Copy(B, None)]
    assert nodes.tasks() == [(B, set(), {"0_0"})]


def test_the_copy_that_is_least_behind_comes_first(plan: Plan) -> None:
    nodes = Nodes(2, None)
    nodes.planned(plan)
    for name, address in (("a", A), ("b", B), ("c", C)):
        nodes.joined(name, address, Heard())
    nodes.ran([ran("0_0", "a")])
    nodes.followed("b", {"0_0": 9})
    nodes.followed("c", {"0_0": 3})
    assert [copy.host for copy in nodes.copies("0_0")] == [C, B]


def test_nodes_that_answer_no_requests_are_told_apart(plan: Plan) -> None:
    nodes = Nodes(0, None)
    nodes.planned(plan)
    assert not nodes.have_tasks
    nodes.joined("a", NO_HOST, Heard())
    nodes.joined("b", NO_HOST, Heard())
    nodes.ran([ran("0_0", "a"), ran("0_1", "b")])
    assert nodes.have_tasks
    assert nodes.tasks() == [(NO_HOST, {"0_0"}, set()), (NO_HOST, {"0_1"}, set())]


def test_a_task_that_a_new_plan_has_no_more_is_nowhere(plan: Plan) -> None:
    nodes, a = Nodes(0, None), Heard()
    nodes.planned(plan)
    nodes.joined("a", A, a)
    nodes.ran([ran("0_0", "a"), ran("0_1", "a")])
    nodes.planned(replace(plan, tasks=plan.tasks[:1]))
    assert a.message["active"] == {"0_0": "a"}
