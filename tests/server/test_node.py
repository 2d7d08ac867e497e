"""What the node of a host in a Spark cluster knows, and when its process ends."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

import orjson
import pytest

from headrace import StreamsBuilder, StreamsConfig, serdes
from headrace.app.metadata import NO_HOST
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.plan import GLOBAL, Plan, TaskPlan
from headrace.server.node import Node
from headrace.spark.events import Address, EventServer, Send
from headrace.spark.shipment import shipment
from headrace.state.directory import StateDirectory

PATIENCE_S = 60.0
PROCESS = """
from functools import partial
from headrace.server import node

node.DriverConnection = partial(node.DriverConnection, silence_s={silence_s})
node.main()
"""
TEXT = serdes.string()


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).group_by_key().count("counts")
    builder.global_table("names", "names", key=TEXT, value=TEXT)
    topology = builder.build()
    counting, shared = topology.subtopologies()
    tasks = tuple(
        TaskPlan(TaskId(0, n), counting.nodes, {TopicPartition("in", n): counting.nodes[0]})
        for n in range(4)
    )
    everywhere = TaskPlan(GLOBAL, shared.nodes, {})
    config = StreamsConfig(
        {
            "application.id": "app",
            "bootstrap.servers": "localhost:9",
            "state.dir": str(tmp_path),
        }
    )
    return Plan(1, topology, config, tasks, everywhere, {}, {}, 1)


def message(active: dict[str, str], standby: dict[str, list[str]]) -> dict[str, Any]:
    return {"driver": None, "active": active, "standby": standby}


def test_what_runs_or_is_copied_here_is_needed(plan: Plan) -> None:
    node = Node(plan, "me", "127.0.0.1")
    # Nobody has said where tasks run.
    assert node.needed == {"0_0", "0_1", "0_2", "0_3", "global"}
    node.hear(message({"0_0": "me", "0_1": "other", "0_2": "other"}, {"me": ["0_2"]}))
    assert node.needed == {"0_0", "0_2", "0_3", "global"}
    node.hear(message({"0_0": "other", "0_1": "me", "0_2": "other", "0_3": "other"}, {"me": []}))
    assert node.needed == {"0_1", "global"}


def test_a_task_of_a_later_plan_that_runs_here_is_needed(plan: Plan) -> None:
    node = Node(plan, "me", "127.0.0.1")
    node.hear(message({"0_7": "me", "0_8": "other"}, {}))
    assert node.needed == {"0_0", "0_1", "0_2", "0_3", "0_7", "global"}


@contextmanager
def process(plan: Plan, address: Address, silence_s: float) -> Iterator[subprocess.Popen[bytes]]:
    StateDirectory.of(plan.config).claim()
    command = [sys.executable, "-c", PROCESS.format(silence_s=silence_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as node:
        try:
            assert node.stdin is not None
            node.stdin.write(orjson.dumps(address) + b"\n" + shipment(plan))
            node.stdin.close()
            yield node
        finally:
            node.kill()


def test_a_node_ends_when_its_driver_does(plan: Plan) -> None:
    heard: Queue[tuple[list[Any], Send]] = Queue()
    server = EventServer("127.0.0.1", lambda event, send: heard.put((event, send)))
    with process(plan, server.address, silence_s=PATIENCE_S * 10) as node:
        event, send = heard.get(timeout=PATIENCE_S)
        assert event[0] == "node"
        assert event[2:] == [*NO_HOST]  # nobody has asked for a server
        send(message({"0_0": event[1]}, {}))
        server.close()
        assert node.wait(PATIENCE_S) == 0


def test_a_node_ends_when_the_host_of_its_driver_vanishes(plan: Plan) -> None:
    # Whoever has accepted the connection will never say a word, not even that it has ended.
    with socket.create_server(("127.0.0.1", 0)) as vanished:
        vanished.settimeout(PATIENCE_S)
        address = ("127.0.0.1", vanished.getsockname()[1], "token")
        with process(plan, address, silence_s=1.0) as node, vanished.accept()[0]:
            assert node.wait(PATIENCE_S) == 0
