"""What a beginner does wrong, and what the error says."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from headrace import (
    ArgumentError,
    ConfigError,
    HeadraceError,
    JoinWindows,
    KStream,
    Materialized,
    NullArgumentError,
    Processor,
    SerializationError,
    SessionWindows,
    StateError,
    StreamsBuilder,
    StreamsError,
    TimeWindows,
    TopologyError,
    serdes,
    stores,
    with_key,
)
from headrace.testing import TopologyTestDriver

TEXT, NUMBER = serdes.string(), serdes.long()
MINUTE = timedelta(minutes=1)
WITHIN = JoinWindows.of_time_difference(MINUTE)

Stream = Any
"""Mistakes are what a type checker would find, so nothing is typed here."""


def stream(builder: StreamsBuilder | None = None, topic: str = "in") -> Stream:
    return (builder or StreamsBuilder()).stream(topic, key=TEXT, value=TEXT)


class Nothing(Processor[str, str, str, str]):
    pass


def join(mistake: Callable[[Stream, Stream, Any, Any], Any]) -> Callable[[], Any]:
    """A mistake with two streams, a table and a global table of one builder."""

    def call() -> Any:
        builder = StreamsBuilder()
        table = builder.table("table", key=TEXT, value=TEXT)
        everywhere = builder.global_table("global", key=TEXT, value=TEXT)
        return mistake(stream(builder), stream(builder, "other"), table, everywhere)

    return call


def first(this: Any, other: Any) -> Any:
    return this


any_module: Any = serdes
any_windows: Any = TimeWindows
any_sessions: Any = SessionWindows
any_materialized: Any = Materialized
any_builder: Any = StreamsBuilder
any_driver: Any = TopologyTestDriver

AT_THE_CALL: dict[str, tuple[Callable[[], Any], str]] = {
    "a number as duration": (
        lambda: any_windows.of_size(5),
        "size must be a datetime.timedelta, not int 5",
    ),
    "a number as gap": (
        lambda: any_sessions.of_inactivity_gap(5),
        "The inactivity gap must be a datetime.timedelta",
    ),
    "a number as retention": (
        lambda: any_materialized("x", retention=5),
        "The retention must be a datetime.timedelta",
    ),
    "a window of nothing": (
        lambda: TimeWindows.of_size(timedelta(0)),
        "Window size must be larger than zero",
    ),
    "a duration as windows": (
        lambda: stream().group_by_key().windowed_by(MINUTE),
        "use TimeWindows, UnlimitedWindows",
    ),
    "key and value for map_values": (
        lambda: stream().map_values(lambda k, v: v),
        "The mapper is called with (value), but <lambda> takes (k, v): missing a required "
        "argument: 'v'. To get the key as well, wrap it: with_key(function).",
    ),
    "value alone for filter": (
        lambda: stream().filter(lambda v: v),
        "The predicate is called with (key, value), but <lambda> takes (v)",
    ),
    "with_key for filter": (
        lambda: stream().filter(with_key(lambda k, v: True)),
        "The predicate must be a function, not WithKey",
    ),
    "a value in place of a function": (
        lambda: stream().map_values("upper"),
        "The mapper must be a function, not str 'upper'",
    ),
    "an initial value in place of an initializer": (
        lambda: stream().group_by_key().aggregate([], lambda k, v, a: [*a, v]),
        "The initializer must be a function, not list []",
    ),
    "an aggregator without a key": (
        lambda: stream().group_by_key().aggregate(int, lambda v, a: a + 1),
        "The aggregator is called with (key, value, aggregate), but <lambda> takes (v, a)",
    ),
    "sessions without a merger": (
        lambda: (
            stream()
            .group_by_key()
            .windowed_by(SessionWindows.of_inactivity_gap(MINUTE))
            .aggregate(int, lambda k, v, a: a + 1, "store")
        ),
        "The merger must be a function, not str 'store'",
    ),
    "an emit strategy as text": (
        lambda: (
            stream()
            .group_by_key()
            .windowed_by(TimeWindows.of_size(MINUTE))
            .emit_strategy("ON_WINDOW_CLOSE")
        ),
        "Use EmitStrategy.ON_WINDOW_CLOSE",
    ),
    "merging a table": (
        join(lambda one, other, table, everywhere: one.merge(table)),
        "must be a KStream, not KTable <KTable KTABLE-SOURCE-0000000002>. A table is made a stream",
    ),
    "a table joined with a stream": (
        join(lambda one, other, table, everywhere: table.join(one, first)),
        "must be a KTable, not KStream",
    ),
    "an outer join with a table": (
        join(lambda one, other, table, everywhere: one.outer_join(table, first, WITHIN)),
        "must be a KStream, not KTable",
    ),
    "a join with a topic": (
        join(lambda one, other, table, everywhere: one.join("other", first)),
        "only with a KStream, a KTable or a GlobalKTable",
    ),
    "a join without windows": (
        join(lambda one, other, table, everywhere: one.join(other, first)),
        "JoinWindows.of_time_difference(…), can't be None",
    ),
    "a join by other windows": (
        join(lambda one, other, table, everywhere: one.join(other, first, MINUTE)),
        "Use JoinWindows.of_time_difference(…).",
    ),
    "windows for a table": (
        join(lambda one, other, table, everywhere: one.join(table, first, WITHIN)),
        "A join with a table takes no windows",
    ),
    "a global table without a key": (
        join(lambda one, other, table, everywhere: one.join(everywhere, first)),
        "The key_selector of a join with a global table can't be None",
    ),
    "streams of two builders": (lambda: stream().merge(stream()), "different StreamsBuilders"),
    "tables of two builders": (
        lambda: stream().to_table().join(stream().to_table(), first),
        "<KTable KSTREAM-TOTABLE-0000000001> and <KTable KSTREAM-TOTABLE-0000000001> come from "
        "different StreamsBuilders. Make both with the same.",
    ),
    "a processor instance": (
        lambda: stream().process(Nothing()),
        "Pass the class of the processor, or a function that makes one",
    ),
    "a function as processor": (
        lambda: stream().process(lambda record: None),
        "It is called without arguments: pass the class of the processor",
    ),
    "a supplier of nothing": (
        lambda: stream().process(lambda: None),
        "has no method process(record)",
    ),
    "a function as transformer": (
        lambda: stream().to_table().transform_values(lambda k, v: v),
        "The supplier is called with (), but <lambda> takes (k, v)",
    ),
    "a name that is no text": (
        lambda: stream().filter(first, name=5),
        "The name 5 can't be used: it is no text.",
    ),
    "a name with a space": (
        lambda: stream().filter(first, name="my filter"),
        "The name 'my filter' can't be used",
    ),
    "a spec as Materialized": (
        lambda: stream().group_by_key().count(stores.key_value("x")),
        "Give it as Materialized(supplier=…).",
    ),
    "a number as topic": (lambda: any_builder().stream(5), "A topic can't be int 5"),
    "a topic without a name": (lambda: StreamsBuilder().stream(""), "can't be empty"),
    "an offset reset as text": (
        lambda: any_builder().stream("a", offset_reset="earliest"),
        "Use AutoOffsetReset.earliest().",
    ),
    "a timestamp extractor of the record alone": (
        lambda: any_builder().table("a", timestamp_extractor=lambda record: 0),
        "The timestamp extractor is called with (record, partition_time)",
    ),
    "several topics for a table": (
        lambda: any_builder().table(["a", "b"]),
        "A topic can't be list ['a', 'b']",
    ),
    "a number as target": (lambda: stream().to(5), "A topic can't be int 5"),
    "a target of key and value": (
        lambda: stream().to(lambda k, v: "out"),
        "is called with (key, value, context)",
    ),
    "partitions as text": (
        lambda: stream().repartition(partitions="4"),
        "The number of partitions can't be str '4'",
    ),
    "a class as inner serde": (
        lambda: any_module.time_windowed(str, MINUTE),
        "must be a Serde, not type <class 'str'>. Use one of headrace.serdes",
    ),
    "a function as inner serde": (
        lambda: any_module.list_(serdes.string),
        "Call it: serdes.string().",
    ),
    "a value as JSON type": (lambda: any_module.json({"a": 1}), "can't decode into {'a': 1}"),
    "a builder for the driver": (
        lambda: any_driver(StreamsBuilder()),
        "Build it: builder.build().",
    ),
    "settings that are no dict": (
        lambda: any_driver(StreamsBuilder().build(), "app"),
        "Give a dict of settings.",
    ),
    "settings of a builder that are no dict": (
        lambda: any_builder("app"),
        "Settings are a dict of names and values, not 'app'",
    ),
    "a typo in a setting": (
        lambda: StreamsBuilder({"aplication.id": "x"}),
        "Unknown setting 'aplication.id'. Did you mean 'application.id'?",
    ),
    "a handler as text": (
        lambda: StreamsBuilder({"processing.exception.handler": "continue"}),
        "processing.exception.handler must be a function, but is 'continue'",
    ),
    "a default serde that wasn't called": (
        lambda: StreamsBuilder({"default.key.serde": serdes.string}),
        "default.key.serde must be a serde, such as serdes.string()",
    ),
    "no partitions": (
        lambda: TopologyTestDriver(StreamsBuilder().build(), partitions=0),
        "The partitions of every topic must be 1 or more, not 0",
    ),
}


@pytest.mark.parametrize(("mistake", "message"), AT_THE_CALL.values(), ids=AT_THE_CALL)
def test_a_mistake_is_shown_at_the_call(mistake: Callable[[], Any], message: str) -> None:
    with pytest.raises(HeadraceError, match=re.escape(message)) as raised:
        mistake()
    assert isinstance(raised.value, ArgumentError | TopologyError | ConfigError)


def test_functions_that_do_not_tell_their_arguments_pass() -> None:
    one = stream()
    one.map_values(str).map_values(len).flat_map_values(range)
    one.group_by_key().aggregate(dict, lambda *everything: everything[2])


def run(make: Callable[[KStream[str, str]], Any], value: Any = "v", topic: str = "in") -> Any:
    builder = StreamsBuilder()
    make(stream(builder))
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic(topic, TEXT, TEXT).pipe("k", value, timestamp=0)
        return driver.output_topic("out", TEXT, NUMBER).read_values()


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda s: s.map_values(len).to("out"),
            StreamsError,
            "Sink KSTREAM-SINK-0000000002 can't start: A value serde is needed, but none was given "
            "and default.value.serde is not set. An operation that changes the value forgets its "
            "serde: give the new one, as in to(…, value=serdes.json())",
        ),
        (
            lambda s: s.group_by(lambda k, v: v).count("c"),
            StreamsError,
            "as in group_by(…, key=serdes.string())",
        ),
        (
            lambda s: s.to("out", value=serdes.string),
            StreamsError,
            "Sink KSTREAM-SINK-0000000001 can't start: The value serde must be a Serde, not "
            "function",
        ),
        (
            lambda s: s.map(lambda k, v: v).to("out", key=TEXT, value=TEXT),
            StreamsError,
            "The mapper of KSTREAM-MAP-0000000001 must give (key, value) pairs, but gave str 'v'",
        ),
        (
            lambda s: s.flat_map(lambda k, v: [(k, v, 1)]).to("out", key=TEXT, value=TEXT),
            StreamsError,
            "must give (key, value) pairs, but gave tuple ('k', 'v', 1)",
        ),
        (lambda s: s.process(Nothing, "nope"), TopologyError, "'nope' is not in the topology"),
        (lambda s: s.to("out"), SerializationError, "The value serde of output topic 'out'"),
    ],
)
def test_a_mistake_that_shows_when_it_runs(
    make: Callable[[Any], Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        run(make)


def test_mistakes_with_the_driver() -> None:
    with pytest.raises(SerializationError, match="value serde of input topic 'in' can't write int"):
        run(lambda s: s.to("out"), value=5)
    with pytest.raises(ArgumentError, match=r"doesn't read topic 'inn'. It reads: in\."):
        run(lambda s: s.to("out"), topic="inn")
    builder = StreamsBuilder()
    stream(builder).group_by_key().count("counts")
    driver: Any = TopologyTestDriver(builder.build())
    with pytest.raises(ArgumentError, match=r"no store 'count' .* The stores are: counts"):
        driver.store("count")
    with pytest.raises(StateError, match=r"no record to read in topic 'out'.*so far: none"):
        driver.output_topic("out", TEXT, TEXT).read_value()
    with pytest.raises(ArgumentError, match=r"Call it: serdes\.string\(\)"):
        driver.input_topic("in", serdes.string, TEXT)
    into = driver.input_topic("in", TEXT, TEXT)
    with pytest.raises(ArgumentError, match="has no time zone"):
        into.pipe("a", "b", datetime(2024, 1, 1))
    with pytest.raises(ArgumentError, match=r"A timestamp can't be float 1.5"):
        into.pipe("a", "b", 1.5)
    with pytest.raises(ArgumentError, match=r"The advance must be a datetime.timedelta"):
        driver.advance_wall_clock_time(5)
    with pytest.raises(NullArgumentError):
        driver.advance_wall_clock_time(None)
