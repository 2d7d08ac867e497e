"""Names of nodes, stores and internal topics."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import serdes
from headrace.core.errors import TopologyError
from headrace.dsl import KStream, Materialized, StreamsBuilder
from headrace.topology.windows import JoinWindows, TimeWindows

TEXT = serdes.string()
WINDOWS = JoinWindows.of_time_difference(timedelta(seconds=1))


def text_stream(builder: StreamsBuilder, topic: str) -> KStream[str, str]:
    return builder.stream(topic, key=TEXT, value=TEXT)


def first(key: Any, value: str) -> str:
    return value[:1]


def concat(one: Any, other: Any) -> str:
    return f"{one}{other}"


def test_generated_names_count_up() -> None:
    builder = StreamsBuilder()
    text_stream(builder, "in").filter(lambda k, v: True).map_values(str.upper).to("out")
    assert list(builder.build().nodes) == [
        "KSTREAM-SOURCE-0000000000",
        "KSTREAM-FILTER-0000000001",
        "KSTREAM-MAPVALUES-0000000002",
        "KSTREAM-SINK-0000000003",
    ]


def test_a_given_name_takes_a_number_too() -> None:
    builder = StreamsBuilder()
    text_stream(builder, "in").filter(lambda k, v: True, name="keep").to("out")
    assert list(builder.build().nodes)[1:] == ["keep", "KSTREAM-SINK-0000000002"]


def test_a_repartition_is_called_like_the_store_behind_it() -> None:
    builder = StreamsBuilder()
    text_stream(builder, "in").group_by(first).count("counts")
    topology = builder.build()
    assert dict(topology.internal_topics) == {"counts-repartition": None}
    assert "counts-repartition-filter" in topology.nodes


def test_a_repartition_is_called_like_its_group() -> None:
    builder = StreamsBuilder()
    grouped = text_stream(builder, "in").group_by(first, name="by-letter")
    grouped.count()
    grouped.reduce(concat)
    assert list(builder.build().internal_topics) == ["by-letter-repartition"]


def test_the_nodes_of_a_stream_join_have_suffixes() -> None:
    builder = StreamsBuilder()
    left, right = text_stream(builder, "a"), text_stream(builder, "b")
    left.outer_join(right, concat, WINDOWS, name="pair", store_name="pairs")
    topology = builder.build()
    assert set(topology.nodes) > {
        "pair-this-windowed",
        "pair-other-windowed",
        "pair-outer-this-join",
        "pair-outer-other-join",
        "pair-merge",
    }
    assert set(topology.stores) == {
        "pairs-outer-this-join-store",
        "pairs-outer-other-join-store",
        "pairs-outer-shared-join-store",
    }


def test_branches_are_called_after_the_split() -> None:
    branches = (
        text_stream(StreamsBuilder(), "in")
        .split(name="size-")
        .branch(lambda k, v: len(v) > 9, name="large")
        .branch(lambda k, v: len(v) > 4)
        .branch(lambda k, v: len(v) > 1, consumer=lambda stream: stream.to("tiny"))
        .default_branch()
    )
    assert sorted(branches) == ["size-0", "size-2", "size-large"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "ü", "x" * 250])
def test_names_that_cant_be_used(name: str) -> None:
    stream = text_stream(StreamsBuilder(), "in")
    with pytest.raises(TopologyError):
        stream.peek(print, name=name)
    with pytest.raises(TopologyError):
        Materialized[str, str](name)


def test_all_internal_resources_can_be_asked_to_have_names() -> None:
    strict = {"ensure.explicit.internal.resource.naming": True}
    builder = StreamsBuilder(strict)
    text_stream(builder, "in").group_by(first).count("counts")
    builder.build()
    builder = StreamsBuilder(strict)
    grouped = text_stream(builder, "in").group_by(first)
    grouped.windowed_by(TimeWindows.of_size(timedelta(seconds=1))).count()
    with pytest.raises(TopologyError, match="KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog"):
        builder.build()
