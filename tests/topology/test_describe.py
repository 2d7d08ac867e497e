"""The texts in here were printed by Kafka Streams 4.3.0, or follow from its rules."""

from __future__ import annotations

import json
import re
from typing import Any

from headrace import stores
from headrace.core.record import Record
from headrace.topology.description import (
    GlobalStoreDescription,
    ProcessorDescription,
    SinkDescription,
    SourceDescription,
)
from headrace.topology.processor import Processor
from headrace.topology.topology import Topology


class Forwarder(Processor[Any, Any, Any, Any]):
    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)


class ByKey:
    def __call__(self, key: Any, value: Any, context: Any) -> str:
        return str(key)


class NamedExtractor(ByKey):
    def __str__(self) -> str:
        return "by_key:out-"


def by_value(key: Any, value: Any, context: Any) -> str:
    return str(value)


def word_count() -> Topology:
    topology = Topology()
    topology.add_source("source", "lines")
    topology.add_processor("count", Forwarder, "source", stores=[stores.key_value("counts")])
    topology.add_sink("sink", "out", "count")
    return topology


def test_an_empty_topology_has_a_header_only() -> None:
    assert str(Topology().describe()) == "Topologies:\n "


def test_source_processor_and_sink() -> None:
    assert str(word_count().describe()) == (
        "Topologies:\n"
        "   Sub-topology: 0\n"
        "    Source: source (topics: [lines])\n"
        "      --> count\n"
        "    Processor: count (stores: [counts])\n"
        "      --> sink\n"
        "      <-- source\n"
        "    Sink: sink (topic: out)\n"
        "      <-- count\n"
        "\n"
    )


def test_a_node_without_children_says_none() -> None:
    text = str(Topology().add_source("s", "t").describe())
    assert "      --> none\n" in text


def test_a_source_by_pattern_prints_the_regex() -> None:
    topology = Topology().add_source("s", pattern=re.compile("a.*b"))
    assert "Source: s (topics: a.*b)\n" in str(topology.describe())


def test_a_dynamic_sink_prints_its_extractor() -> None:
    topology = Topology().add_source("s", "t")
    topology.add_sink("own-text", NamedExtractor(), "s")
    topology.add_sink("class", ByKey(), "s")
    topology.add_sink("function", by_value, "s")
    text = str(topology.describe())
    assert "Sink: own-text (extractor class: by_key:out-)\n" in text
    assert f"Sink: class (extractor class: {__name__}.ByKey)\n" in text
    assert f"Sink: function (extractor class: {__name__}.by_value)\n" in text


def test_topics_and_stores_come_in_hash_order() -> None:
    topology = Topology().add_source("s", *"zyx", "input-topic", "b")
    specs = [stores.key_value(name) for name in ("store-2", "counts", "a", "store-1")]
    topology.add_processor("p", Forwarder, "s", stores=specs)
    text = str(topology.describe())
    assert "(topics: [b, input-topic, x, y, z])" in text
    assert "(stores: [a, store-1, store-2, counts])" in text


def test_stores_of_one_hash_bucket_come_in_the_order_of_connection() -> None:
    """As the stores of a left stream-stream join."""
    names = ("KSTREAM-JOINTHIS-0000000004-store", "KSTREAM-OUTERSHARED-0000000004-store")
    for order in (names, names[::-1]):
        topology = Topology().add_source("s", "t")
        specs = [stores.key_value(name) for name in order]
        topology.add_processor("p", Forwarder, "s", stores=specs)
        assert f"(stores: [{', '.join(order)}])" in str(topology.describe())


def test_nodes_come_by_the_number_of_ways_down_and_then_by_name() -> None:
    topology = Topology().add_source("z", "t1").add_source("a", "t2")
    topology.add_processor("join", Forwarder, "a", "z")
    topology.add_processor("b", Forwarder, "join").add_processor("c", Forwarder, "join")
    topology.add_processor("end", Forwarder, "b", "c")
    (part,) = topology.describe().subtopologies
    assert [node.name for node in part.nodes] == ["a", "z", "join", "b", "c", "end"]


def test_children_stay_where_they_were_put_while_sizes_grew() -> None:
    """`q` has more below it than `o1`, but had not yet when the two were linked to `p`."""
    topology = Topology().add_source("src", "a").add_processor("p", Forwarder, "src")
    topology.add_sink("o1", "o1", "p").add_processor("q", Forwarder, "p").add_sink("o2", "o2", "q")
    text = str(topology.describe())
    assert "Processor: p (stores: [])\n      --> o1, q\n      <-- src\n" in text
    (part,) = topology.describe().subtopologies
    assert [node.name for node in part.nodes] == ["src", "p", "q", "o1", "o2"]


def test_children_of_equal_size_need_not_come_by_name() -> None:
    first, second = "KSTREAM-MAPVALUES-0000000001", "KSTREAM-MAPVALUES-0000000002"
    topology = Topology().add_source("KSTREAM-SOURCE-0000000000", "a")
    topology.add_processor(first, Forwarder, "KSTREAM-SOURCE-0000000000")
    topology.add_processor(second, Forwarder, "KSTREAM-SOURCE-0000000000")
    topology.add_sink("KSTREAM-SINK-0000000003", "out", second)
    topology.add_sink("KSTREAM-SINK-0000000004", "out", first)
    assert f"(topics: [a])\n      --> {second}, {first}\n" in str(topology.describe())


def test_global_stores_are_numbered_like_subtopologies() -> None:
    topology = Topology()
    topology.add_global_store(stores.key_value("g"), "g-source", "g-topic", "g-update", Forwarder)
    topology.add_source("s", "t").add_sink("k", "out", "s")
    assert str(topology.describe()) == (
        "Topologies:\n"
        "   Sub-topology: 0 for global store (will not generate tasks)\n"
        "    Source: g-source (topics: [g-topic])\n"
        "      --> g-update\n"
        "    Processor: g-update (stores: [g])\n"
        "      --> none\n"
        "      <-- g-source\n"
        "  Sub-topology: 1\n"
        "    Source: s (topics: [t])\n"
        "      --> k\n"
        "    Sink: k (topic: out)\n"
        "      <-- s\n"
        "\n"
    )


def test_descriptions_are_data() -> None:
    topology = word_count()
    topology.add_global_store(stores.key_value("g"), "g-source", "g-topic", "g-update", Forwarder)
    description = topology.describe()
    (part,) = description.subtopologies
    assert part.nodes == (
        SourceDescription("source", ("lines",), None, ("count",)),
        ProcessorDescription("count", ("counts",), ("source",), ("sink",)),
        SinkDescription("sink", "out", None, ("count",)),
    )
    assert description.global_stores == (
        GlobalStoreDescription(
            1,
            SourceDescription("g-source", ("g-topic",), None, ("g-update",)),
            ProcessorDescription("g-update", ("g",), ("g-source",), ()),
        ),
    )
    assert description == topology.describe()


def test_json_has_nodes_edges_stores_and_topics() -> None:
    description = word_count().describe()
    assert json.loads(description.to_json()) == description.to_dict()
    assert description.to_dict() == {
        "subtopologies": [
            {
                "id": 0,
                "global": False,
                "nodes": [
                    {"kind": "source", "name": "source", "topics": ["lines"], "pattern": None},
                    {"kind": "processor", "name": "count", "stores": ["counts"]},
                    {"kind": "sink", "name": "sink", "topic": "out", "extractor": None},
                ],
                "edges": [["source", "count"], ["count", "sink"]],
                "stores": ["counts"],
            }
        ],
        "topics": {"read": ["lines"], "written": ["out"]},
    }


def test_mermaid_draws_topics_between_subtopologies() -> None:
    topology = word_count()
    topology.add_source("again", "out").add_processor("end", Forwarder, "again")
    assert topology.describe().to_mermaid() == (
        "flowchart TD\n"
        '  subgraph part0["Sub-topology 0"]\n'
        '    node1["source"]\n'
        '    node2["count"]\n'
        '    node3["sink"]\n'
        '    store4[("counts")]\n'
        "    node1 --> node2\n"
        "    node2 --> node3\n"
        "  end\n"
        '  subgraph part5["Sub-topology 1"]\n'
        '    node6["again"]\n'
        '    node7["end"]\n'
        "    node6 --> node7\n"
        "  end\n"
        '  topic8>"lines"]\n'
        "  topic8 --> node1\n"
        "  node2 -.- store4\n"
        '  topic9>"out"]\n'
        "  node3 --> topic9\n"
        "  topic9 --> node6\n"
    )


def test_mermaid_escapes_names_and_draws_patterns_extractors_and_global_stores() -> None:
    topology = Topology().add_source('a "b" <c> & d', pattern=re.compile("x.*"))
    topology.add_sink("k", NamedExtractor(), 'a "b" <c> & d')
    topology.add_global_store(stores.key_value("g"), "g-source", "g-topic", "g-update", Forwarder)
    chart = topology.describe().to_mermaid()
    assert '["a #quot;b#quot; #lt;c#gt; #amp; d"]' in chart
    assert '>"/x.*/"]' in chart
    assert '>"by by_key:out-"]' in chart
    assert '["Sub-topology 1 (global store)"]' in chart
