"""What can be made better in a logical graph, or has to be, before it is written."""

from __future__ import annotations

import re

from headrace.core.errors import StateError, StreamsError, TopologyError
from headrace.serde.serde import SerdeLike
from headrace.topology.logical import LogicalNode, Repartition, StreamSource, name_repartition
from headrace.topology.logical_graph import LogicalGraph
from headrace.topology.logical_joins import StreamJoin


def optimize(graph: LogicalGraph, optimizations: frozenset[str]) -> None:
    """Rewrite the graph. `optimizations` are names of the setting topology.optimization."""
    merge_duplicate_sources(graph)
    if "reuse.ktable.source.topics" in optimizations:
        reuse_table_topics(graph)
    if "merge.repartition.topics" in optimizations:
        merge_repartitions(graph)
    if "single.store.self.join" in optimizations:
        rewrite_self_joins(graph)
    drop_null_keys_early(graph)


def merge_duplicate_sources(graph: LogicalGraph) -> None:
    """Streams of the same topics share a source.

    Raises TopologyError if two have some but not all topics in common, or different offset resets.
    """
    by_topic: dict[str, StreamSource] = {}
    by_pattern: dict[re.Pattern[str], StreamSource] = {}
    for node in list(graph.root.children):
        if not isinstance(node, StreamSource):
            continue
        if node.pattern is not None:
            twin = by_pattern.setdefault(node.pattern, node)
        else:
            twin = _twin(by_topic, node)
        if twin is not node:
            twin.merge(node)
            graph.root.remove_child(node)
            graph.rename_copartitioned(node.name, twin.name)


def _twin(by_topic: dict[str, StreamSource], node: StreamSource) -> StreamSource:
    """The earlier source of the same topics, or `node` itself."""
    twin = node
    for topic in node.topics:
        twin = by_topic.setdefault(topic, node)
        if set(twin.topics) != set(node.topics):
            raise TopologyError(
                f"{twin.name!r} reads {', '.join(twin.topics)} and {node.name!r} reads "
                f"{', '.join(node.topics)}: topic {topic!r} is in both, but they are not the same. "
                "Let streams read the same topics or different ones."
            )
    return twin


def reuse_table_topics(graph: LogicalGraph) -> None:
    """The topic that a table is read from serves as the changelog of its store."""
    for table in graph.table_sources:
        table.reuses_topic = True


def merge_repartitions(graph: LogicalGraph) -> None:
    """After an operation that changes keys, one repartition is enough for all that follows."""
    _move_behind_merges(graph)
    for changer, repartitions in graph.repartitions_of.items():
        if repartitions:
            _merge_repartitions_of(graph, changer, list(repartitions))


def _move_behind_merges(graph: LogicalGraph) -> None:
    """Where merged streams had their keys changed, the repartition belongs behind the merge."""
    changers_of: dict[LogicalNode, list[LogicalNode]] = {}
    for merge in graph.merges:
        changers_of[merge] = [
            changer
            for changer, repartitions in graph.repartitions_of.items()
            if all(_has_child_above(node, merge) for node in repartitions)
            and _has_child_above(merge, changer)
        ]
    for merge, changers in changers_of.items():
        graph.repartitions_of[merge] = {
            node: None for changer in changers for node in graph.repartitions_of[changer]
        }
    for changer in {changer for changers in changers_of.values() for changer in changers}:
        del graph.repartitions_of[changer]


def _child_above(node: LogicalNode, ancestor: LogicalNode) -> LogicalNode | None:
    """The child of `ancestor` that `node` descends from or is."""
    return node.find(lambda candidate: ancestor in candidate.parents)


def _has_child_above(node: LogicalNode, ancestor: LogicalNode) -> bool:
    return _child_above(node, ancestor) is not None


def _merge_repartitions_of(
    graph: LogicalGraph, changer: LogicalNode, repartitions: list[Repartition]
) -> None:
    merged = Repartition(
        name_repartition(graph.naming, repartitions[0].names.topic, named=True),
        _first_serde([node.key_serde for node in repartitions]),
        _first_serde([node.value_serde for node in repartitions]),
    )
    merged.priority = changer.priority
    for node in repartitions:
        child = _child_above(node, changer)
        if child is None:
            raise StreamsError(
                f"The repartition {node.name!r} can't be merged with others behind "
                f"{changer.name!r}. Switch the optimisation merge.repartition.topics off."
            )
        merged.add_child(child)
        changer.remove_child(child)
        _bypass(node)
        graph.rename_copartitioned(node.name, merged.name)
    changer.add_child(merged)


def _bypass(node: LogicalNode) -> None:
    """Take a node out, and connect its parents with its children."""
    for parent in list(node.parents):
        for child in node.children:
            parent.add_child(child)
        parent.remove_child(node)
    for child in list(node.children):
        node.remove_child(child)


def _first_serde(serdes: list[SerdeLike]) -> SerdeLike:
    return next((serde for serde in serdes if serde is not None), None)


def rewrite_self_joins(graph: LogicalGraph) -> None:
    """A stream that is joined with itself needs only one store."""
    seen: set[LogicalNode] = set()
    stack: list[LogicalNode] = [graph.root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, StreamJoin) and len(node.parents) == 1:
            _rewrite_self_join(node)
        stack.extend(reversed(node.children))


def _rewrite_self_join(join: StreamJoin) -> None:
    (parent,) = join.parents
    left, right = join.left.windowing, join.right.windowing
    if not (left in parent.children and right in parent.children):
        raise StateError(f"The join {join.name!r} is no self-join: its sides have other parents.")
    parent.remove_child(right)
    join.is_self_join = True


def drop_null_keys_early(graph: LogicalGraph) -> None:
    """Records without a key are dropped before a repartition, unless they go to a left or outer
    join, which emits them."""
    kept: set[LogicalNode] = set()
    reachable: set[LogicalNode] = set()
    stack: list[LogicalNode] = [graph.root]
    while stack:
        node = stack.pop()
        if node not in reachable:
            reachable.add(node)
            stack.extend(node.children)
            if node.relaxes_null_keys:
                kept.update(
                    ancestor for parent in node.parents for ancestor in parent.self_and_ancestors()
                )
    for node in reachable - kept:
        if isinstance(node, Repartition):
            node.keeps_null_keys = False
