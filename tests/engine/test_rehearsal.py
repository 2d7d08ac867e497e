"""The rehearsal: what is wrong with a topology is known before anything depends on it."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

from headrace import Processor, Record, StreamsBuilder, Topology, serdes, stores
from headrace.core.config import StreamsConfig
from headrace.engine.launch import Launch
from headrace.engine.rehearsal import rehearse
from headrace.engine.report import TaskReport
from headrace.kafka.port import TopicSpec
from tests.simulation.broker import Broker
from tests.simulation.clients import ModelKafka
from tests.simulation.clock import VirtualClock
from tests.simulation.network import GoodNetwork

TEXT = serdes.string()
calls: list[str] = []


class Watching(Processor[str, str, str, str]):
    """Has a store, and tells when it begins and ends."""

    def init(self, context: Any) -> None:
        self.store = context.get_state_store("kept")
        calls.append("init")

    def process(self, record: Record[str, str]) -> None: ...

    def close(self) -> None:
        calls.append("close")


class Failing(Watching):
    def init(self, context: Any) -> None:
        raise ValueError("no connection")


def topology(processor: type[Watching]) -> Topology:
    builder = StreamsBuilder()
    table = builder.global_table("rows", key=TEXT, value=TEXT)
    builder.add_state_store(stores.key_value("kept", key=TEXT, value=TEXT))
    stream = builder.stream("in", key=TEXT, value=TEXT)
    joined = stream.join(
        table, lambda value, other: value, key_selector=lambda key, value: key
    ).repartition(name="r", key=TEXT, value=TEXT)
    joined.process(processor, "kept").to("out", key=TEXT, value=TEXT)
    return builder.build()


def rehearsed(processor: type[Watching]) -> list[TaskReport]:
    calls.clear()
    clock = VirtualClock()
    broker = Broker(clock)
    broker.create([TopicSpec(name, 3) for name in ("in", "rows", "out")])
    config = StreamsConfig({"application.id": "app", "bootstrap.servers": "a:1"})
    kafka = ModelKafka(broker, GoodNetwork(broker, clock), "app")
    plan = Launch(topology(processor), config, kafka).plan(cores=2)
    return rehearse(plan, "host:1", MagicMock(), clock)


def test_one_task_of_each_subtopology_is_built_initialized_and_closed() -> None:
    reports = rehearsed(Watching)
    assert len({report.task for report in reports}) == len(reports) == 2
    assert all(report.failure is None for report in reports)
    assert calls == ["init", "close"]


def test_an_init_that_raises_is_reported_with_its_task() -> None:
    failed = rehearsed(Failing)[-1]
    assert failed.failure is not None
    with pytest.raises(Exception, match="no connection"):
        raise failed.failure.error()
    assert failed.task.endswith("_0")
