"""The test driver itself: partitions, patterns, global stores, crashes, metrics."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    ArgumentError,
    Materialized,
    ProcessingError,
    Processor,
    PunctuationType,
    Record,
    StreamsBuilder,
    Topology,
    TopologyError,
    ValueAndTimestamp,
    serdes,
    stores,
)
from headrace.stores import KeyValueStore
from headrace.testing import TopologyTestDriver

TEXT, NUMBER = serdes.string(), serdes.long()
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight"]


def counting_by_value() -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    grouped = stream.group_by(lambda key, value: value, key=TEXT, name="by-value")
    grouped.count("counts").to_stream().to("out")
    return builder.build()


def test_several_partitions_really_repartition() -> None:
    with TopologyTestDriver(counting_by_value(), {"application.id": "app"}, partitions=3) as driver:
        for key in WORDS:
            driver.input_topic("in", TEXT, TEXT).pipe_key_values((key, word) for word in WORDS)
        assert driver.output_topic("out", TEXT, NUMBER).read_map() == dict.fromkeys(WORDS, 8)
        assert driver.produced_topic_names() == {
            "app-by-value-repartition",
            "app-counts-changelog",
            "out",
        }
        found = [
            sorted(key for key, _ in driver.store("counts", partition=number).all())
            for number in range(3)
        ]
        assert sorted(key for keys in found for key in keys) == sorted(WORDS)
        assert sum(map(bool, found)) > 1
        with pytest.raises(ArgumentError, match="no store 'counts' in partition 3"):
            driver.store("counts", partition=3)


def test_a_record_may_be_piped_to_a_partition_as_bytes() -> None:
    builder = StreamsBuilder()
    builder.table("in", "rows", key=TEXT, value=TEXT)
    with TopologyTestDriver(builder.build(), partitions={"in": 2}) as driver:
        driver.pipe("in", b"k", b"v", 3, partition=1)
        assert list(driver.store("rows", partition=0).all()) == []
        assert list(driver.store("rows", partition=1).all()) == [("k", ValueAndTimestamp("v", 3))]


def test_topics_that_are_joined_must_have_equal_partitions() -> None:
    builder = StreamsBuilder()
    table = builder.table("table", key=TEXT, value=TEXT)
    builder.stream("stream", key=TEXT, value=TEXT).join(table, lambda one, other: one)
    message = r"but stream has 2, table has 3\. Repartition one of them"
    with pytest.raises(TopologyError, match=message):
        TopologyTestDriver(builder.build(), partitions={"stream": 2, "table": 3})


@pytest.mark.parametrize("partitions", [None, 2])
def test_a_pattern_reads_all_topics_that_match(partitions: int | None) -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("in-.*"), key=TEXT, value=TEXT).to("out")
    with TopologyTestDriver(builder.build(), partitions=partitions) as driver:
        for name in ("in-a", "in-b"):
            driver.input_topic(name, TEXT, TEXT).pipe(None, name)
        assert driver.output_topic("out", TEXT, TEXT).read_values() == ["in-a", "in-b"]
        with pytest.raises(ArgumentError, match=re.escape("'other'. It reads: in-.*.")):
            driver.input_topic("other", TEXT, TEXT).pipe("k", "v")


@pytest.mark.parametrize("partitions", [None, 2])
def test_a_global_store_is_seen_by_every_task_and_survives_a_crash(partitions: int | None) -> None:
    builder = StreamsBuilder()
    names = builder.global_table("names", "all-names", key=TEXT, value=TEXT)
    stream = builder.stream("in", key=TEXT, value=TEXT)
    joined = stream.join(names, lambda one, name: name, key_selector=lambda key, value: value)
    joined.to("out", value=TEXT)
    with TopologyTestDriver(builder.build(), partitions=partitions) as driver:
        driver.input_topic("names", TEXT, TEXT).pipe("a", "Ann")
        driver.crash()
        assert driver.store("all-names").get("a").value == "Ann"
        into = driver.input_topic("in", TEXT, TEXT)
        into.pipe_key_values((key, "a") for key in WORDS)
        assert driver.output_topic("out", TEXT, TEXT).read_values() == ["Ann"] * len(WORDS)
        assert set(driver.stores()) == {"all-names"}


def test_a_topology_of_a_global_store_alone() -> None:
    builder = StreamsBuilder()
    builder.global_table("names", "all-names", key=TEXT, value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("names", TEXT, TEXT).pipe("a", "Ann")
        assert driver.store("all-names").get("a").value == "Ann"


@pytest.mark.parametrize("partitions", [None, 3])
def test_a_crash_changes_nothing(partitions: int | None) -> None:
    with TopologyTestDriver(counting_by_value(), partitions=partitions) as driver:
        for key in ("x", "y"):
            driver.input_topic("in", TEXT, TEXT).pipe_key_values((key, word) for word in WORDS)
            driver.crash()
        assert driver.output_topic("out", TEXT, NUMBER).read_map() == dict.fromkeys(WORDS, 2)


def test_a_table_of_a_topic_is_restored_from_it_as_far_as_it_was_read() -> None:
    builder = StreamsBuilder()
    builder.table("in", "rows", key=TEXT, value=TEXT).to_stream().to("out")
    topology = builder.build({"topology.optimization": "all"})
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", 3)
        driver.crash()
        assert driver.store("rows").get("k") == ValueAndTimestamp("v", 3)
        assert driver.produced_topic_names() == {"out"}


def test_a_store_without_a_changelog_is_empty_after_a_crash() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.group_by_key().count(Materialized("counts", logging=False))
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", 3)
        driver.crash()
        assert list(driver.store("counts").all()) == []
        assert driver.dropped_records == 0


def test_a_task_may_have_no_partition_of_a_smaller_topic() -> None:
    builder = StreamsBuilder()
    small, large = (builder.stream(name, key=TEXT, value=TEXT) for name in ("small", "large"))
    small.merge(large).to("out", key=TEXT, value=TEXT)
    with TopologyTestDriver(builder.build(), partitions={"small": 1, "large": 3}) as driver:
        driver.input_topic("small", TEXT, TEXT).pipe_key_values((word, "s") for word in WORDS)
        driver.input_topic("large", TEXT, TEXT).pipe_key_values((word, "l") for word in WORDS)
        values = driver.output_topic("out", TEXT, TEXT).read_values()
        assert values == ["s"] * len(WORDS) + ["l"] * len(WORDS)


class FailsOnce(Processor[str, str, str, str]):
    failed = False

    def process(self, record: Record[str, str]) -> None:
        if not FailsOnce.failed:
            FailsOnce.failed = True
            raise ValueError("for once")
        self.context.forward(record)


def test_a_record_that_failed_is_processed_after_a_crash() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).process(FailsOnce).to("out", key=TEXT, value=TEXT)
    driver = TopologyTestDriver(builder.build())
    with pytest.raises(ProcessingError), driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v")
    driver.crash()
    assert driver.output_topic("out", TEXT, TEXT).read_values() == ["v"]
    driver.close()


def test_a_store_by_name() -> None:
    with TopologyTestDriver(counting_by_value()) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", 3)
        counts: KeyValueStore[str, ValueAndTimestamp] = driver.store("counts")
        assert counts.get("v") == ValueAndTimestamp(1, 3)


def test_metrics_and_dropped_records() -> None:
    builder = StreamsBuilder()
    builder.global_table("names", "all-names", key=TEXT, value=TEXT)
    builder.stream("in", key=TEXT, value=TEXT).group_by_key().count("counts")
    with TopologyTestDriver(builder.build()) as driver:
        assert driver.dropped_records == 0
        driver.input_topic("in", TEXT, TEXT).pipe_key_values([(None, "v"), ("k", None), ("k", "v")])
        assert driver.dropped_records == 2
        assert "dropped-records-total" in {name.name for name in driver.metrics()}


class Ticks(Processor[Any, Any, str, str]):
    def init(self, context: Any) -> None:
        super().init(context)
        context.schedule(timedelta(seconds=10), PunctuationType.WALL_CLOCK_TIME, self.tick)

    def process(self, record: Record[Any, Any]) -> None:
        self.context.get_state_store("any").put(record.key, record.value)

    def tick(self, timestamp: int) -> None:
        self.context.forward(Record("tick", str(timestamp), timestamp))


def test_the_wall_clock_stands_still_until_it_is_advanced() -> None:
    builder = StreamsBuilder()
    store = stores.key_value("any", key=TEXT, value=TEXT)
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.process(Ticks, store).to("out", key=TEXT, value=TEXT)
    with TopologyTestDriver(builder.build(), wall_clock_start_ms=0) as driver:
        out = driver.output_topic("out", TEXT, TEXT)
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", 1_000_000)
        assert out.is_empty
        driver.advance_wall_clock_time(timedelta(seconds=25))
        assert out.read_values() == ["25000"]
        driver.advance_wall_clock_time(timedelta(seconds=5))
        assert out.read_values() == ["30000"]


def test_all_output_in_its_order() -> None:
    with TopologyTestDriver(counting_by_value(), {"application.id": "app"}) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", 3)
        assert [(record.topic, record.key) for record in driver.take_output()] == [
            ("app-by-value-repartition", b"v"),
            ("app-counts-changelog", b"v"),
            ("out", b"v"),
        ]
        assert driver.take_output() == []
        assert driver.next_output("nowhere") is None
