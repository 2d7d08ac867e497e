"""What the DSL refuses, and how."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import StateError, serdes, stores
from headrace.core.errors import (
    ArgumentError,
    ConfigError,
    NullArgumentError,
    StreamsError,
    TopologyError,
)
from headrace.dsl import BufferConfig, KStream, KTable, Materialized, StreamsBuilder, Suppressed
from headrace.topology.nodes import AutoOffsetReset
from headrace.topology.processor import Processor
from headrace.topology.windows import (
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

TEXT = serdes.string()
SECOND = timedelta(seconds=1)
NOTHING: Any = None


def stream(builder: StreamsBuilder, topic: str = "in") -> KStream[str, str]:
    return builder.stream(topic, key=TEXT, value=TEXT)


def concat(one: Any, other: Any) -> str:
    return f"{one}{other}"


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.filter(None),
        lambda s: s.map(None),
        lambda s: s.map_values(None),
        lambda s: s.select_key(None),
        lambda s: s.merge(None),
        lambda s: s.to(None),
        lambda s: s.process(None),
        lambda s: s.group_by(None),
        lambda s: s.join(None, concat, JoinWindows.of_time_difference(SECOND)),
        lambda s: s.join(s, None, JoinWindows.of_time_difference(SECOND)),
        lambda s: s.join(s, concat, None),
        lambda s: s.group_by_key().windowed_by(None),
        lambda s: s.group_by_key().reduce(None),
        lambda s: s.group_by_key().aggregate(None, concat),
        lambda s: s.to_table().filter(None),
        lambda s: s.to_table().group_by(None),
        lambda s: s.to_table().join(None, concat),
    ],
)
def test_none_where_a_value_is_needed(call: Callable[[KStream[str, str]], object]) -> None:
    with pytest.raises(NullArgumentError):
        call(stream(StreamsBuilder()))


def test_streams_with_some_topics_in_common() -> None:
    builder = StreamsBuilder()
    builder.stream(["a", "b"], key=TEXT, value=TEXT)
    builder.stream("b", key=TEXT, value=TEXT)
    with pytest.raises(TopologyError, match="'b' is in both"):
        builder.build()


def test_streams_of_a_topic_with_different_offset_resets() -> None:
    builder = StreamsBuilder()
    builder.stream("a", key=TEXT, value=TEXT, offset_reset=AutoOffsetReset.earliest())
    builder.stream("a", key=TEXT, value=TEXT)
    with pytest.raises(TopologyError, match="offset reset"):
        builder.build()


@pytest.mark.parametrize(
    "windows",
    [
        TimeWindows.of_size(SECOND, grace=SECOND),
        SlidingWindows.of_time_difference(SECOND),
        SessionWindows.of_inactivity_gap(SECOND, grace=SECOND),
    ],
)
def test_retention_shorter_than_windows_can_change(windows: Any) -> None:
    windowed = stream(StreamsBuilder()).group_by_key().windowed_by(windows)
    with pytest.raises(ArgumentError, match="2000 ms"):
        windowed.count(Materialized("s", retention=timedelta(milliseconds=1999)))


def test_a_negative_retention() -> None:
    with pytest.raises(ArgumentError):
        Materialized[str, str]("s", retention=-SECOND)


def test_unlimited_windows_never_close() -> None:
    windowed = stream(StreamsBuilder()).group_by_key().windowed_by(UnlimitedWindows.of())
    with pytest.raises(ArgumentError):
        windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)


def test_only_windows_close() -> None:
    table: KTable[str, str] = StreamsBuilder().table("t", key=TEXT, value=TEXT)
    with pytest.raises(TopologyError, match="windowed"):
        table.suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))


def test_final_results_cant_come_early() -> None:
    with pytest.raises(ArgumentError):
        Suppressed.until_window_closes(BufferConfig.max_records(3))


def test_versioned_tables_cant_be_suppressed() -> None:
    builder = StreamsBuilder()
    kept = Materialized[str, str](supplier=stores.versioned("v", SECOND))
    table = builder.table("t", kept, key=TEXT, value=TEXT)
    limit = Suppressed.until_time_limit(SECOND, BufferConfig.unbounded())
    with pytest.raises(TopologyError):
        table.suppress(limit)
    table.map_values(str.upper).suppress(limit)
    with pytest.raises(TopologyError, match="derived from a versioned table"):
        builder.build()


def test_a_join_with_grace_needs_history() -> None:
    builder = StreamsBuilder()
    plain: KTable[str, str] = builder.table("t", key=TEXT, value=TEXT)
    with pytest.raises(ArgumentError, match="versioned"):
        stream(builder).join(plain, concat, grace=SECOND)
    kept = Materialized[str, str](supplier=stores.versioned("v", SECOND))
    stream(builder).join(builder.table("u", kept, key=TEXT, value=TEXT), concat, grace=2 * SECOND)
    with pytest.raises(ArgumentError, match="history"):
        builder.build()


def test_stores_of_a_join_must_fit_its_windows() -> None:
    builder = StreamsBuilder()
    left, right = stream(builder, "a"), stream(builder, "b")
    windows = JoinWindows.of_time_difference(SECOND)
    fits = stores.window("l", retention=2 * SECOND, size=2 * SECOND, retain_duplicates=True)
    with pytest.raises(StreamsError, match="different names"):
        left.join(right, concat, windows, this_store=fits, other_store=fits)
    short = stores.window("r", retention=2 * SECOND, size=SECOND, retain_duplicates=True)
    with pytest.raises(StreamsError, match="fit"):
        left.join(right, concat, windows, this_store=fits, other_store=short)
    plain = stores.window("r", retention=2 * SECOND, size=2 * SECOND)
    with pytest.raises(StreamsError, match="retain_duplicates"):
        left.join(right, concat, windows, this_store=fits, other_store=plain)


def test_global_tables_cant_be_versioned() -> None:
    kept = Materialized[str, str](supplier=stores.versioned("v", SECOND))
    with pytest.raises(TopologyError):
        StreamsBuilder().global_table("g", kept, key=TEXT, value=TEXT)


def test_two_stores_of_one_name() -> None:
    builder = StreamsBuilder()
    builder.table("a", "s", key=TEXT, value=TEXT)
    builder.table("b", "s", key=TEXT, value=TEXT)
    with pytest.raises(TopologyError, match="'s'"):
        builder.build()


def test_a_table_needs_its_kind_of_store() -> None:
    window = stores.window("w", retention=SECOND, size=SECOND)
    with pytest.raises(ArgumentError, match="KeyValueStoreSpec"):
        StreamsBuilder().table("t", Materialized(supplier=window), key=TEXT, value=TEXT)


def test_a_wrong_optimisation() -> None:
    with pytest.raises(ConfigError):
        StreamsBuilder().build({"topology.optimization": "everything"})


def test_a_supplier_that_gives_the_same_object() -> None:
    processor: Processor[str, str, str, str] = Processor()
    with pytest.raises(ArgumentError):
        stream(StreamsBuilder()).process(lambda: processor)


def test_nothing_can_be_added_after_build() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in")
    topology = builder.build()
    assert builder.build() is topology
    with pytest.raises(StateError, match="'out-sink' can't be added any more"):
        stream.to("out", name="out-sink")
