"""Random topologies, and random input for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from headrace import (
    BufferConfig,
    EmitStrategy,
    JoinWindows,
    KStream,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    Windowed,
    serdes,
)
from headrace.testing import TopologyTestDriver

TEXT = serdes.string()
NUMBER = serdes.long()
Stream = KStream[str, str]


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def _first(key: str, value: str) -> str:
    return value[:1]


def _joined(left: str, right: str | None) -> str:
    return f"{left}{right}"[-12:]


def _appended(aggregate: str, value: str) -> str:
    return (aggregate + value)[-12:]


def _flat(windowed: Windowed[str], value: object) -> tuple[str, str]:
    return windowed.key, f"{windowed.window.start}-{windowed.window.end}:{value}"


@dataclass
class Program:
    """Builds a topology: each step takes the stream so far to the next one."""

    builder: StreamsBuilder
    steps: int = 0

    def name(self) -> str:
        self.steps += 1
        return f"store-{self.steps}"

    def upper(self, stream: Stream) -> Stream:
        return stream.map_values(str.upper)

    def short_only(self, stream: Stream) -> Stream:
        return stream.filter(lambda key, value: len(value) < 8)

    def by_first_letter(self, stream: Stream) -> Stream:
        return stream.select_key(_first).repartition(key=TEXT, value=TEXT)

    def words(self, stream: Stream) -> Stream:
        return stream.flat_map_values(lambda value: [value[:2], value[2:]])

    def count(self, stream: Stream) -> Stream:
        counts = stream.group_by_key(key=TEXT, value=TEXT).count(
            Materialized(self.name(), value=NUMBER)
        )
        return counts.map_values(str).to_stream()

    def regroup(self, stream: Stream) -> Stream:
        grouped = stream.group_by(_first, key=TEXT, value=TEXT)
        return grouped.reduce(_appended, Materialized(self.name())).to_stream()

    def table_regroup(self, stream: Stream) -> Stream:
        table = stream.repartition(key=TEXT, value=TEXT).to_table(
            Materialized(self.name(), key=TEXT, value=TEXT)
        )
        grouped = table.group_by(lambda key, value: (value[:1], value), key=TEXT, value=TEXT)
        return grouped.count(Materialized(self.name(), value=NUMBER)).map_values(str).to_stream()

    def table_lookup(self, stream: Stream) -> Stream:
        table = self.builder.table("table", self.name(), key=TEXT, value=TEXT)
        return stream.left_join(table, _joined, key=TEXT, value=TEXT)

    def stream_join(self, stream: Stream) -> Stream:
        other = self.builder.stream("other", key=TEXT, value=TEXT)
        windows = JoinWindows.of_time_difference(ms(20), grace=ms(1000))
        return stream.join(other, _joined, windows, key=TEXT, value=TEXT, other_value=TEXT)

    def tumbling(self, stream: Stream) -> Stream:
        windowed = stream.group_by_key(key=TEXT, value=TEXT).windowed_by(
            TimeWindows.of_size(ms(25), grace=ms(1000))
        )
        return windowed.count(Materialized(self.name(), value=NUMBER)).to_stream().map(_flat)

    # What depends on stream time, which one task has for all keys and several have not

    def late_tumbling(self, stream: Stream) -> Stream:
        windowed = stream.group_by_key(key=TEXT, value=TEXT).windowed_by(
            TimeWindows.of_size(ms(20), grace=ms(5)).advance_by(ms(10))
        )
        return windowed.count(Materialized(self.name(), value=NUMBER)).to_stream().map(_flat)

    def sliding(self, stream: Stream) -> Stream:
        windowed = stream.group_by_key(key=TEXT, value=TEXT).windowed_by(
            SlidingWindows.of_time_difference(ms(15), grace=ms(5))
        )
        return windowed.reduce(_appended, Materialized(self.name())).to_stream().map(_flat)

    def sessions(self, stream: Stream) -> Stream:
        windowed = stream.group_by_key(key=TEXT, value=TEXT).windowed_by(
            SessionWindows.of_inactivity_gap(ms(10), grace=ms(5))
        )
        return windowed.count(Materialized(self.name(), value=NUMBER)).to_stream().map(_flat)

    def suppressed(self, stream: Stream) -> Stream:
        windowed = stream.group_by_key(key=TEXT, value=TEXT).windowed_by(
            TimeWindows.of_size(ms(20), grace=ms(5))
        )
        counts = windowed.count(Materialized(self.name(), key=TEXT, value=NUMBER))
        closed = counts.suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))
        return closed.to_stream().map(_flat)

    def on_close(self, stream: Stream) -> Stream:
        windowed = stream.group_by_key(key=TEXT, value=TEXT).windowed_by(
            TimeWindows.of_size(ms(20), grace=ms(5))
        )
        counts = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count(
            Materialized(self.name(), value=NUMBER, retention=ms(10_000))
        )
        return counts.to_stream().map(_flat)

    def outer_join(self, stream: Stream) -> Stream:
        other = self.builder.stream("other", key=TEXT, value=TEXT)
        windows = JoinWindows.of_time_difference(ms(10), grace=ms(5))
        return stream.outer_join(
            other,
            lambda left, right: f"{left}|{right}"[-12:],
            windows,
            key=TEXT,
            value=TEXT,
            other_value=TEXT,
        )


PARTITIONABLE: tuple[Callable[[Program, Stream], Stream], ...] = (
    Program.upper,
    Program.short_only,
    Program.by_first_letter,
    Program.words,
    Program.count,
    Program.regroup,
    Program.table_lookup,
    Program.stream_join,
    Program.tumbling,
)
"""Steps whose results don't depend on which keys share a task."""

TIMED: tuple[Callable[[Program, Stream], Stream], ...] = (
    Program.late_tumbling,
    Program.sliding,
    Program.sessions,
    Program.suppressed,
    Program.on_close,
    Program.outer_join,
)


def topology(steps: list[Callable[[Program, Stream], Stream]]) -> Topology:
    """The steps one after the other; the result of each goes to a topic of its own."""
    program = Program(StreamsBuilder())
    stream: Stream = program.builder.stream("in", key=TEXT, value=TEXT)
    once = {Program.table_lookup, Program.stream_join, Program.outer_join}
    for index, step in enumerate(steps):
        if step in once and any(step in once and earlier in once for earlier in steps[:index]):
            continue  # a topic can be read in one way only
        stream = step(program, stream)
        stream.to(f"out-{index}", key=TEXT, value=TEXT)
    return program.builder.build()


@dataclass(frozen=True)
class Step:
    topic: str
    key: str
    value: str
    timestamp: int


def inputs(*, in_order: bool) -> st.SearchStrategy[list[Step]]:
    step = st.builds(
        Step,
        st.sampled_from(["in", "in", "in", "other", "table"]),
        st.sampled_from("abcdef"),
        st.text("abcxyz", min_size=1, max_size=5),
        st.integers(0, 200),
    )
    steps = st.lists(step, min_size=1, max_size=30)
    return steps.map(lambda s: sorted(s, key=lambda one: one.timestamp)) if in_order else steps


def run(
    topology: Topology,
    steps: list[Step],
    *,
    partitions: int | None = None,
    crash_after: int | None = None,
    cache: bool = True,
) -> list[Any]:
    """All output, record by record, as (topic, key, value, timestamp)."""
    config = {} if cache else {"statestore.cache.max.bytes": 0}
    read = {topic for node in topology.nodes.values() for topic in getattr(node, "topics", ())}
    with TopologyTestDriver(
        topology, config, partitions=partitions, wall_clock_start_ms=0
    ) as driver:
        for index, step in enumerate(steps):
            if step.topic in read:
                driver.pipe(step.topic, step.key.encode(), step.value.encode(), step.timestamp)
            if index == crash_after:
                driver.crash()
        return [
            (record.topic, record.key, record.value, record.timestamp)
            for record in driver.take_output()
            if record.topic.startswith("out-")
        ]
