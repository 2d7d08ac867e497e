from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace import stores
from headrace.topology.processor import Processor
from headrace.topology.subtopologies import Subtopology
from headrace.topology.topology import Topology


def test_topics_do_not_connect() -> None:
    topology = Topology().add_source("s1", "a").add_sink("k1", "b", "s1")
    topology.add_source("s2", "b").add_sink("k2", "c", "s2")
    assert topology.subtopologies() == (
        Subtopology(0, ("s1", "k1"), frozenset()),
        Subtopology(1, ("s2", "k2"), frozenset()),
    )


def test_ids_follow_the_first_node() -> None:
    topology = Topology().add_source("s1", "a").add_source("s2", "b").add_source("s3", "c")
    topology.add_processor("p", Processor, "s3", "s1")
    assert [part.nodes for part in topology.subtopologies()] == [("s1", "s3", "p"), ("s2",)]


def test_shared_stores_connect() -> None:
    topology = Topology().add_source("s1", "a").add_source("s2", "b").add_source("s3", "c")
    for number in (1, 2, 3):
        topology.add_processor(f"p{number}", Processor, f"s{number}")
    topology.add_state_store(stores.key_value("store"), "p1", "p3")
    assert topology.subtopologies() == (
        Subtopology(0, ("s1", "s3", "p1", "p3"), frozenset({"store"})),
        Subtopology(1, ("s2", "p2"), frozenset()),
    )


def test_a_store_given_to_two_processors_connects_them() -> None:
    store = stores.key_value("store")
    topology = Topology().add_source("s1", "a").add_source("s2", "b")
    topology.add_processor("p1", Processor, "s1", stores=[store])
    topology.add_processor("p2", Processor, "s2", stores=[store])
    assert len(topology.subtopologies()) == 1


def test_a_store_that_nobody_uses_is_in_no_subtopology() -> None:
    topology = Topology().add_source("s", "a").add_state_store(stores.key_value("store"))
    assert topology.subtopologies() == (Subtopology(0, ("s",), frozenset()),)


def test_a_global_store_is_a_subtopology_of_its_own() -> None:
    topology = Topology().add_source("s", "a")
    topology.add_global_store(stores.key_value("g"), "gs", "g-topic", "gp", Processor)
    assert topology.subtopologies() == (
        Subtopology(0, ("s",), frozenset()),
        Subtopology(1, ("gs", "gp"), frozenset({"g"}), is_global=True),
    )


@given(st.lists(st.lists(st.integers(0, 30), max_size=3), max_size=25))
def test_every_node_is_in_one_subtopology_with_its_parents(graph: list[list[int]]) -> None:
    topology = Topology()
    for number, choices in enumerate(graph):
        parents = [f"n{choice % number}" for choice in choices] if number else []
        if parents:
            topology.add_processor(f"n{number}", Processor, *parents)
        else:
            topology.add_source(f"n{number}", f"t{number}")
    parts = topology.subtopologies()
    homes = {name: part.id for part in parts for name in part.nodes}
    assert sorted(name for part in parts for name in part.nodes) == sorted(topology.nodes)
    assert list(dict.fromkeys(homes[name] for name in topology.nodes)) == list(range(len(parts)))
    for name in topology.nodes:
        assert all(homes[name] == homes[child] for child in topology.children(name))
    described = topology.describe()
    assert [len(part.nodes) for part in described.subtopologies] == [len(p.nodes) for p in parts]
