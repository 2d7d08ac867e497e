"""Plans: what a batch takes of which topics."""

from __future__ import annotations

from headrace import StreamsBuilder, Topology, serdes
from headrace.core.config import StreamsConfig
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.plan import Plan, TaskPlan


def _regrouped(times: int) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string(), value=serdes.string())
    for _ in range(times):
        stream = stream.select_key(lambda key, value: value).repartition()
    stream.to("out", key=serdes.string(), value=serdes.string())
    return builder.build()


def _plan(topology: Topology) -> Plan:
    topics = ["in", *(f"app-{topic}" for topic in topology.internal_topics)]
    tasks = tuple(
        TaskPlan(TaskId(index, number), (), {TopicPartition(topic, number): topic})
        for index, topic in enumerate(topics)
        for number in range(2)
    )
    config = StreamsConfig(
        {
            "application.id": "app",
            "bootstrap.servers": "localhost:9092",
            "max.batch.records": 900,
        }
    )
    return Plan(1, topology, config, tasks, None, {}, {}, 2)


def test_topics_without_repartition_have_the_whole_batch() -> None:
    parts = (TopicPartition("in", 0), TopicPartition("in", 1))
    assert _plan(_regrouped(0)).shares == ((parts, 900),)


def test_repartition_topics_have_a_share_of_their_own() -> None:
    (outer, outer_limit), (inner, inner_limit) = _plan(_regrouped(2)).shares
    assert {part.topic for part in outer} == {"in"}
    assert len(inner) == 4
    assert (outer_limit, inner_limit) == (900, 1800)
