"""Where records go: topics by name or function, and partitions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import StreamsBuilder, TimeWindows, Topology, Windowed, serdes
from headrace.serde.murmur2 import partition_for
from headrace.testing import TopologyTestDriver

TEXT = serdes.string()


def copied(**options: Any) -> Topology:
    builder = StreamsBuilder()
    topic = options.pop("topic", "out")
    builder.stream("in", key=TEXT, value=TEXT).to(topic, key=TEXT, value=TEXT, **options)
    return builder.build()


def partitions_of(topology: Topology, *values: str) -> list[tuple[bytes, int | None]]:
    with TopologyTestDriver(topology, partitions=4) as driver:
        for value in values:
            driver.input_topic("in", TEXT, TEXT).pipe("k", value, 0)
        return [(record.value, record.partition) for record in driver.take_output()]


def by_length(topic: str, key: str, value: str, partitions: int) -> int | set[int] | None:
    assert (topic, partitions) == ("out", 4)
    return {"": None, "a": 3, "bb": {0, 2}}.get(value)


def test_a_partitioner_chooses_one_several_or_none() -> None:
    topology = copied(partitioner=by_length)
    assert partitions_of(topology, "a", "", "bb") == [
        (b"a", 3),
        (b"", None),
        (b"bb", 0),
        (b"bb", 2),
    ]


def test_no_partition_at_all_drops_the_record() -> None:
    with TopologyTestDriver(copied(partitioner=lambda *_: set())) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", 0)
        assert driver.take_output() == []
        assert driver.dropped_records == 1


def test_a_function_names_the_topic() -> None:
    def topic(key: str, value: str, context: Any) -> str:
        return f"{context.topic}-{context.offset}-{value}"

    with TopologyTestDriver(copied(topic=topic)) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe_key_values([("k", "a"), ("k", "b")])
        assert driver.produced_topic_names() == {"in-0-a", "in-1-b"}


@pytest.mark.parametrize("key", ["a", "b", "c", "d"])
def test_all_windows_of_a_key_go_to_one_partition(key: str) -> None:
    size = timedelta(milliseconds=10)
    builder = StreamsBuilder()
    counts = (
        builder.stream("in", key=TEXT, value=TEXT)
        .group_by_key()
        .windowed_by(TimeWindows.of_size(size))
    )
    windowed = serdes.time_windowed(TEXT, size)
    counts.count().to_stream().to("out", key=windowed, value=serdes.long())
    with TopologyTestDriver(builder.build(), partitions=4) as driver:
        for timestamp in range(0, 100, 10):
            driver.input_topic("in", TEXT, TEXT).pipe(key, "v", timestamp)
        sent = [record for record in driver.take_output() if record.topic == "out"]
    assert {record.partition for record in sent} == {partition_for(key.encode(), 4)}
    keys: list[Windowed[str]] = [windowed.deserialize(record.key) for record in sent]
    assert [read.window.start for read in keys] == list(range(0, 100, 10))
