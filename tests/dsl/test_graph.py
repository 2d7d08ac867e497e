"""What is repartitioned, stored, optimised and kept of the serdes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace import serdes, stores
from headrace.core.windowed import Windowed
from headrace.dsl import (
    GlobalKTable,
    KStream,
    KTable,
    Materialized,
    StreamsBuilder,
    with_key,
)
from headrace.topology.nodes import ProcessorNode, SinkNode, SourceNode
from headrace.topology.operators import (
    Filter,
    MapValues,
    Operator,
    PassThrough,
    RepartitionFilter,
    StreamSelfJoin,
    TableFilter,
    TableSource,
    TableTableJoin,
)
from headrace.topology.processor import Processor
from headrace.topology.stores import Backend, WindowStoreSpec
from headrace.topology.topology import Topology
from headrace.topology.windows import EmitStrategy, JoinWindows, SlidingWindows, TimeWindows

TEXT = serdes.string()
NUMBER = serdes.long()
WINDOWS = JoinWindows.of_time_difference(timedelta(seconds=1))


def text_stream(builder: StreamsBuilder, topic: str = "in") -> KStream[str, str]:
    return builder.stream(topic, key=TEXT, value=TEXT)


def operators(topology: Topology) -> list[Operator]:
    return [node.operator for node in topology.nodes.values() if isinstance(node, ProcessorNode)]


def concat(one: Any, other: Any) -> str:
    return f"{one}{other}"


def pair(key: str, value: str) -> tuple[str, str]:
    return value, key


def test_types() -> None:
    builder = StreamsBuilder()
    stream: KStream[str, str] = builder.stream("a", key=TEXT, value=TEXT)
    lengths: KStream[str, int] = stream.map_values(len)
    table: KTable[str, int] = builder.table("t", key=TEXT, value=NUMBER)
    everywhere: GlobalKTable[int, str] = builder.global_table("g", key=NUMBER, value=TEXT)
    joined: KStream[str, float] = lengths.join(table, lambda one, other: one / other)
    joined.left_join(everywhere, concat, key_selector=lambda key, value: int(value)).to("out")
    counts: KTable[Windowed[str], int] = (
        stream.group_by_key().windowed_by(TimeWindows.of_size(timedelta(seconds=1))).count()
    )
    inner: KStream[str, int] = counts.to_stream(lambda windowed, count: windowed.key)
    inner.foreach(print)
    builder.build()


def test_serdes_stay_while_the_type_does() -> None:
    builder = StreamsBuilder()
    stream = text_stream(builder)
    stream.filter(lambda k, v: True).to("filtered")
    stream.map_values(len).to("lengths")
    stream.select_key(lambda k, v: len(v)).to("by-length")
    stream.merge(text_stream(builder, "b")).to("merged")
    sinks = {
        node.topic: (node.key_serde, node.value_serde)
        for node in builder.build().nodes.values()
        if isinstance(node, SinkNode)
    }
    assert sinks == {
        "filtered": (TEXT, TEXT),
        "lengths": (TEXT, None),
        "by-length": (None, TEXT),
        "merged": (None, None),
    }


def test_with_key() -> None:
    builder = StreamsBuilder()
    text_stream(builder).map_values(with_key(concat)).map_values(str.upper)
    assert operators(builder.build()) == [MapValues(concat, True), MapValues(str.upper, False)]


def test_records_without_a_key_are_kept_for_left_joins_only() -> None:
    builder = StreamsBuilder()
    table: KTable[str, str] = builder.table("t", key=TEXT, value=TEXT)
    rekeyed = text_stream(builder).select_key(lambda k, v: v)
    rekeyed.left_join(table, concat, name="left")
    rekeyed.join(table, concat, name="inner")
    nodes = builder.build().nodes
    left, inner = nodes["left-repartition-filter"], nodes["inner-repartition-filter"]
    assert isinstance(left, ProcessorNode)
    assert isinstance(inner, ProcessorNode)
    assert left.operator == PassThrough()
    assert inner.operator == RepartitionFilter()


def test_a_table_gets_a_store_when_it_is_needed() -> None:
    builder = StreamsBuilder()
    builder.table("a", key=TEXT, value=TEXT).filter(lambda k, v: True)
    needed: KTable[str, str] = builder.table("b", key=TEXT, value=TEXT)
    text_stream(builder).join(needed.map_values(str.upper), concat)
    topology = builder.build()
    assert list(topology.stores) == ["b-STATE-STORE-0000000004"]
    assert [op for op in operators(topology) if isinstance(op, TableSource)] == [
        TableSource(None),
        TableSource("b-STATE-STORE-0000000004"),
    ]


def test_old_values_are_sent_where_they_are_asked_for() -> None:
    builder = StreamsBuilder()
    table: KTable[str, str] = builder.table("a", key=TEXT, value=TEXT)
    table.filter(lambda k, v: True).group_by(pair, key=TEXT, value=TEXT).count()
    source, kept, *_ = operators(builder.build())
    assert isinstance(source, TableSource)
    assert source.send_old_values
    assert isinstance(kept, TableFilter)
    assert kept.send_old_values


def test_versions_are_inherited() -> None:
    builder = StreamsBuilder()
    kept = Materialized[str, str](supplier=stores.versioned("v", timedelta(days=1)))
    versioned = builder.table("a", kept, key=TEXT, value=TEXT).map_values(str.upper)
    plain: KTable[str, str] = builder.table("b", key=TEXT, value=TEXT)
    versioned.left_join(plain, concat)
    joins = [op for op in operators(builder.build()) if isinstance(op, TableTableJoin)]
    assert [join.versioned for join in joins] == [True, False]


def test_streams_of_the_same_topic_share_a_source() -> None:
    builder = StreamsBuilder()
    text_stream(builder).to("x")
    text_stream(builder).to("y")
    topology = builder.build()
    assert topology.children("KSTREAM-SOURCE-0000000000") == (
        "KSTREAM-SINK-0000000001",
        "KSTREAM-SINK-0000000003",
    )


def test_reuse_of_source_topics() -> None:
    builder = StreamsBuilder()
    builder.table("t", "rows", key=TEXT, value=TEXT)
    topology = builder.build({"topology.optimization": "reuse.ktable.source.topics"})
    assert dict(topology.source_topics_of_stores) == {"rows": "t"}
    assert not topology.stores["rows"].logging


def test_merge_of_repartitions() -> None:
    builder = StreamsBuilder()
    rekeyed = text_stream(builder).select_key(lambda k, v: v)
    rekeyed.group_by_key(key=TEXT).count("counts")
    rekeyed.group_by_key(key=TEXT).reduce(concat, "all")
    topology = builder.build({"topology.optimization": "merge.repartition.topics"})
    assert list(topology.internal_topics) == ["counts-repartition"]


def test_self_join_with_one_store() -> None:
    builder = StreamsBuilder()
    stream = text_stream(builder)
    stream.join(stream, concat, WINDOWS)
    topology = builder.build({"topology.optimization": "all"})
    assert len(topology.stores) == 1
    assert any(isinstance(op, StreamSelfJoin) for op in operators(topology))


def test_joined_sources_are_copartitioned() -> None:
    builder = StreamsBuilder()
    left = text_stream(builder, "a").select_key(lambda k, v: v)
    left.join(text_stream(builder, "b"), concat, WINDOWS, name="pair")
    (group,) = builder.build().copartition_groups
    assert group == {"pair-left-repartition-source", "KSTREAM-SOURCE-0000000002"}


def test_stores_of_windows() -> None:
    builder = StreamsBuilder({"dsl.store.suppliers.class": "in_memory"})
    grouped = text_stream(builder).group_by_key()
    second = timedelta(seconds=1)
    grouped.windowed_by(TimeWindows.of_size(second, grace=second)).count("tumbling")
    grouped.windowed_by(SlidingWindows.of_time_difference(second)).emit_strategy(
        EmitStrategy.ON_WINDOW_CLOSE
    ).count("sliding")
    made = builder.build().stores
    tumbling, sliding = made["tumbling"], made["sliding"]
    assert isinstance(tumbling, WindowStoreSpec)
    assert isinstance(sliding, WindowStoreSpec)
    assert (tumbling.window_ms, tumbling.retention_ms, tumbling.caching) == (1000, 2000, True)
    assert (sliding.window_ms, sliding.retention_ms, sliding.caching) == (1000, 2000, False)
    assert sliding.time_ordered
    assert tumbling.backend is Backend.IN_MEMORY


def test_stores_of_a_processor_are_added_or_connected() -> None:
    class Silent(Processor[str, str, str, str]):
        pass

    builder = StreamsBuilder()
    builder.add_state_store(stores.key_value("shared", key=TEXT, value=TEXT))
    own = stores.key_value("own", key=TEXT, value=TEXT)
    text_stream(builder).process(Silent, "shared", own, name="p")
    node = builder.build().nodes["p"]
    assert isinstance(node, ProcessorNode)
    assert set(node.stores) == {"own", "shared"}


def test_a_builder_builds_once() -> None:
    builder = StreamsBuilder()
    text_stream(builder).filter(lambda k, v: True)
    topology = builder.build()
    assert builder.build() is topology
    assert isinstance(topology.nodes["KSTREAM-SOURCE-0000000000"], SourceNode)
    assert any(isinstance(op, Filter) for op in operators(topology))
