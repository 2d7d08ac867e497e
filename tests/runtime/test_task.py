"""A task by itself: columns, positions, changelogs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    EmitStrategy,
    Materialized,
    ProcessingError,
    Processor,
    ProducerRecord,
    PunctuationType,
    Record,
    StateError,
    StreamsBuilder,
    TimeWindows,
    Topology,
    handlers,
    serdes,
    stores,
)
from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import ConsumerRecord, TaskId, TopicPartition, ValueAndTimestamp
from headrace.runtime.columns import Columns
from headrace.runtime.global_task import GlobalTask
from headrace.runtime.punctuation import NEVER
from headrace.runtime.stores import InMemoryStorage
from headrace.runtime.task import StreamTask, TaskSpec
from headrace.testing import TopologyTestDriver

TEXT = serdes.string()
IN = TopicPartition("in", 0)


def make(topology: Topology, **config: Any) -> StreamTask:
    nodes = tuple(topology.nodes)
    settings = StreamsConfig({"application.id": "app", **config})
    spec = TaskSpec(TaskId(0, 0), topology, nodes, {IN: nodes[0]}, settings)
    task = StreamTask(spec, ManualClock(0))
    task.start()
    return task


def copy_topology(**source: Any) -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT, **source).map_values(_checked, name="check").to(
        "out", key=TEXT, value=TEXT
    )
    return builder.build()


def _checked(value: str) -> str:
    if value == "bad":
        raise ValueError("bad value")
    return value.upper()


def sent(task: StreamTask) -> list[ProducerRecord]:
    return [ProducerRecord(*record) for record in task.outbox]


def columns(*rows: tuple[int, bytes | None, bytes | None]) -> Columns:
    """(timestamp, key, value) at offsets from 10 on."""
    return Columns(
        range(10, 10 + len(rows)),
        [row[0] for row in rows],
        [row[1] for row in rows],
        [row[2] for row in rows],
    )


def test_columns_and_single_records_give_the_same() -> None:
    by_column, one_by_one = make(copy_topology()), make(copy_topology())
    by_column.process_columns(
        IN,
        Columns(
            [10, 11, 12, 13],
            [5, 3, 7, 8],
            [b"a", None, b"b", b"c"],
            [b"x", b"y", b"w", b"z"],
            [[("h", b"1")], (), (), ()],
        ),
    )
    one_by_one.add_records(
        IN,
        [
            ConsumerRecord("in", 0, 10, 5, b"a", b"x", [("h", b"1")]),
            ConsumerRecord("in", 0, 11, 3, None, b"y"),
            ConsumerRecord("in", 0, 12, 7, b"b", b"w"),
            ConsumerRecord("in", 0, 13, 8, b"c", b"z"),
        ],
    )
    while one_by_one.is_processable():
        one_by_one.process_next()
    assert sent(by_column) == sent(one_by_one)
    assert by_column.positions == one_by_one.positions == {IN: 14}
    assert by_column.partition_time(IN) == one_by_one.partition_time(IN) == 8
    assert by_column.context.stream_time == 8
    by_column.take_measurements()
    assert by_column.metrics.processed.total == one_by_one.metrics.processed.total == 4


def test_columns_skip_what_a_handler_skips() -> None:
    task = make(
        copy_topology(timestamp_extractor=lambda record, time: int(record.value or -1)),
        **{"deserialization.exception.handler": handlers.log_and_continue},
    )
    task.process_columns(IN, columns((0, b"a", b"17"), (0, b"a", b"-3"), (0, b"b", b"4")))
    assert [(r.value, r.timestamp) for r in sent(task)] == [(b"17", 17), (b"4", 4)]
    assert task.metrics.dropped_records.total == 1
    assert task.positions == {IN: 13}


def test_columns_report_an_error_like_single_records() -> None:
    task = make(copy_topology())
    with pytest.raises(ProcessingError, match=r"check failed at in-0@11, key 'b'"):
        task.process_columns(IN, columns((1, b"a", b"x"), (2, b"b", b"bad"), (3, b"c", b"y")))
    assert task.positions == {IN: 11}
    assert len(task.outbox) == 1


def test_columns_cant_overtake_the_queue() -> None:
    task = make(copy_topology())
    task.add_records(IN, [ConsumerRecord("in", 0, 0, 0, b"k", b"v")])
    with pytest.raises(StateError, match="queued"):
        task.process_columns(IN, columns((1, b"a", b"x")))


class Ticker(Processor[str, str, str, str]):
    def init(self, context: Any) -> None:
        super().init(context)
        context.schedule(timedelta(milliseconds=10), PunctuationType.STREAM_TIME, self.tick)

    def tick(self, timestamp: int) -> None:
        self.context.forward(Record("tick", str(timestamp), timestamp))

    def process(self, record: Record[str, str]) -> None:
        self.context.commit()
        self.context.forward(record)


def ticking() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).process(Ticker).to("out", key=TEXT, value=TEXT)
    return builder.build()


def test_stream_time_punctuations_run_within_columns() -> None:
    task = make(ticking())
    assert task.next_wall_clock_punctuation == NEVER
    task.process_columns(
        IN, columns((1, b"a", b"x"), (5, b"a", b"y"), (12, b"a", b"z"), (40, b"a", b"w"))
    )
    assert [(r.key, r.value) for r in sent(task)] == [
        (b"a", b"x"),
        (b"tick", b"1"),
        (b"a", b"y"),
        (b"a", b"z"),
        (b"tick", b"12"),
        (b"a", b"w"),
        (b"tick", b"40"),
    ]
    assert task.context.commit_requested
    task.commit()
    assert not task.context.commit_requested


def counting(**options: Any) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.group_by_key().count(Materialized("counts", **options))
    return builder.build()


def test_a_commit_flushes_the_cache_once_for_each_key() -> None:
    task = make(counting())
    task.process_columns(IN, columns((1, b"a", b"x"), (2, b"a", b"y"), (3, b"b", b"z")))
    assert task.outbox == []
    task.commit()
    assert [(r.topic, r.key, r.value, r.timestamp, r.partition) for r in sent(task)] == [
        ("app-counts-changelog", b"a", (2).to_bytes(8), 2, 0),
        ("app-counts-changelog", b"b", (1).to_bytes(8), 3, 0),
    ]


def test_what_is_only_counted_is_not_read_behind_a_repartition_topic() -> None:
    builder = StreamsBuilder()
    (
        builder.stream("in", key=TEXT, value=serdes.json())
        .group_by(lambda key, value: "all", key=TEXT, value=serdes.json())
        .count("counts")
    )
    topology = builder.build()
    _, counting_part = topology.subtopologies()
    (internal,) = topology.internal_topics
    part = TopicPartition(f"app-{internal}", 0)
    inputs = {part: counting_part.nodes[0]}
    config = StreamsConfig({"application.id": "app"})
    spec = TaskSpec(TaskId(1, 0), topology, tuple(counting_part.nodes), inputs, config)
    task = StreamTask(spec, ManualClock(0))
    task.start()
    task.process_columns(part, Columns([0, 1], [5, 6], [b"all"] * 2, [b"{}", b"no JSON"]))
    assert task.stores["counts"].get("all") == ValueAndTimestamp(2, 6)


def test_what_is_only_counted_must_be_json_in_other_topics() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=serdes.json()).group_by_key().count("counts")
    task = make(builder.build(), **{"deserialization.exception.handler": handlers.log_and_continue})
    task.process_columns(IN, columns((1, b"a", b'{"x":1}'), (2, b"a", b"{x}"), (3, b"a", b"null")))
    assert task.stores["counts"].get("a") == ValueAndTimestamp(1, 1)


def test_nor_is_null_counted_there() -> None:
    builder = StreamsBuilder()
    (
        builder.stream("in", key=TEXT, value=serdes.json())
        .map_values(lambda value: float("nan"))
        .group_by(lambda key, value: "all", key=TEXT, value=serdes.json())
        .count("counts")
    )
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", TEXT, serdes.json()).pipe("k", 1)
        # JSON has no NaN: it is written as null.
        assert driver.store("counts").get("all") is None
        assert driver.dropped_records == 1


def test_where_a_store_is_restored_from() -> None:
    assert make(counting()).changelog_topic("counts") == "app-counts-changelog"
    assert make(counting(logging=False)).changelog_topic("counts") is None
    builder = StreamsBuilder()
    builder.table("in", "rows", key=TEXT, value=TEXT)
    config = {"topology.optimization": "all"}
    assert make(builder.build(config), **config).changelog_topic("rows") == "in"


def test_a_task_goes_on_where_another_stopped() -> None:
    task = make(copy_topology())
    task.resume_at(IN, 100, 55)
    assert task.positions == {IN: 100}
    assert task.partition_time(IN) == task.context.stream_time == 55


def test_empty_inputs_are_waited_for_one_after_the_other() -> None:
    builder = StreamsBuilder()
    streams = [builder.stream(topic, key=TEXT, value=TEXT) for topic in ("a", "b", "c")]
    streams[0].merge(streams[1]).merge(streams[2]).to("out", key=TEXT, value=TEXT)
    driver = TopologyTestDriver(builder.build(), {"max.task.idle.ms": 10})
    output = driver.output_topic("out", TEXT, TEXT)
    driver.input_topic("a", TEXT, TEXT).pipe("k", "v", 1)
    driver.advance_wall_clock_time(timedelta(milliseconds=10))
    assert output.read_values() == []
    driver.advance_wall_clock_time(timedelta(milliseconds=10))
    assert output.read_values() == ["v"]


def test_closed_windows_without_timestamps_are_refused() -> None:
    second = timedelta(seconds=1)
    builder = StreamsBuilder()
    windowed = (
        builder.stream("in", key=TEXT, value=TEXT)
        .group_by_key()
        .windowed_by(TimeWindows.of_size(second))
        .emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    )
    plain = stores.window("plain", retention=10 * second, size=second)
    windowed.count(Materialized(supplier=plain))
    interval = "__emit.interval.ms.kstreams.windowed.aggregation__"
    task = make(builder.build(), **{"statestore.cache.max.bytes": 0, interval: 0})
    with pytest.raises(ProcessingError, match=r"Use a store that keeps timestamps"):
        task.process_columns(IN, columns((1, b"a", b"x"), (5000, b"a", b"y")))


def test_a_task_is_made_anew_from_storage_and_metadata() -> None:
    topology, storage = counting(), KeptStorage()
    spec = TaskSpec(
        TaskId(0, 0),
        topology,
        tuple(topology.nodes),
        {IN: next(iter(topology.nodes))},
        StreamsConfig({"application.id": "app"}),
    )
    first = StreamTask(spec, ManualClock(0), storage=storage)
    first.start()
    first.process_columns(IN, columns((1, b"a", b"x"), (2, b"a", b"y")))
    first.commit()
    storage.kept = first.facts()
    second = StreamTask(spec, ManualClock(0), storage=storage, metadata=first.metadata)
    second.resume_at(IN, 12, 2)
    second.start()
    second.process_columns(IN, columns((3, b"a", b"z")))
    second.commit()
    assert [(r.key, r.value) for r in sent(second)] == [(b"a", (3).to_bytes(8))]


class KeptStorage(InMemoryStorage):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, dict[str, int]] = {}

    def facts(self, store: str) -> Mapping[str, int]:
        return self.kept.get(store, {})


def test_global_stores_are_made_anew_from_storage() -> None:
    builder = StreamsBuilder()
    builder.global_table("in", "rows", key=TEXT, value=TEXT)
    topology, storage = builder.build(), KeptStorage()
    nodes = tuple(topology.nodes)
    config = StreamsConfig({"application.id": "app"})
    spec = TaskSpec(TaskId(-1, -1), topology, nodes, {IN: nodes[0]}, config)
    first = GlobalTask(spec, ManualClock(0), storage=storage)
    first.update(IN, [ConsumerRecord("in", 0, 7, 5, b"a", b"x")])
    assert first.positions == {IN: 8}
    assert first.facts() == {}
    second = GlobalTask(spec, ManualClock(0), storage=storage)
    assert list(second.stores["rows"].all()) == [("a", ValueAndTimestamp("x", 5))]
