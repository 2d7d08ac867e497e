"""What a user sees when something fails, and what the handlers can do."""

from __future__ import annotations

import traceback
from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    FlushError,
    HandlerError,
    ProcessingError,
    Processor,
    ProducerRecord,
    PunctuationType,
    Record,
    Serde,
    SerializationError,
    StreamsBuilder,
    StreamsError,
    Topology,
    handlers,
    serdes,
    stores,
)
from headrace.core.handlers import ErrorContext, Response, Stage
from headrace.runtime.stores import (
    InMemoryOrderedMap,
    InMemoryStorage,
    OrderedMap,
    StorageError,
)
from headrace.testing import TopologyTestDriver

TEXT = serdes.string()


def topology_with(function: Any) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.map_values(function, name="risky").to("out", key=TEXT, value=TEXT)
    return builder.build()


def explode(value: str) -> str:
    if value == "bad":
        raise ValueError("no good")
    return value


def pipe(driver: TopologyTestDriver, *values: str) -> list[str]:
    topic = driver.input_topic("in", TEXT, TEXT)
    for value in values:
        topic.pipe("k", value, 5)
    return driver.output_topic("out", TEXT, TEXT).read_values()


def test_a_users_error_names_operator_offset_and_key_with_their_traceback_first() -> None:
    driver = TopologyTestDriver(topology_with(explode))
    with pytest.raises(ProcessingError, match=r"risky failed at in-0@1, key 'k'") as caught:
        pipe(driver, "good", "bad")
    assert isinstance(caught.value.__cause__, ValueError)
    text = "".join(traceback.format_exception(caught.value))
    first_frame = text.splitlines()[1]
    assert "test_failures.py" in first_frame
    assert "explode" in first_frame


def test_continue_skips_the_record_and_counts_it() -> None:
    config = {"processing.exception.handler": handlers.log_and_continue}
    with TopologyTestDriver(topology_with(explode), config) as driver:
        assert pipe(driver, "good", "bad", "fine") == ["good", "fine"]
        assert driver.dropped_records == 1


def test_continue_abandons_only_the_failing_branch() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.map_values(str.upper).to("before", key=TEXT, value=TEXT)
    stream.map_values(explode).to("out", key=TEXT, value=TEXT)
    stream.map_values(str.title).to("after", key=TEXT, value=TEXT)
    config = {"processing.exception.handler": handlers.log_and_continue}
    with TopologyTestDriver(builder.build(), config) as driver:
        assert pipe(driver, "bad") == []
        assert driver.output_topic("before", TEXT, TEXT).read_values() == ["BAD"]
        assert driver.output_topic("after", TEXT, TEXT).read_values() == ["Bad"]


def test_dead_letters_have_the_input_record() -> None:
    config = {
        "processing.exception.handler": handlers.log_and_continue,
        "errors.dead.letter.queue.topic.name": "dead",
    }
    with TopologyTestDriver(topology_with(explode), config) as driver:
        pipe(driver, "bad")
        letter = driver.output_topic("dead", TEXT, TEXT).read_record()
    assert (letter.key, letter.value, letter.timestamp) == ("k", "bad", 5)
    assert letter.headers.last("__streams.errors.message") == b"no good"
    assert letter.headers.last("__streams.errors.offset") == b"0"


def test_dead_letters_have_it_even_if_it_was_sent_elsewhere_before() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.to("copy", key=TEXT, value=TEXT)
    stream.map_values(explode).to("out", key=TEXT, value=TEXT)
    config = {
        "processing.exception.handler": handlers.log_and_continue,
        "errors.dead.letter.queue.topic.name": "dead",
    }
    with TopologyTestDriver(builder.build(), config) as driver:
        pipe(driver, "bad")
        assert driver.output_topic("dead", TEXT, TEXT).read_key_value() == ("k", "bad")


def test_a_handler_of_ones_own_sees_record_and_place() -> None:
    seen: list[tuple[ErrorContext, Any, Exception]] = []

    def handler(context: ErrorContext, record: Any, error: Exception) -> Response:
        seen.append((context, record, error))
        return Response.resume(context.dead_letters(error, "mine"))

    config = {"processing.exception.handler": handler}
    with TopologyTestDriver(topology_with(explode), config) as driver:
        pipe(driver, "bad")
        assert driver.produced_topic_names() == {"mine"}
    ((context, record, error),) = seen
    assert (context.stage, context.node, context.topic, context.offset) == (
        Stage.PROCESS,
        "risky",
        "in",
        0,
    )
    assert record == Record("k", "bad", 5)
    assert str(error) == "no good"


@pytest.mark.parametrize("result", [None, "raise"])
def test_a_broken_handler_is_named_as_such(result: Any) -> None:
    def handler(context: ErrorContext, record: Any, error: Exception) -> Any:
        if result == "raise":
            raise RuntimeError("handler bug")
        return result

    driver = TopologyTestDriver(topology_with(explode), {"processing.exception.handler": handler})
    with pytest.raises(HandlerError, match="processing exception handler itself failed"):
        pipe(driver, "bad")


def test_bytes_that_cant_be_read() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.long(), value=serdes.json()).to("out")
    driver = TopologyTestDriver(
        builder.build(), {"default.key.serde": serdes.long(), "default.value.serde": serdes.json()}
    )
    with pytest.raises(SerializationError, match=r"deserialize the key.*at in-0@0 \(source KST"):
        driver.pipe("in", b"short", b"{}", 0)
    with pytest.raises(SerializationError, match=r"deserialize the value.*in-0@1"):
        driver.pipe("in", None, b"{", 0)


def test_bytes_that_cant_be_read_are_skipped_if_so_configured() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=serdes.long()).to("out", key=TEXT, value=serdes.long())
    config = {
        "deserialization.exception.handler": handlers.log_and_continue,
        "errors.dead.letter.queue.topic.name": "dead",
    }
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.pipe("in", b"k", b"not a long", 3)
        driver.pipe("in", b"k", bytes(8), 4)
        assert driver.output_topic("out", TEXT, serdes.long()).read_values() == [0]
        assert driver.output_topic("dead", TEXT, TEXT).read_value() == "not a long"


def unwritable(value: Any) -> bytes:
    raise ValueError("won't write")


def sink_topology(value: Serde[Any]) -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).to("out", key=TEXT, value=value, name="the-sink")
    return builder.build()


def test_a_value_that_cant_be_written() -> None:
    driver = TopologyTestDriver(sink_topology(Serde(unwritable, bytes.decode)))
    with pytest.raises(SerializationError, match=r"serialize the value for topic out.*the-sink"):
        pipe(driver, "x")


def test_a_value_that_cant_be_written_is_skipped_if_so_configured() -> None:
    config = {"production.exception.handler": handlers.log_and_continue}
    with TopologyTestDriver(sink_topology(Serde(unwritable, bytes.decode)), config) as driver:
        assert pipe(driver, "x") == []
        assert driver.dropped_records == 1


def test_a_serde_of_the_wrong_type_fails_whatever_the_handler_says() -> None:
    config = {"production.exception.handler": handlers.log_and_continue}
    driver = TopologyTestDriver(sink_topology(Serde(bytes.__bytes__, bytes.decode)), config)
    with pytest.raises(StreamsError, match=r"doesn't take a str.*Give the sink the right serde"):
        pipe(driver, "x")


class Failing(Processor[str, str, str, str]):
    def __init__(self, message: str = "tick") -> None:
        self.message = message

    def init(self, context: Any) -> None:
        super().init(context)
        if self.message == "init":
            raise RuntimeError("not today")
        context.schedule(timedelta(seconds=1), PunctuationType.WALL_CLOCK_TIME, self.tick)

    def process(self, record: Record[str, str]) -> None:
        pass

    def tick(self, timestamp: int) -> None:
        if self.message == "forward":
            self.context.forward(Record("k", "bad", timestamp))
        raise RuntimeError("tick failed")


def processor_topology(message: str) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.process(lambda: Failing(message), name="clock").map_values(explode, name="risky").to(
        "out", key=TEXT, value=TEXT
    )
    return builder.build()


def test_a_failing_punctuation() -> None:
    driver = TopologyTestDriver(processor_topology("tick"))
    with pytest.raises(ProcessingError, match="clock failed at a punctuation") as caught:
        driver.advance_wall_clock_time(timedelta(seconds=1))
    assert str(caught.value.__cause__) == "tick failed"


def test_a_punctuation_whose_record_fails_further_down() -> None:
    driver = TopologyTestDriver(processor_topology("forward"))
    with pytest.raises(ProcessingError, match="risky failed at a punctuation, key 'k'"):
        driver.advance_wall_clock_time(timedelta(seconds=1))


def test_a_failing_punctuation_is_skipped_if_so_configured() -> None:
    config = {"processing.exception.handler": handlers.log_and_continue}
    with TopologyTestDriver(processor_topology("tick"), config) as driver:
        driver.advance_wall_clock_time(timedelta(seconds=1))
        assert driver.dropped_records == 1


class BrokenMap(InMemoryOrderedMap):
    """Can't be read."""

    def __init__(self) -> None:
        super().__init__()
        self.get = self._fail

    def _fail(self, *_: Any) -> Any:
        raise StorageError("Page 7 is gone")


class BrokenStorage(InMemoryStorage):
    def map(self, name: str) -> OrderedMap:
        return BrokenMap()


class Reading(Processor[Any, Any, Any, Any]):
    """Reads a store at every record and punctuation."""

    def init(self, context: Any) -> None:
        self.store = context.get_state_store("store")
        context.schedule(
            timedelta(seconds=1), PunctuationType.WALL_CLOCK_TIME, lambda _: self.store.get("k")
        )

    def process(self, record: Any) -> None:
        self.store.get(record.key)


def test_state_that_cant_be_read_fails_whatever_the_handler_says(monkeypatch: Any) -> None:
    monkeypatch.setattr("headrace.runtime.task.InMemoryStorage", BrokenStorage)
    builder = StreamsBuilder()
    store = stores.key_value("store", key=TEXT, value=TEXT)
    builder.stream("in", key=TEXT, value=TEXT).process(Reading, store)
    driver = TopologyTestDriver(
        builder.build(), {"processing.exception.handler": handlers.log_and_continue}
    )
    with pytest.raises(StorageError, match="Page 7 is gone"):
        pipe(driver, "v")
    with pytest.raises(StorageError, match="Page 7 is gone"):
        driver.advance_wall_clock_time(timedelta(seconds=1))


def test_a_processor_that_cant_be_initialized() -> None:
    with pytest.raises(StreamsError, match=r"clock could not be initialized: RuntimeError"):
        TopologyTestDriver(processor_topology("init"))


def test_an_error_while_a_cache_is_flushed() -> None:
    builder = StreamsBuilder()
    counts = builder.stream("in", key=TEXT, value=TEXT).group_by_key().count("counts")
    counts.to_stream().map_values(lambda count: 1 // (count - 1), name="risky").to(
        "out", key=TEXT, value=serdes.long()
    )
    driver = TopologyTestDriver(
        builder.build(), {"default.key.serde": TEXT, "default.value.serde": TEXT}
    )
    with pytest.raises(FlushError, match=r"risky failed at in-0@0, key 'k'"):
        pipe(driver, "x")


class KeepsGood(Processor[Any, Any, Any, Any]):
    """Of a global store: keeps what isn't bad."""

    def process(self, record: Record[Any, Any]) -> None:
        if record.value == "bad":
            raise ValueError("no good")
        self.context.get_state_store("global").put(record.key, record.value)


def global_driver(settings: dict[str, Any]) -> TopologyTestDriver:
    topology = Topology()
    store = stores.key_value("global", key=TEXT, value=TEXT, logging=False)
    topology.add_global_store(store, "source", "in", "keeps", KeepsGood, key=TEXT, value=TEXT)
    return TopologyTestDriver(topology, settings)


@pytest.mark.parametrize("enabled", [{}, {"processing.exception.handler.global.enabled": "false"}])
def test_an_error_of_a_global_processor_comes_out_as_it_is(enabled: dict[str, Any]) -> None:
    driver = global_driver({"processing.exception.handler": "log_and_continue", **enabled})
    with pytest.raises(ValueError, match="no good"):
        driver.input_topic("in", TEXT, TEXT).pipe("k", "bad", 1)


def test_the_handler_is_asked_for_global_processors_if_that_is_enabled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked: list[ErrorContext] = []

    def handler(context: ErrorContext, record: Any, error: Exception) -> Response:
        asked.append(context)
        letter = ProducerRecord("dead", None, context.raw_key, context.raw_value, 5)
        return Response.resume([letter])

    driver = global_driver(
        {
            "processing.exception.handler": handler,
            "processing.exception.handler.global.enabled": True,
        }
    )
    topic = driver.input_topic("in", TEXT, TEXT)
    topic.pipe("a", "good", 1)
    topic.pipe("b", "bad", 2)
    topic.pipe("c", "good", 3)
    assert dict(driver.stores()["global"].all()) == {"a": "good", "c": "good"}
    assert [(each.node, each.topic, each.offset) for each in asked] == [("keeps", "in", 1)]
    assert asked[0].raw_value == b"bad"
    # A global store has no producer.
    assert "a dead letter for dead is dropped" in caplog.text
    assert driver.output_topic("dead", TEXT, TEXT).is_empty


def test_a_global_processor_fails_if_the_handler_says_so() -> None:
    driver = global_driver(
        {
            "processing.exception.handler": "log_and_fail",
            "processing.exception.handler.global.enabled": True,
        }
    )
    with pytest.raises(ValueError, match="no good"):
        driver.input_topic("in", TEXT, TEXT).pipe("k", "bad", 1)


def test_a_timestamp_extractor_that_fails() -> None:
    builder = StreamsBuilder()
    builder.stream(
        "in", key=TEXT, value=TEXT, timestamp_extractor=lambda record, time: 1 // 0, name="src"
    ).to("out", key=TEXT, value=TEXT)
    driver = TopologyTestDriver(builder.build())
    with pytest.raises(StreamsError, match=r"timestamp extractor of source src failed at in-0@0"):
        pipe(driver, "x")


def test_a_missing_serde_says_where_to_set_it() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, name="src").foreach(print)
    with pytest.raises(StreamsError, match=r"src can't start.*default\.value\.serde"):
        TopologyTestDriver(builder.build())
