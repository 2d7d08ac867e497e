"""The graph of logical nodes: keeps them in order, and writes them into a topology."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from headrace.core.config import StreamsConfig
from headrace.core.errors import StateError
from headrace.topology.logical import LogicalNode, Repartition
from headrace.topology.logical_tables import TopicTable
from headrace.topology.naming import Naming
from headrace.topology.topology import Topology


class Root(LogicalNode):
    """The parent of all sources."""

    def __init__(self) -> None:
        super().__init__("root")

    def write(self, topology: Topology) -> None:
        pass


class LogicalGraph:
    """All logical nodes of a StreamsBuilder, and what the optimisations need to know of them."""

    def __init__(self, config: StreamsConfig) -> None:
        self.config = config
        self.naming = Naming()
        self.root = Root()
        self.repartitions_of: dict[LogicalNode, dict[Repartition, None]] = {}
        """Key-changing operations, with the repartitions that they make necessary."""
        self.merges: dict[LogicalNode, None] = {}
        self.table_sources: dict[TopicTable, None] = {}
        self.copartitioned: list[set[str]] = []
        self._internal_topics: list[str] = []
        self._nodes: dict[LogicalNode, None] = {}
        self._next_priority = 0

    def add(self, node: LogicalNode, *parents: LogicalNode) -> None:
        """Add a node under its parents. A node can be added again, which moves it back in the
        order of writing.

        Raises StateError if the topology was built already.
        """
        if self.root.written:
            raise StateError(
                f"{node.name!r} can't be added any more: the topology was built already. Call "
                "build() after everything else."
            )
        for parent in parents:
            parent.add_child(node)
            node.priority = self._next_priority
            self._next_priority += 1
            self._index(node)

    def _index(self, node: LogicalNode) -> None:
        if node.key_changing:
            self.repartitions_of[node] = {}
        elif isinstance(node, Repartition) and node.can_be_merged:
            self._index_repartition(node)
        elif node.is_merge:
            self.merges[node] = None
        elif isinstance(node, TopicTable):
            self.table_sources[node] = None
        self._nodes[node] = None

    def _index_repartition(self, node: Repartition) -> None:
        changer = node.find(lambda ancestor: ancestor.key_changing)
        # Behind an operation that changes values, the records have another serde.
        nearest = node.find(lambda ancestor: ancestor.key_changing or ancestor.value_changing)
        if changer is not None and changer is nearest:
            self.repartitions_of[changer][node] = None

    def add_internal_topic(self, name: str) -> None:
        self._internal_topics.append(name)

    def copartition(self, *groups: Iterable[str]) -> frozenset[str]:
        """Note that the topics of these sources must have the same number of partitions."""
        together = frozenset(name for group in groups for name in group)
        self.copartitioned.append(set(together))
        return together

    def rename_copartitioned(self, old: str, new: str) -> None:
        for group in self.copartitioned:
            if old in group:
                group.remove(old)
                group.add(new)

    def write(self, topology: Topology) -> None:
        """Write all nodes, parents before children, else by priority."""
        self._settle_versions()
        for name in self._internal_topics:
            topology.add_internal_topic(name)
        waiting: list[tuple[int, int, LogicalNode]] = [(0, 0, self.root)]
        offered = 1
        while waiting:
            _, _, node = heapq.heappop(waiting)
            if node.written or not all(parent.written for parent in node.parents):
                continue
            node.write(topology)
            node.written = True
            for child in node.children:
                heapq.heappush(waiting, (child.priority, offered, child))
                offered += 1
        self._write_copartitions(topology)
        if self.config["ensure.explicit.internal.resource.naming"]:
            self.naming.check_all_named()

    def _settle_versions(self) -> None:
        for node in self._nodes:
            if node.takes_versions:
                for parent in node.parents:
                    if parent.is_versioned():
                        node.take_versions_from(parent)
        for node in self._nodes:
            node.check()

    def _write_copartitions(self, topology: Topology) -> None:
        for group in self.copartitioned:
            topology.copartition(group)
        topology.check_copartition()
