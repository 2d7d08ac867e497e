from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest

from headrace import stores
from headrace.core.config import StreamsConfig
from headrace.core.errors import ArgumentError, NullArgumentError, TopologyError
from headrace.topology.nodes import AutoOffsetReset, ProcessorNode, SinkNode, SourceNode
from headrace.topology.operators import PassThrough
from headrace.topology.processor import Processor
from headrace.topology.topology import Topology

NOTHING: Any = None


def small() -> Topology:
    """A source, a processor and a sink: `source`, `processor`, `sink`."""
    topology = Topology().add_source("source", "a").add_processor("processor", Processor, "source")
    return topology.add_sink("sink", "out", "processor")


def with_global() -> Topology:
    topology = small()
    return topology.add_global_store(stores.key_value("g"), "g-source", "g", "g-update", Processor)


# What is read


def test_children_are_in_the_order_of_addition() -> None:
    topology = Topology().add_source("s", "a").add_source("t", "b")
    topology.add_sink("k2", "out", "s", "t").add_sink("k1", "out", "t", "s")
    assert topology.children("s") == ("k2", "k1")
    assert topology.children("t") == ("k2", "k1")
    assert topology.children("k1") == ()
    assert list(topology.nodes) == ["s", "t", "k2", "k1"]


def test_a_parent_that_is_named_twice_forwards_twice() -> None:
    topology = Topology().add_source("s", "a").add_sink("k", "out", "s", "s")
    assert topology.children("s") == ("k", "k")
    assert "      --> k\n" in str(topology.describe())


def test_config_is_kept() -> None:
    config = StreamsConfig({"application.id": "shop"})
    assert Topology(config).config is config
    assert Topology({"application.id": "shop"}).config.application_id == "shop"
    assert Topology().config.application_id == "app"


def test_internal_topics_and_copartition_groups() -> None:
    topology = Topology()
    topology.add_internal_topic("x-repartition", 4)
    topology.add_internal_topic("y-repartition")
    topology.copartition(["s", "t"])
    assert topology.internal_topics == {"x-repartition": 4, "y-repartition": None}
    assert topology.copartition_groups == (frozenset({"s", "t"}),)


def test_a_topology_can_be_pickled() -> None:
    topology = with_global().add_state_store(stores.key_value("s"), "processor")
    copy = pickle.loads(pickle.dumps(topology))
    assert str(copy.describe()) == str(topology.describe())
    assert copy.stores == topology.stores


# Stores


def test_stores_are_connected_once_and_in_order() -> None:
    topology = small()
    topology.add_state_store(stores.key_value("s1"), "processor")
    topology.add_state_store(stores.key_value("s2"))
    topology.connect_processor_and_state_stores("processor", "s2", "s1")
    node = topology.nodes["processor"]
    assert isinstance(node, ProcessorNode)
    assert node.stores == ("s1", "s2")
    assert list(topology.stores) == ["s1", "s2"]


def test_the_same_spec_may_be_added_again() -> None:
    spec = stores.key_value("s")
    topology = small().add_processor("other", Processor, "source", stores=[spec])
    topology.add_state_store(spec, "processor")
    node = topology.nodes["processor"]
    assert isinstance(node, ProcessorNode)
    assert node.stores == ("s",)


def test_a_node_may_be_added_with_its_stores() -> None:
    topology = small()
    topology.add_store(stores.key_value("s"))
    topology.add_node(ProcessorNode("p", PassThrough(), ("source",), ("s",)))
    assert "Processor: p (stores: [s])" in str(topology.describe())


def test_a_global_store_logs_nothing_and_is_restored_from_its_topic() -> None:
    topology = with_global()
    assert topology.global_stores == {"g"}
    assert not topology.stores["g"].logging
    assert topology.source_topics_of_stores == {"g": "g"}
    assert topology.children("g-source") == ("g-update",)


def test_a_read_only_store_logs_nothing_and_is_restored_from_its_topic() -> None:
    spec = stores.key_value("r", log_config={"retention.ms": "1"})
    topology = small().add_read_only_state_store(spec, "r-source", "r", "r-update", Processor)
    assert topology.global_stores == frozenset()
    assert not topology.stores["r"].logging
    assert topology.stores["r"].log_config == {}
    assert topology.source_topics_of_stores == {"r": "r"}
    source = topology.nodes["r-source"]
    assert isinstance(source, SourceNode)
    assert source.offset_reset == AutoOffsetReset.earliest()
    topology.add_state_store(spec, "processor")
    assert not topology.stores["r"].logging


# Mistakes


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda t: t.add_source("source", "b"), "'source' is already in the topology"),
        (lambda t: t.add_source("s"), "has no topics"),
        (lambda t: t.add_source("s", "a"), "'a' is already read by source 'source'"),
        (lambda t: t.add_source("s", "b", "b"), "'b' is already read"),
        (lambda t: t.add_source("s", "g"), "'g' is already read by source 'g-source'"),
        (lambda t: t.add_source("s", pattern=re.compile("[ab]")), "matches topic 'a'"),
        (
            lambda t: t.add_source("s", pattern=re.compile("x.*")).add_source("s2", "xy"),
            "it matches its pattern 'x.*'",
        ),
        (lambda t: t.add_processor("p", Processor), "has no parents"),
        (lambda t: t.add_processor("p", Processor, "nobody"), "'nobody' of node 'p' is not in"),
        (lambda t: t.add_processor("p", Processor, "p"), "its own parent"),
        (lambda t: t.add_processor("p", Processor, "sink"), "'sink' of node 'p' is a sink"),
        (lambda t: t.add_processor("source", Processor, "source"), "already in the topology"),
        (lambda t: t.add_sink("k", "out"), "has no parents"),
        (lambda t: t.add_sink("k", "out", "k"), "its own parent"),
        (lambda t: t.add_state_store(stores.key_value("s"), "nobody"), "Add the processor first"),
        (lambda t: t.add_state_store(stores.key_value("s"), "sink"), "a source or a sink"),
        (lambda t: t.add_state_store(stores.key_value("s"), "source"), "a source or a sink"),
        (lambda t: t.add_state_store(stores.key_value("g")), "Another state store called 'g'"),
        (
            lambda t: t.add_state_store(stores.key_value("s")).add_state_store(
                stores.key_value("s")
            ),
            "Another state store called 's'",
        ),
        (lambda t: t.connect_processor_and_state_stores("processor"), "Name one"),
        (lambda t: t.connect_processor_and_state_stores("processor", "x"), "'x' is not in"),
        (lambda t: t.connect_processor_and_state_stores("processor", "g"), "global one"),
        (
            lambda t: t.add_node(ProcessorNode("p", PassThrough(), ("source",), ("x",))),
            "'x' is not in",
        ),
        (
            lambda t: t.add_global_store(stores.key_value("h"), "h", "h", "h", Processor),
            "Give them different names",
        ),
        (
            lambda t: t.add_global_store(stores.key_value("g"), "h", "h", "hp", Processor),
            "Another state store called 'g'",
        ),
        (
            lambda t: t.add_global_store(stores.key_value("h"), "h", "a", "hp", Processor),
            "'a' is already read",
        ),
        (
            lambda t: t.add_global_store(stores.key_value("h"), "h", "h", "processor", Processor),
            "already in the topology",
        ),
        (
            lambda t: t.connect_source_store_and_topic("g", "a"),
            "already has the source topic 'g'",
        ),
        (lambda t: t.connect_source_store_and_topic("x", "a"), "'x' is not in"),
    ],
)
def test_topology_errors(mistake: Callable[[Topology], Any], words: str) -> None:
    with pytest.raises(TopologyError, match=re.escape(words)):
        mistake(with_global())


def test_a_pattern_may_match_a_global_topic_and_another_pattern() -> None:
    topology = with_global().add_source("s", pattern=re.compile("g.*"))
    topology.add_source("t", pattern=re.compile("g.+"))
    assert len(topology.subtopologies()) == 4


def test_a_pattern_must_match_the_whole_name() -> None:
    topology = Topology().add_source("s", pattern=re.compile("a"))
    assert topology.add_source("t", "ab").children("t") == ()


@pytest.mark.parametrize(
    "mistake",
    [
        lambda t: t.add_source(NOTHING, "b"),
        lambda t: t.add_source("s", NOTHING),
        lambda t: t.add_processor("p", NOTHING, "source"),
        lambda t: t.add_processor(NOTHING, Processor, "source"),
        lambda t: t.add_processor("p", Processor, NOTHING),
        lambda t: t.add_sink("k", NOTHING, "source"),
        lambda t: t.add_sink("k", "out", NOTHING),
        lambda t: t.add_state_store(NOTHING),
        lambda t: t.add_state_store(stores.KeyValueStoreSpec(name=NOTHING)),
        lambda t: t.add_state_store(stores.key_value("s"), NOTHING),
        lambda t: t.connect_processor_and_state_stores(NOTHING, "s"),
        lambda t: t.connect_processor_and_state_stores("processor", NOTHING),
        lambda t: t.add_global_store(NOTHING, "g", "g", "gp", Processor),
        lambda t: t.add_global_store(stores.key_value("g"), "g", NOTHING, "gp", Processor),
        lambda t: t.add_global_store(stores.key_value("g"), "g", "g", "gp", NOTHING),
        lambda t: t.add_read_only_state_store(NOTHING, "r", "r", "rp", Processor),
        lambda t: t.add_internal_topic(NOTHING),
    ],
)
def test_null_arguments(mistake: Callable[[Topology], Any]) -> None:
    with pytest.raises(NullArgumentError):
        mistake(small())


def test_topics_and_a_pattern_exclude_each_other() -> None:
    with pytest.raises(ArgumentError, match="the one or the other"):
        Topology().add_source("s", "a", pattern=re.compile("b"))


def test_a_supplier_must_make_a_new_processor_each_time() -> None:
    processor: Processor[str, str, str, str] = Processor()
    with pytest.raises(ArgumentError, match="the same object"):
        small().add_processor("p", lambda: processor, "source")
    with pytest.raises(ArgumentError, match="the same object"):
        small().add_global_store(stores.key_value("g"), "g", "g", "gp", lambda: processor)
    with pytest.raises(ArgumentError, match="must be callable"):
        small().add_processor("p", processor, "source")  # type: ignore[arg-type]


def copartitioned(left: int | None, right: int | None) -> Topology:
    topology = Topology().add_source("s", "a-repartition").add_source("t", "b-repartition")
    topology.add_internal_topic("a-repartition", left)
    topology.add_internal_topic("b-repartition", right)
    topology.copartition(["s", "t"])
    return topology


@pytest.mark.parametrize("counts", [(4, 4), (4, None), (None, None)])
def test_copartition_holds(counts: tuple[int | None, int | None]) -> None:
    copartitioned(*counts).check_copartition()


def test_copartition_is_broken() -> None:
    with pytest.raises(TopologyError, match="a-repartition has 4, b-repartition has 5"):
        copartitioned(4, 5).check_copartition()


def test_partitions_of_other_topics_are_not_known() -> None:
    topology = Topology().add_source("s", "a-repartition").add_source("t", "b")
    topology.add_internal_topic("a-repartition", 4)
    topology.copartition(["s", "t"])
    topology.check_copartition()


def test_nodes_keep_what_they_were_given() -> None:
    sink = SinkNode("k", "out", ("source",))
    topology = small()
    topology.add_node(sink)
    assert topology.nodes["k"] is sink
