"""How many partitions internal topics and tasks have."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.core.errors import TopologyError
from headrace.topology.nodes import SinkNode, SourceNode
from headrace.topology.subtopologies import Subtopology
from headrace.topology.topology import Topology


class PartitionCounts:
    """The partition count of every topic of a topology.

    `external(topic)` gives that of topics that exist already. An internal topic has the count it
    was given, or else that of the largest source of the sub-topologies that write to it. Topics
    that are joined must have the same count: internal ones adapt, external ones are checked.
    """

    def __init__(self, topology: Topology, external: Callable[[str], int]) -> None:
        self._topology = topology
        self._external = external
        self._internal: dict[str, int] = {
            topic: count for topic, count in topology.internal_topics.items() if count is not None
        }
        self._subtopologies = topology.subtopologies()
        for topic in topology.internal_topics:
            self._resolve(topic, frozenset())
        for group in topology.copartition_groups:
            self._copartition(group)

    def __getitem__(self, topic: str) -> int:
        """The count of a topic, internal ones named without the application id."""
        if topic in self._topology.internal_topics:
            return self._internal[topic]
        return self._external(topic)

    def of_subtopology(self, subtopology: Subtopology) -> int:
        """How many tasks it has."""
        return max((self[topic] for topic in self._sources_of(subtopology)), default=0)

    def _sources_of(self, subtopology: Subtopology) -> Iterable[str]:
        for name in subtopology.nodes:
            node = self._topology.nodes[name]
            if isinstance(node, SourceNode):
                yield from node.topics or (node.pattern.pattern if node.pattern else "",)

    def _resolve(self, topic: str, asked: frozenset[str]) -> int:
        if topic not in self._topology.internal_topics:
            return self._external(topic)
        if topic in self._internal:
            return self._internal[topic]
        if topic in asked:
            return 0
        asked |= {topic}
        count = max(
            (
                self._resolve(source, asked)
                for subtopology in self._subtopologies
                if self._writes(subtopology, topic)
                for source in self._sources_of(subtopology)
            ),
            default=0,
        )
        self._internal[topic] = count or 1
        return self._internal[topic]

    def _writes(self, subtopology: Subtopology, topic: str) -> bool:
        nodes = (self._topology.nodes[name] for name in subtopology.nodes)
        return any(isinstance(node, SinkNode) and node.topic == topic for node in nodes)

    def _copartition(self, group: frozenset[str]) -> None:
        topics = sorted(
            topic
            for name in group
            if isinstance(node := self._topology.nodes[name], SourceNode)
            for topic in node.topics
        )
        given = {topic: self[topic] for topic in topics if self._is_fixed(topic)}
        if len(set(given.values())) > 1:
            listed = ", ".join(f"{topic} has {count}" for topic, count in given.items())
            raise TopologyError(
                f"Topics that are joined must have the same number of partitions, but {listed}. "
                "Repartition one of them: stream.repartition(partitions=…)."
            )
        count = max((given or {topic: self[topic] for topic in topics}).values(), default=1)
        for topic in topics:
            if not self._is_fixed(topic):
                self._internal[topic] = count

    def _is_fixed(self, topic: str) -> bool:
        return self._topology.internal_topics.get(topic, -1) is not None
