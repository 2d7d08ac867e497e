"""What a processor can do with its context."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    ArgumentError,
    FixedKeyProcessor,
    FixedKeyRecord,
    Headers,
    Processor,
    PunctuationType,
    Record,
    StateError,
    StreamsBuilder,
    StreamsError,
    TaskId,
    ValueTransformer,
    serdes,
    stores,
)
from headrace.core.record import RecordMetadata
from headrace.testing import TopologyTestDriver

TEXT = serdes.string()
STORE = stores.key_value("store", key=TEXT, value=TEXT)


class Calls(Processor[str, str, str, str]):
    """Calls a function with its context and each record."""

    def __init__(self, function: Callable[[Any, Record[str, str]], None]) -> None:
        self.function = function

    def process(self, record: Record[str, str]) -> None:
        self.function(self.context, record)


def run(function: Callable[[Any, Record[str, str]], None], *store: Any) -> TopologyTestDriver:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.process(lambda: Calls(function), *store, name="p").to(
        "out", key=TEXT, value=TEXT, name="sink"
    )
    config = {"default.key.serde": TEXT, "default.value.serde": TEXT, "application.id": "mine"}
    driver = TopologyTestDriver(builder.build(), config, wall_clock_start_ms=500)
    driver.input_topic("in", TEXT, TEXT).pipe("k", "v", 42)
    return driver


def test_what_a_context_knows() -> None:
    seen: dict[str, Any] = {}

    def look(context: Any, record: Any) -> None:
        for name in (
            "application_id",
            "task_id",
            "key_serde",
            "value_serde",
            "record_metadata",
            "timestamp",
            "current_stream_time_ms",
            "current_system_time_ms",
        ):
            seen[name] = getattr(context, name)
        seen["setting"] = context.config["max.task.idle.ms"]

    run(look)
    assert seen == {
        "application_id": "mine",
        "task_id": TaskId(0, 0),
        "key_serde": TEXT,
        "value_serde": TEXT,
        "record_metadata": RecordMetadata("in", 0, 0),
        "timestamp": 42,
        "current_stream_time_ms": 42,
        "current_system_time_ms": 500,
        "setting": 0,
    }


def test_forward_to_a_named_child() -> None:
    driver = run(lambda context, record: context.forward(record.with_value("x"), "sink"))
    assert driver.output_topic("out", TEXT, TEXT).read_values() == ["x"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda context, record: context.forward(record, "nobody"),
            StreamsError,
            "p has no child 'nobody'.*Its children are: sink",
        ),
        (
            lambda context, record: context.get_state_store("nope"),
            StreamsError,
            "no access to store 'nope'.*Connected are: store",
        ),
        (
            lambda context, record: context.schedule(
                timedelta(0), PunctuationType.STREAM_TIME, print
            ),
            ArgumentError,
            "at least 1 ms",
        ),
        (
            lambda context, record: context.schedule(
                timedelta(1), PunctuationType.STREAM_TIME, print, start_ms=-1
            ),
            ArgumentError,
            "before the epoch",
        ),
    ],
)
def test_wrong_calls_say_what_there_is(call: Any, error: Any, message: str) -> None:
    with pytest.raises(StreamsError) as caught:
        run(call, STORE)
    assert isinstance(caught.value.__cause__, error)
    assert re.search(message, str(caught.value.__cause__), re.DOTALL)


def test_anchored_punctuations() -> None:
    fired: list[int] = []

    class Anchored(Processor[str, str, str, str]):
        def init(self, context: Any) -> None:
            for start in (0, 30):
                context.schedule(
                    timedelta(milliseconds=20),
                    PunctuationType.WALL_CLOCK_TIME,
                    fired.append,
                    start_ms=start,
                )

    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).process(Anchored)
    with TopologyTestDriver(builder.build(), wall_clock_start_ms=25) as driver:
        for _ in range(5):  # at 30, 35, 40, 45, 50
            driver.advance_wall_clock_time(timedelta(milliseconds=5))
    assert fired == [30, 40, 50]


def test_global_stores_are_read_only_for_others() -> None:
    builder = StreamsBuilder()
    builder.global_table("table", "global", key=TEXT, value=TEXT)
    found: list[Any] = []

    def use(context: Any, record: Any) -> None:
        store = context.get_state_store("global")
        found.append(store.get("k"))
        store.put("k", None)

    builder.stream("in", key=TEXT, value=TEXT).process(lambda: Calls(use))
    driver = TopologyTestDriver(builder.build())
    driver.input_topic("table", TEXT, TEXT).pipe("k", "row", 7)
    with pytest.raises(StreamsError) as caught:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", 42)
    assert isinstance(caught.value.__cause__, StateError)
    assert "global is read-only" in str(caught.value.__cause__)
    assert found[0].value == "row"


def test_changed_headers_are_seen_by_siblings_but_not_beyond_a_copy() -> None:
    class Tag(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            record.headers.add("tag", b"x")

    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    copied = stream.map_values(str.upper)
    copied.process(Tag)
    copied.to("sibling", key=TEXT, value=TEXT)
    stream.to("beyond", key=TEXT, value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", 1, [("h", b"1")])
        sibling = driver.output_topic("sibling", TEXT, TEXT).read_record()
        beyond = driver.output_topic("beyond", TEXT, TEXT).read_record()
    assert sibling.headers == [("h", b"1"), ("tag", b"x")]
    assert beyond.headers == [("h", b"1")]


def test_a_fixed_key_processor_forwards_values() -> None:
    class Twice(FixedKeyProcessor[str, str, str]):
        def process(self, record: FixedKeyRecord[str, str]) -> None:
            self.context.forward(record.with_value(record.value * 2))
            self.context.forward(record.with_timestamp(9).with_headers([("h", b"2")]))

    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).process_values(Twice).to("out", key=TEXT, value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", 1)
        assert driver.output_topic("out", TEXT, TEXT).read_records() == [
            Record("k", "vv", 1),
            Record("k", "v", 9, Headers([("h", b"2")])),
        ]


def test_base_classes_ask_to_be_implemented() -> None:
    with pytest.raises(NotImplementedError):
        Processor[str, str, str, str]().process(Record("k", "v", 0))
    with pytest.raises(NotImplementedError):
        FixedKeyProcessor[str, str, str]().process(FixedKeyRecord("k", "v", 0))
    with pytest.raises(NotImplementedError):
        ValueTransformer[str, str, str]().transform("k", "v")
