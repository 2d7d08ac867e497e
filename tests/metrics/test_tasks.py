"""What tasks record, seen through the test driver."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    BufferConfig,
    Materialized,
    Processor,
    PunctuationType,
    Record,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    serdes,
    stores,
)
from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import TaskId, TopicPartition
from headrace.metrics.catalogue import SENSORS
from headrace.metrics.level import RecordingLevel
from headrace.metrics.name import MetricName, MetricValue
from headrace.runtime.columns import Columns
from headrace.runtime.task import StreamTask, TaskSpec
from headrace.testing import TopologyTestDriver

TEXT = serdes.string()
NOW = 1_000_000


def driver(topology: Topology, level: str = "INFO", **settings: Any) -> TopologyTestDriver:
    config = {"metrics.recording.level": level, **settings}
    return TopologyTestDriver(topology, config, wall_clock_start_ms=NOW)


def value(metrics: dict[MetricName, MetricValue], name: str, **tags: str) -> MetricValue | None:
    wanted = {(key.replace("_", "-"), text) for key, text in tags.items()}
    found = [v for key, v in metrics.items() if key.name == name and wanted <= {*key.tags}]
    assert len(found) < 2, f"{name}: {len(found)} of them"
    return found[0] if found else None


def counting(caching: bool = False) -> Topology:
    builder = StreamsBuilder()
    counts = Materialized[Any, Any]("counts", caching=caching)
    stream = builder.stream("in", key=TEXT, value=TEXT, name="source")
    table = stream.group_by_key().count(counts)
    table.to_stream().to("out", key=TEXT, value=serdes.long(), name="sink")
    return builder.build()


def test_what_info_records() -> None:
    with driver(counting()) as run:
        topic = run.input_topic("in", TEXT, TEXT)
        topic.pipe("ann", "1", NOW - 50)
        topic.pipe("bob", "22", NOW - 10)
        topic.pipe(None, "x", NOW)
        found = run.metrics()
    assert value(found, "dropped-records-total", task_id="0_0") == 1
    source = {"processor_node_id": "source"}
    assert [
        value(found, f"record-e2e-latency-{stat}", **source) for stat in ("min", "avg", "max")
    ] == [0, 20, 50]
    sink = {"processor_node_id": "sink"}
    assert value(found, "record-e2e-latency-max", **sink) == 50
    assert value(found, "records-consumed-total", topic="in", **source) == 3
    fixed = 8 + 8 + 4 + len("in")
    assert value(found, "bytes-consumed-total", topic="in") == 3 * fixed + 4 + 5 + 1
    assert value(found, "records-produced-total", topic="out", **sink) == 2
    assert value(found, "bytes-produced-total", topic="out") == 2 * (8 + 4 + 3 + 3 + 8)


def test_info_records_nothing_that_is_debug() -> None:
    with driver(counting(caching=True)) as run:
        run.input_topic("in", TEXT, TEXT).pipe("ann", "1", NOW)
        names = {(name.name, name.group) for name in run.metrics()}
    debug = {
        (metric.name, sensor.scope.group)
        for sensor in SENSORS.values()
        if sensor.level > RecordingLevel.INFO
        for metric in sensor.metrics
    }
    assert names
    assert not names & debug


def test_what_debug_adds() -> None:
    with driver(counting(caching=True), "DEBUG") as run:
        topic = run.input_topic("in", TEXT, TEXT)
        for age in (0, 5):
            topic.pipe("ann", "1", NOW - age)
        found = run.metrics()
    store = {"rocksdb_state_id": "counts"}
    assert value(found, "process-total", task_id="0_0", processor_node_id="source") == 2
    assert value(found, "record-lateness-max") == 5
    assert value(found, "put-latency-avg", **store) == 0  # the clock of the driver stands still
    rate = value(found, "put-rate", **store)
    assert isinstance(rate, float)
    assert rate * 30 == pytest.approx(2)
    assert value(found, "flush-rate", **store) == value(found, "commit-rate", **store) != 0
    assert value(found, "hit-ratio-avg", record_cache_id="counts") == 0.5
    size = value(found, "cache-size-bytes-total")
    assert isinstance(size, int)
    assert size > 0
    assert value(found, "record-e2e-latency-avg", **store) is None


def test_what_trace_adds() -> None:
    with driver(counting(), "TRACE") as run:
        run.input_topic("in", TEXT, TEXT).pipe("ann", "1", NOW - 7)
        found = run.metrics()
    assert value(found, "record-e2e-latency-max", rocksdb_state_id="counts") == 7


class Scanning(Processor[str, str, str, str]):
    """Uses its store in many ways, and forgets an iterator in the middle."""

    def init(self, context: Any) -> None:
        super().init(context)
        self.store = context.get_state_store("s")
        context.schedule(timedelta(seconds=1), PunctuationType.WALL_CLOCK_TIME, lambda now: None)

    def process(self, record: Record[str, str]) -> None:
        store = self.store
        store.put(record.key, record.value)
        store.put_if_absent("other", "x")
        store.put_all([("a", "1"), ("b", "2")])
        assert len(list(store.all())) == 4
        assert len(list(store.range("a", "b"))) == 2
        assert next(store.prefix_scan("a", TEXT)) == ("a", "1")
        assert store.get("a") == "1"
        store.delete("a")


def test_operations_of_a_store() -> None:
    builder = StreamsBuilder()
    store = stores.key_value("s", key=TEXT, value=TEXT)
    builder.stream("in", key=TEXT, value=TEXT).process(Scanning, store, name="scanning")
    with driver(builder.build(), "DEBUG") as run:
        run.input_topic("in", TEXT, TEXT).pipe("k", "v", NOW - 3)
        run.advance_wall_clock_time(timedelta(seconds=1))
        found = run.metrics()
    operations = ("put", "put-if-absent", "put-all", "all", "range", "prefix-scan", "get", "delete")
    for operation in operations:
        rate = value(found, f"{operation}-rate", rocksdb_state_id="s")
        assert isinstance(rate, float), operation
        assert rate * 30 == pytest.approx(1), operation
    assert value(found, "num-open-iterators", rocksdb_state_id="s") == 0
    assert value(found, "oldest-iterator-open-since-ms", rocksdb_state_id="s") == 0
    assert value(found, "iterator-duration-max", rocksdb_state_id="s") == 0
    assert value(found, "punctuate-total", task_id="0_0") == 1
    # Measured where it ends, at DEBUG; after the second has passed.
    assert value(found, "record-e2e-latency-max", processor_node_id="scanning") == 1003


class Forgetful(Processor[str, str, str, str]):
    """Never ends the iterators that it begins."""

    def init(self, context: Any) -> None:
        super().init(context)
        self.store = context.get_state_store("s")
        self.begun: list[Any] = []

    def process(self, record: Record[str, str]) -> None:
        self.store.put(record.key, record.value)
        self.begun.append(self.store.all())
        next(self.begun[-1])


def test_iterators_that_are_left_open() -> None:
    builder = StreamsBuilder()
    store = stores.key_value("s", key=TEXT, value=TEXT)
    builder.stream("in", key=TEXT, value=TEXT).process(Forgetful, store)
    with driver(builder.build(), "DEBUG") as run:
        topic = run.input_topic("in", TEXT, TEXT)
        topic.pipe("a", "v")
        run.advance_wall_clock_time(timedelta(seconds=1))
        topic.pipe("b", "v")
        found = run.metrics()
    assert value(found, "num-open-iterators", rocksdb_state_id="s") == 2
    assert value(found, "oldest-iterator-open-since-ms", rocksdb_state_id="s") == NOW


def test_records_that_were_not_waited_with() -> None:
    builder = StreamsBuilder()
    table = builder.table("table", key=TEXT, value=TEXT)
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.left_join(table, lambda left, right: left).to("out", key=TEXT, value=TEXT)
    with driver(builder.build(), "DEBUG", **{"max.task.idle.ms": 10}) as run:
        run.input_topic("in", TEXT, TEXT).pipe("a", "v")
        assert value(run.metrics(), "enforced-processing-total") == 0
        run.advance_wall_clock_time(timedelta(milliseconds=10))
        assert value(run.metrics(), "enforced-processing-total") == 1


def test_operators_that_hold_back() -> None:
    builder = StreamsBuilder()
    minute = timedelta(minutes=1)
    counts = (
        builder.stream("in", key=TEXT, value=TEXT)
        .group_by_key()
        .windowed_by(TimeWindows.of_size(minute))
        .count("counts")
    )
    limit = Suppressed.until_time_limit(minute, BufferConfig.unbounded(), name="suppressed")
    counts.suppress(limit).to_stream().foreach(lambda key, count: None)
    with driver(builder.build(), "DEBUG") as run:
        topic = run.input_topic("in", TEXT, TEXT)
        topic.pipe("ann", "1", 0)
        topic.pipe("bob", "1", 60_000)
        found = run.metrics()
    assert value(found, "suppression-emit-total", processor_node_id="suppressed") == 1
    (held,) = (v for name, v in found.items() if name.name == "suppression-buffer-count-max")
    assert held == 1


def terminal() -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT, name="source")
    stream.filter(lambda key, text: key == "ann").foreach(lambda key, text: None, name="end")
    return builder.build()


@pytest.mark.parametrize(("level", "at_the_end"), [("INFO", 9), ("DEBUG", 4)])
def test_terminal_nodes_are_exact_at_debug_only(level: str, at_the_end: int) -> None:
    with driver(terminal(), level) as run:
        topic = run.input_topic("in", TEXT, TEXT)
        topic.pipe("ann", "1", NOW - 4)
        topic.pipe("bob", "1", NOW - 9)
        found = run.metrics()
    assert value(found, "record-e2e-latency-max", processor_node_id="end") == at_the_end


def task_of(topology: Topology) -> StreamTask:
    nodes = tuple(topology.nodes)
    config = StreamsConfig({"application.id": "app"})
    inputs = {TopicPartition("in", 0): nodes[0]}
    task = StreamTask(TaskSpec(TaskId(0, 0), topology, nodes, inputs, config), ManualClock(NOW))
    task.start()
    return task


def columns(count: int, first: int = 0) -> Columns:
    """Every other record has a value of 10 bytes, the others of 20; keys have 4."""
    numbers = range(first, first + count)
    values = [b"x" * (10 if number % 2 else 20) for number in numbers]
    return Columns(
        numbers, [NOW - number % 100 for number in numbers], [b"k%3d" % 1] * count, values
    )


def measured(task: StreamTask) -> dict[tuple[str, ...], Any]:
    return {(key, *tags): values for key, tags, values in task.take_measurements()}


def passing() -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT, name="source")
    stream.to("out", key=TEXT, value=TEXT, name="sink")
    return builder.build()


@pytest.mark.parametrize("chunk", [1, 7, 50_000])
def test_many_records_are_counted_exactly_and_weighed_by_a_sample(chunk: int) -> None:
    task, total = task_of(passing()), 50_000
    for first in range(0, total, chunk):
        task.process_columns(TopicPartition("in", 0), columns(min(chunk, total - first), first))
    outbox, counts = task.take_outbox()
    assert (len(outbox), counts) == (total, {"out": total})
    found = measured(task)
    assert found["topic.records-consumed", "source", "in"] == (total,)
    assert found["topic.records-produced", "sink", "out"] == (total,)
    read, sent = 8 + 8 + 4 + 2 + 4 + 15, 8 + 4 + 3 + 4 + 15
    assert found["topic.bytes-consumed", "source", "in"][0] == pytest.approx(total * read, rel=0.01)
    assert found["topic.bytes-produced", "sink", "out"][0] == pytest.approx(total * sent, rel=0.01)
    for node in ("source", "sink"):
        count, ages, low, high = found["processor_node.record-e2e-latency", node]
        assert total / 127 <= count < total / 40
        assert (low, high) == (0, 99)
        assert ages / count == pytest.approx(49.5, abs=1)


def test_measurements_are_what_is_new() -> None:
    task = task_of(passing())
    task.process_columns(TopicPartition("in", 0), columns(3))
    assert measured(task)["topic.records-consumed", "source", "in"] == (3,)
    task.process_columns(TopicPartition("in", 0), columns(2, 3))
    assert measured(task)["topic.records-consumed", "source", "in"] == (2,)
    assert ("topic.records-consumed", "source", "in") not in measured(task)


def test_topics_that_a_sink_chooses() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.group_by_key().count("counts")
    stream.to(lambda key, text, context: f"to-{text}", key=TEXT, value=TEXT, name="sink")
    with driver(builder.build()) as run:
        topic = run.input_topic("in", TEXT, TEXT)
        for text in ("a", "b", "a"):
            topic.pipe("k", text, NOW)
        found = run.metrics()
    produced = {
        name.tag("topic"): total
        for name, total in found.items()
        if name.name == "records-produced-total"
    }
    assert produced == {"to-a": 2, "to-b": 1}  # and not the changelog


def test_an_extractor_says_how_old_records_are() -> None:
    builder = StreamsBuilder()
    builder.stream(
        "in", key=TEXT, value=TEXT, timestamp_extractor=lambda record, _: NOW - 40, name="source"
    )
    task = task_of(builder.build())
    task.process_columns(TopicPartition("in", 0), columns(5))
    _, _, low, high = measured(task)["processor_node.record-e2e-latency", "source"]
    assert (low, high) == (40, 40)
