from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from examples import order_enrichment, word_count
from headrace import StreamsBuilder, Topology, serdes
from headrace.cli import store_purchases
from headrace.console.picture import Picture, Shape, picture

TEXT = serdes.string()
TOPOLOGIES = [word_count.topology, order_enrichment.topology, store_purchases.topology]


def drawn(topology: Topology, application_id: str = "app") -> Picture:
    return picture(topology.describe().to_dict(), application_id)


def overlap(one: Shape, other: Shape) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def is_in(shape: Shape, frame: Shape) -> bool:
    return (
        frame.x <= shape.x
        and frame.y <= shape.y
        and shape.x + shape.width <= frame.x + frame.width
        and shape.y + shape.height <= frame.y + frame.height
    )


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_everything_is_there_once_and_has_room(topology: Any) -> None:
    description = topology().describe().to_dict()
    found = picture(description, "app")
    parts = description["subtopologies"]
    wanted = Counter(
        [
            *(node["name"] for part in parts for node in part["nodes"]),
            *(store for part in parts for store in part["stores"]),
            *{*description["topics"]["read"], *description["topics"]["written"]},
        ]
    )
    assert Counter(shape.name for shape in found.shapes) == wanted
    frames = {frame.part: frame for frame in found.frames}
    assert len(frames) == len(parts)
    for one, other in combinations(found.shapes, 2):
        assert not overlap(one, other), (one, other)
    for shape in found.shapes:
        if shape.part is not None:
            assert is_in(shape, frames[shape.part])
        else:
            assert not any(overlap(shape, frame) for frame in frames.values())
        assert shape.x >= 0
        assert shape.x + shape.width <= found.width + 0.1
        assert shape.y + shape.height <= found.height + 0.1


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_lines_go_from_shape_to_shape_and_to_the_right(topology: Any) -> None:
    found = drawn(topology())
    shapes = {shape.id: shape for shape in found.shapes}
    for line in found.lines:
        start, end = shapes[line.start], shapes[line.end]
        if line.end == "node KTABLE-SOURCE-0000000023":
            continue  # the answers of a foreign key join go back: see below
        assert start.x + start.width < end.x
        first, *_, last = re.findall(r"[-\d.]+,[-\d.]+", line.path)
        assert float(first.split(",")[0]) == pytest.approx(start.x + start.width, abs=0.2)
        assert float(first.split(",")[1]) == pytest.approx(start.y + start.height / 2, abs=0.2)
        assert float(last.split(",")[0]) == pytest.approx(end.x, abs=0.2)
        assert float(last.split(",")[1]) == pytest.approx(end.y + end.height / 2, abs=0.2)
    kinds = Counter(line.kind for line in found.lines)
    assert kinds["read"] >= 1
    assert kinds["flow"] >= 1


def test_a_whole_application_fits_a_laptop() -> None:
    found = drawn(store_purchases.topology(), "store-purchases")
    assert found.width < 1_500
    assert found.height < 400


def test_labels_are_short() -> None:
    builder = StreamsBuilder()
    stream = builder.stream(
        "a-topic-with-a-very-long-name-that-nobody-can-read", key=TEXT, value=TEXT
    )
    stream.select_key(lambda _, value: value).group_by_key().count("counts")
    labels = {shape.name: shape.label for shape in drawn(builder.build()).shapes}
    assert labels["KSTREAM-KEY-SELECT-0000000001"] == ["key-select"]
    joined = {shape.name: shape.label for shape in drawn(order_enrichment.topology()).shapes}
    store, topic = "products-STATE-STORE-0000000001", "RESPONSE-0000000021-topic"
    assert joined[store] == ["products-store"]
    assert joined[f"KTABLE-FK-JOIN-SUBSCRIPTION-{topic}"] == ["fk-response-", "topic"]
    assert labels["KSTREAM-SOURCE-0000000000"] == []
    assert labels["counts-repartition-filter"] == ["counts filter"]
    assert labels["counts-repartition"] == ["counts-", "repartition"]
    assert labels["a-topic-with-a-very-long-name-that-nobody-can-read"] == [
        "a-topic-with-a-",
        "very-long-name…",
    ]


def test_the_applications_id_is_left_out() -> None:
    description = store_purchases.topology().describe().to_dict()
    for part in description["subtopologies"]:
        for node in part["nodes"]:
            if node["name"] == "by-customer-repartition-source":
                node["topics"] = ["shop-by-customer-repartition"]
    labels = {shape.name: shape.label for shape in picture(description, "shop").shapes}
    assert labels["shop-by-customer-repartition"] == ["by-customer-", "repartition"]


def test_patterns_extractors_and_global_tables() -> None:
    builder = StreamsBuilder()
    known = builder.global_table("names", "names-store", key=TEXT, value=TEXT)
    stream = builder.stream(re.compile("in<.*>"), key=TEXT, value=TEXT)
    joined = stream.join(known, lambda _, name: name, key_selector=lambda key, _: key)
    joined.to(lambda key, value, context: "x")
    found = drawn(builder.build())
    names = [shape.name for shape in found.shapes if shape.kind == "topic"]
    assert "/in<.*>/" in names
    assert any(name.startswith("by ") for name in names)
    assert [frame.label for frame in found.frames] == [
        ["Sub-topology 0"],
        ["Sub-topology 1, global store"],
    ] or ["Sub-topology 0, global store"] in [frame.label for frame in found.frames]


def test_a_topic_that_is_written_and_read_by_the_same_part() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("loop", key=TEXT, value=TEXT)
    stream.map_values(str.upper).to("loop")
    found = drawn(builder.build())
    assert [shape.name for shape in found.shapes if shape.kind == "topic"] == ["loop"]
    assert {line.kind for line in found.lines} == {"read", "flow", "write"}


def test_a_line_back_goes_below_everything() -> None:
    found = drawn(order_enrichment.topology())
    (back,) = [line for line in found.lines if line.end == "node KTABLE-SOURCE-0000000023"]
    shapes = {shape.id: shape for shape in found.shapes}
    lowest = max(shape.y + shape.height for shape in [*found.shapes, *found.frames])
    assert lowest < back.y < found.height
    assert shapes[back.start].x > shapes[back.end].x
    assert back.path.endswith(f"H{shapes[back.end].x:.1f}")


def test_nothing() -> None:
    assert picture({"subtopologies": []}, "app").shapes == []
