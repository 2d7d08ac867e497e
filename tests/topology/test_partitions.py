"""How many partitions internal topics and tasks have."""

from __future__ import annotations

import re

import pytest

from headrace import KStream, StreamsBuilder, Topology, TopologyError, serdes
from headrace.topology.partitions import PartitionCounts

TEXT = serdes.string()


def stream(builder: StreamsBuilder, topic: str) -> KStream[str, str]:
    return builder.stream(topic, key=TEXT, value=TEXT)


def counts(topology: Topology, **given: int) -> PartitionCounts:
    return PartitionCounts(topology, given.__getitem__)


def test_an_internal_topic_is_as_large_as_the_largest_topic_it_is_fed_from() -> None:
    builder = StreamsBuilder()
    stream(builder, "a").merge(stream(builder, "b")).repartition(key=TEXT, value=TEXT, name="r").to(
        "out"
    )
    found = counts(builder.build(), a=2, b=5)
    assert (found["a"], found["b"], found["r-repartition"]) == (2, 5, 5)


def test_a_chain_of_repartitions_passes_the_count_on_until_one_is_given() -> None:
    builder = StreamsBuilder()
    first = stream(builder, "a").repartition(name="first")
    second = first.repartition(name="second")
    third = second.repartition(name="third", partitions=7)
    third.repartition(name="fourth").to("out")
    topology = builder.build()
    found = counts(topology, a=3)
    assert [found[f"{name}-repartition"] for name in ("first", "second", "third", "fourth")] == [
        3,
        3,
        7,
        7,
    ]
    assert [found.of_subtopology(sub) for sub in topology.subtopologies()] == [3, 3, 3, 7, 7]


def test_a_pattern_counts_as_a_topic_of_that_name() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("a.*"), key=TEXT, value=TEXT).repartition(name="r").to("out")
    assert PartitionCounts(builder.build(), {"a.*": 4}.__getitem__)["r-repartition"] == 4


def test_an_internal_topic_adapts_to_what_it_is_joined_with() -> None:
    builder = StreamsBuilder()
    table = builder.table("table", key=TEXT, value=TEXT)
    small = stream(builder, "small").select_key(lambda key, value: value)
    small.join(table, lambda one, other: one, key=TEXT, value=TEXT, name="j").to("out", value=TEXT)
    found = counts(builder.build(), small=1, table=6)
    assert found["j-repartition"] == 6


def test_internal_topics_that_are_joined_become_as_large_as_the_largest() -> None:
    builder = StreamsBuilder()
    one, other = (
        stream(builder, name).select_key(lambda key, value: value).repartition(key=TEXT, name=name)
        for name in ("one", "other")
    )
    one.join(other.to_table(), lambda this, that: this, name="j").to("out", value=TEXT)
    found = counts(builder.build(), one=2, other=5)
    assert (found["one-repartition"], found["other-repartition"]) == (5, 5)


def test_topics_with_different_counts_cannot_be_joined() -> None:
    builder = StreamsBuilder()
    table = builder.table("table", key=TEXT, value=TEXT)
    stream(builder, "a").join(table, lambda one, other: one)
    topology = builder.build()
    assert counts(topology, a=2, table=2)["a"] == 2
    message = (
        "Topics that are joined must have the same number of partitions, but a has 2, "
        "table has 3. Repartition one of them: stream.repartition(partitions=…)."
    )
    with pytest.raises(TopologyError, match=re.escape(message)):
        counts(topology, a=2, table=3)


def test_a_repartition_with_a_given_count_does_not_adapt() -> None:
    builder = StreamsBuilder()
    table = builder.table("table", key=TEXT, value=TEXT)
    stream(builder, "a").repartition(name="r", partitions=4).join(table, lambda one, other: one)
    with pytest.raises(TopologyError, match=r"r-repartition has 4, table has 3"):
        counts(builder.build(), a=2, table=3)


def test_a_topic_that_feeds_only_itself_has_one_partition() -> None:
    topology = Topology().add_source("source", "loop", key=TEXT, value=TEXT)
    topology.add_sink("sink", "loop", "source", key=TEXT, value=TEXT)
    topology.add_internal_topic("loop")
    found = counts(topology)
    assert found["loop"] == 1
    assert found.of_subtopology(topology.subtopologies()[0]) == 1


def test_loops_take_the_count_of_what_comes_from_outside() -> None:
    topology = Topology().add_source("source", "loop", "a", key=TEXT, value=TEXT)
    topology.add_sink("sink", "loop", "source", key=TEXT, value=TEXT)
    topology.add_internal_topic("loop")
    assert counts(topology, a=3)["loop"] == 3
