"""What a topology consists of, as data and as text.

The text is Kafka Streams' own, to the byte: topologies can be compared with it, and every tool that
reads it works.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from headrace.core.hash_order import TreeSet, copied_set_order, grown_set_order
from headrace.topology.mermaid import flowchart
from headrace.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode, TopicNameExtractor
from headrace.topology.subtopologies import Subtopology, parents


class SourceDescription(NamedTuple):
    """Reads `topics`, or the topics whose names match `pattern`."""

    name: str
    topics: tuple[str, ...]
    pattern: str | None
    successors: tuple[str, ...]

    def __str__(self) -> str:
        topics = _set_text(self.topics) if self.pattern is None else self.pattern
        return f"Source: {self.name} (topics: {topics})\n      --> {_names(self.successors)}"


class ProcessorDescription(NamedTuple):
    name: str
    stores: tuple[str, ...]
    predecessors: tuple[str, ...]
    successors: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"Processor: {self.name} (stores: {_set_text(self.stores)})"
            f"\n      --> {_names(self.successors)}\n      <-- {_names(self.predecessors)}"
        )


class SinkDescription(NamedTuple):
    """Writes to `topic`, or if that is None to what the function `extractor` names."""

    name: str
    topic: str | None
    extractor: str | None
    predecessors: tuple[str, ...]

    def __str__(self) -> str:
        if self.topic is not None:
            target = f"topic: {self.topic}"
        else:
            target = f"extractor class: {self.extractor}"
        return f"Sink: {self.name} ({target})\n      <-- {_names(self.predecessors)}"


NodeDescription = SourceDescription | ProcessorDescription | SinkDescription


class SubtopologyDescription(NamedTuple):
    """`nodes`: those with the most nodes after them first."""

    id: int
    nodes: tuple[NodeDescription, ...]

    def __str__(self) -> str:
        nodes = "".join(f"    {node}\n" for node in self.nodes)
        return f"Sub-topology: {self.id}\n{nodes}\n"


class GlobalStoreDescription(NamedTuple):
    """A global store is numbered like a sub-topology, but has no tasks."""

    id: int
    source: SourceDescription
    processor: ProcessorDescription

    @property
    def nodes(self) -> tuple[NodeDescription, ...]:
        return (self.source, self.processor)

    def __str__(self) -> str:
        return (
            f"Sub-topology: {self.id} for global store (will not generate tasks)\n"
            f"    {self.source}\n    {self.processor}\n"
        )


class TopologyDescription(NamedTuple):
    """What `Topology.describe` returns. `str()` of it is Kafka Streams' text."""

    subtopologies: tuple[SubtopologyDescription, ...]
    global_stores: tuple[GlobalStoreDescription, ...] = ()

    def parts(self) -> list[SubtopologyDescription | GlobalStoreDescription]:
        """Sub-topologies and global stores together, in the order of their ids."""
        return sorted([*self.subtopologies, *self.global_stores], key=lambda part: part.id)

    def __str__(self) -> str:
        return "Topologies:\n " + "".join(f"  {part}" for part in self.parts())

    def to_dict(self) -> dict[str, Any]:
        """The description as plain data: sub-topologies with their nodes, edges and stores, and the
        topics that are read and written."""
        nodes = [node for part in self.parts() for node in part.nodes]
        sources = [node for node in nodes if isinstance(node, SourceDescription)]
        sinks = [node for node in nodes if isinstance(node, SinkDescription)]
        return {
            "subtopologies": [_part_dict(part) for part in self.parts()],
            "topics": {
                "read": _unique(topic for source in sources for topic in source.topics),
                "written": _unique(sink.topic for sink in sinks if sink.topic is not None),
            },
        }

    def to_json(self) -> str:
        """`to_dict()` as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_mermaid(self) -> str:
        """A Mermaid flowchart, with sub-topologies as boxes."""
        return flowchart(self.to_dict())


def describe(nodes: Mapping[str, Node], parts: Iterable[Subtopology]) -> TopologyDescription:
    """The description of nodes that fall into these sub-topologies."""
    parts = tuple(parts)
    return TopologyDescription(
        tuple(_subtopology(nodes, part) for part in parts if not part.is_global),
        tuple(_global_store(nodes, part) for part in parts if part.is_global),
    )


def _subtopology(nodes: Mapping[str, Node], part: Subtopology) -> SubtopologyDescription:
    linked = _linked(nodes, part.nodes)
    in_order = sorted(linked, key=lambda node: (-node.size, node.sort_key))
    return SubtopologyDescription(part.id, tuple(node.description() for node in in_order))


def _global_store(nodes: Mapping[str, Node], part: Subtopology) -> GlobalStoreDescription:
    processor = next(
        node
        for node in (nodes[name] for name in part.nodes)
        if isinstance(node, ProcessorNode) and node.stores
    )
    source = nodes[processor.parents[0]]
    assert isinstance(source, SourceNode)
    return GlobalStoreDescription(
        part.id,
        SourceDescription(source.name, source.topics, None, (processor.name,)),
        ProcessorDescription(processor.name, processor.stores, (source.name,), ()),
    )


class _LinkedNode:
    """A node with its neighbours. `size` counts the ways down from it, itself included."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.size = 1
        self.sort_key = node.name.encode("utf-16-be", "surrogatepass")
        self.predecessors = TreeSet(_is_before)
        self.successors = TreeSet(_is_before)

    def description(self) -> NodeDescription:
        name = self.node.name
        predecessors = tuple(linked.node.name for linked in self.predecessors)
        successors = tuple(linked.node.name for linked in self.successors)
        match self.node:
            case SourceNode(topics=topics, pattern=pattern):
                regex = None if pattern is None else pattern.pattern
                return SourceDescription(name, tuple(copied_set_order(topics)), regex, successors)
            case ProcessorNode(stores=stores):
                in_order = copied_set_order(grown_set_order(stores))
                return ProcessorDescription(name, tuple(in_order), predecessors, successors)
            case SinkNode(topic=topic):
                if isinstance(topic, str):
                    return SinkDescription(name, topic, None, predecessors)
                return SinkDescription(name, None, _extractor_text(topic), predecessors)


def _is_before(one: _LinkedNode, other: _LinkedNode) -> bool:
    return (-one.size, one.sort_key) < (-other.size, other.sort_key)


def _linked(nodes: Mapping[str, Node], names: Iterable[str]) -> list[_LinkedNode]:
    """Link the nodes in the order of a hash map. Their sizes grow while they are linked, and the
    neighbours of a node stay where the sizes of that moment put them."""
    in_hash_order = grown_set_order(grown_set_order(names))
    by_name = {name: _LinkedNode(nodes[name]) for name in in_hash_order}
    for linked in by_name.values():
        for parent in parents(linked.node):
            predecessor = by_name[parent]
            linked.predecessors.add(predecessor)
            predecessor.successors.add(linked)
            _grow(predecessor, linked.size)
    return list(by_name.values())


def _grow(node: _LinkedNode, by: int) -> None:
    """Add to the size of a node and of all before it, once for each way up."""
    waiting = [node]
    while waiting:
        reached = waiting.pop()
        reached.size += by
        waiting.extend(reached.predecessors)


def _extractor_text(extractor: TopicNameExtractor) -> str:
    """Its own text if its class defines one, else its name: never its address in memory."""
    kind: Any = type(extractor)
    if kind.__str__ is not object.__str__:
        return str(extractor)
    named: Any = extractor if hasattr(extractor, "__qualname__") else kind
    return f"{named.__module__}.{named.__qualname__}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def _set_text(names: tuple[str, ...]) -> str:
    return f"[{', '.join(names)}]"


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _part_dict(part: SubtopologyDescription | GlobalStoreDescription) -> dict[str, Any]:
    stores = (
        store
        for node in part.nodes
        if isinstance(node, ProcessorDescription)
        for store in node.stores
    )
    return {
        "id": part.id,
        "global": isinstance(part, GlobalStoreDescription),
        "nodes": [_node_dict(node) for node in part.nodes],
        "edges": [
            [node.name, successor]
            for node in part.nodes
            if not isinstance(node, SinkDescription)
            for successor in node.successors
        ],
        "stores": _unique(stores),
    }


def _node_dict(node: NodeDescription) -> dict[str, Any]:
    match node:
        case SourceDescription(name, topics, pattern):
            return {"kind": "source", "name": name, "topics": list(topics), "pattern": pattern}
        case ProcessorDescription(name, stores):
            return {"kind": "processor", "name": name, "stores": list(stores)}
        case SinkDescription(name, topic, extractor):
            return {"kind": "sink", "name": name, "topic": topic, "extractor": extractor}
