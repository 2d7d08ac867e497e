from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from examples import order_enrichment, word_count
from headrace import StreamsBuilder, serdes
from headrace.cli.svg import drawing
from tests.cli.conftest import Headrace

SHOP = """
from headrace import StreamsBuilder, serdes

builder = StreamsBuilder()
text = serdes.string()
table = builder.table("orders", key=text, value=text)
table.to_stream().to("out")

def topology():
    return builder.build()

def make_builder():
    return builder

def broken():
    return {}["price"]

not_a_topology = 5
"""


@pytest.mark.parametrize(
    "target", ["shop:builder", "shop:topology", "shop:make_builder", "shop", "./shop.py:builder"]
)
def test_what_can_be_named(
    headrace: Headrace, modules: Callable[[str, str], None], target: str
) -> None:
    modules("shop", SHOP)
    result = headrace("topology", target)
    assert result.exit_code == 0
    assert result.stdout.startswith("Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOURCE")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("shop:nothing", "shop has no 'nothing'"),
        ("shop:not_a_topology", "must be a Topology, a StreamsBuilder"),
        ("shop:broken", "shop:broken raised KeyError: 'price'"),
        ("shop:serdes.string", "but is Serde"),
        ("shep:topology", "there is no module 'shep'"),
        ("missing/shop.py:topology", "no such file"),
        ("", "must be 'module:attribute'"),
    ],
)
def test_what_can_not(
    headrace: Headrace, modules: Callable[[str, str], None], target: str, message: str
) -> None:
    modules("shop", SHOP)
    result = headrace("topology", target)
    assert result.exit_code == 1
    assert message in result.stderr


def test_an_error_in_the_users_module_is_shown_where_it_is(
    headrace: Headrace, modules: Callable[[str, str], None]
) -> None:
    modules("shop", "import headrace\nheadrace.StreamsBuilder().stream(5)\n")
    result = headrace("topology", "shop:topology")
    assert result.exit_code == 1
    assert 'shop.py", line 2' in result.stderr
    assert (
        "headrace: Configuration: The topology is 'shop:topology', but importing" in result.stderr
    )


def test_formats(headrace: Headrace, tmp_path: Path) -> None:
    target = "examples.word_count:topology"
    description = word_count.topology().describe()
    assert headrace("topology", target).stdout.rstrip() == str(description).rstrip()
    assert json.loads(headrace("topology", target, "-f", "json").stdout) == description.to_dict()
    assert headrace("topology", target, "-f", "mermaid").stdout == description.to_mermaid()
    assert headrace("topology", target, "-f", "svg").stdout == drawing(description.to_dict())
    assert headrace("topology", target, "-f", "svg", "-o", tmp_path / "it.svg").stdout == ""
    assert (tmp_path / "it.svg").read_text() == drawing(description.to_dict())


def test_a_builder_is_built_with_the_settings(
    headrace: Headrace, modules: Callable[[str, str], None]
) -> None:
    regrouped = (
        SHOP
        + """
by_word = builder.stream("words", key=text, value=text).select_key(lambda key, value: value)
by_word.group_by_key(key=text, value=text).count("counts")
by_word.group_by_key(key=text, value=text).count("more-counts")
"""
    )
    written = []
    for optimization in ("none", "all"):
        modules("shop", regrouped)
        option = f"topology.optimization={optimization}"
        written.append(headrace("topology", "shop:builder", "-s", option).stdout.count("Sink:"))
    assert written == [3, 2]


@pytest.mark.parametrize("example", [word_count, order_enrichment])
def test_a_drawing_has_everything_once(example: object) -> None:
    description = example.topology().describe().to_dict()  # type: ignore[attr-defined]
    root = ElementTree.fromstring(drawing(description))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    parts = description["subtopologies"]
    nodes = [node["name"] for part in parts for node in part["nodes"]]
    stores = [store for part in parts for store in part["stores"]]
    topics = {*description["topics"]["read"], *description["topics"]["written"]}
    titles = [text for text in texts if text and text.startswith("Sub-topology")]
    assert sorted(texts, key=str) == sorted([*nodes, *stores, *topics, *titles])
    assert len(titles) == len(parts)


def test_a_drawing_of_patterns_extractors_and_odd_names() -> None:
    import re

    builder = StreamsBuilder()
    text = serdes.string()
    stream = builder.stream(re.compile("in<.*>"), key=text, value=text)
    stream.to(lambda key, value, context: "x")
    drawn = drawing(builder.build().describe().to_dict())
    assert "/in&lt;.*&gt;/" in drawn
    assert ">by " in drawn
    ElementTree.fromstring(drawn)


def test_a_drawing_of_nothing() -> None:
    ElementTree.fromstring(drawing({"subtopologies": []}))
