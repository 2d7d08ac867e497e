"""Where to begin without a committed position."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, cast

import pytest

from headrace import AutoOffsetReset, StreamsBuilder, Topology, serdes
from headrace.core.config import StreamsConfig
from headrace.core.errors import StreamsError
from headrace.core.record import TopicPartition
from headrace.kafka.port import Kafka, Position
from headrace.kafka.positions import GroupReader
from headrace.kafka.resets import lost_positions, starting_offsets

TEXT = serdes.string()


class FakeGroup:
    """Every partition has the records 10 to 99."""

    def __init__(self) -> None:
        self.asked_at: list[int] = []

    def first_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 10)

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 100)

    def offsets_at(
        self, partitions: Iterable[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, int]:
        self.asked_at.append(timestamp_ms)
        return dict.fromkeys(partitions, 50)


def offsets(
    topology: Topology, topics: Iterable[str], group: FakeGroup | None = None, **settings: Any
) -> dict[str, int]:
    config = StreamsConfig(
        {"application.id": "app", "bootstrap.servers": "a:1"}
        | {key.replace("_", "."): value for key, value in settings.items()}
    )
    partitions = [TopicPartition(topic, 0) for topic in topics]
    reader = cast(GroupReader, group or FakeGroup())
    found = starting_offsets(topology, config, partitions, reader)
    return {partition.topic: offset for partition, offset in found.items()}


def reading(**policies: AutoOffsetReset | None) -> Topology:
    builder = StreamsBuilder()
    for topic, policy in policies.items():
        builder.stream(topic, key=TEXT, value=TEXT, offset_reset=policy).repartition(
            name=f"r-{topic}"
        ).to("out")
    return builder.build()


def test_the_default_is_the_beginning() -> None:
    assert offsets(reading(a=None), ["a"]) == {"a": 10}
    assert offsets(reading(a=None), ["a"], consumer_auto_offset_reset="latest") == {"a": 100}


def test_a_source_has_its_own_policy() -> None:
    topology = reading(
        a=AutoOffsetReset.latest(),
        b=AutoOffsetReset.earliest(),
        c=AutoOffsetReset.by_duration(timedelta(hours=1)),
        d=None,
    )
    group = FakeGroup()
    found = offsets(topology, "abcd", group, auto_offset_reset="latest")
    assert found == {"a": 100, "b": 10, "c": 50, "d": 100}
    (asked_at,) = group.asked_at
    assert abs(asked_at - (time.time() - 3600) * 1000) < 60_000


def test_internal_topics_are_read_from_their_beginning() -> None:
    topology = reading(a=AutoOffsetReset.latest())
    found = offsets(topology, ["app-r-a-repartition"], auto_offset_reset="latest")
    assert found == {"app-r-a-repartition": 10}


def test_a_pattern_has_its_policy_for_all_it_matches() -> None:
    builder = StreamsBuilder()
    builder.stream(
        re.compile("logs.*"), key=TEXT, value=TEXT, offset_reset=AutoOffsetReset.latest()
    ).to("out")
    builder.stream("other", key=TEXT, value=TEXT).to("out")
    found = offsets(builder.build(), ["logs-a", "logs-b", "other"])
    assert found == {"logs-a": 100, "logs-b": 100, "other": 10}


@pytest.mark.parametrize("policy", [None, AutoOffsetReset.none()])
def test_none_is_an_error_that_names_the_partitions(policy: AutoOffsetReset | None) -> None:
    with pytest.raises(StreamsError, match=r"no valid committed position of a-0, and auto\.offset"):
        offsets(reading(a=policy), ["a"], auto_offset_reset="none")


class FakeKafka:
    """A transaction is open from 100 on: the log has records up to 119."""

    group = FakeGroup()

    @property
    def changelogs(self) -> FakeKafka:
        return self

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 120)


def test_positions_that_are_lost() -> None:
    parts = [TopicPartition("a", number) for number in range(7)]
    offsets = [9, 10, 50, 100, 120, 121]
    committed = {part: Position(at) for part, at in zip(parts, offsets, strict=False)}
    kafka = cast(Kafka, FakeKafka())
    found = lost_positions(kafka, committed, parts, parts)
    assert found == {
        parts[0]: "a-0@9 was deleted before it was read, its log begins at 10",
        parts[5]: "a-5@121 is not there, its log ends at 120",
        parts[6]: "a-6 has no position any more",
    }
    assert lost_positions(kafka, {}, parts, ()) == {}
