"""The logical graph: what the DSL was told, before it is optimised and written into a topology.

A logical node becomes one or more nodes of the topology. Its operator is completed when it is
written: only then is known what later operations ask of it, such as old values or a store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from headrace.core.errors import TopologyError
from headrace.serde.serde import SerdeLike
from headrace.serde.windowed import WindowedSerde
from headrace.topology.naming import Naming
from headrace.topology.nodes import (
    AutoOffsetReset,
    Partitioner,
    ProcessorNode,
    SinkNode,
    SourceNode,
    TimestampExtractor,
    TopicNameExtractor,
)
from headrace.topology.operators import Operator, PassThrough, RepartitionFilter
from headrace.topology.stores import StoreSpec
from headrace.topology.timestamps import fail_on_invalid
from headrace.topology.topology import Topology


class LogicalNode:
    """A node of the logical graph.

    `priority` is the order of writing, as far as parents allow. `output_versioned` says whether
    the table that the node makes has history; None: as its parents.
    """

    key_changing = False
    value_changing = False
    is_merge = False
    relaxes_null_keys = False
    """A left or outer join of streams: records without a key must reach it."""
    takes_versions = False
    """What the node does depends on whether its input is a versioned table."""
    grace_ms: int | None = None
    """When the windows of the result are closed, if it is windowed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parents: dict[LogicalNode, None] = {}
        self.children: dict[LogicalNode, None] = {}
        self.priority = 0
        self.output_versioned: bool | None = None
        self.written = False

    @property
    def parent_names(self) -> tuple[str, ...]:
        return tuple(parent.name for parent in self.parents)

    def add_child(self, child: LogicalNode) -> None:
        self.children[child] = None
        child.parents[self] = None

    def remove_child(self, child: LogicalNode) -> None:
        if child in self.children:
            del self.children[child]
            del child.parents[self]

    def self_and_ancestors(self) -> Iterator[LogicalNode]:
        """This node, its first parent, that one's ancestors, then its second parent, and so on."""
        seen: set[LogicalNode] = set()
        stack: list[LogicalNode] = [self]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                yield node
                stack.extend(reversed(node.parents))

    def find(self, matches: Callable[[LogicalNode], bool]) -> LogicalNode | None:
        """This node or the nearest ancestor, first parents first, that matches."""
        return next(filter(matches, self.self_and_ancestors()), None)

    def is_versioned(self) -> bool:
        """Whether the output is a versioned table, its own or inherited from all parents."""
        if self.output_versioned is not None:
            return self.output_versioned
        return bool(self.parents) and all(parent.is_versioned() for parent in self.parents)

    def take_versions_from(self, parent: LogicalNode) -> None:
        """The input from `parent` is versioned; only called if `takes_versions`."""

    def check(self) -> None:
        """Raise TopologyError if the finished graph doesn't allow the node."""

    def write(self, topology: Topology) -> None:
        raise NotImplementedError


class Consumption(NamedTuple):
    """How topics are read."""

    key_serde: SerdeLike = None
    value_serde: SerdeLike = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: AutoOffsetReset | None = None

    def source(
        self, name: str, topics: Sequence[str], pattern: re.Pattern[str] | None = None
    ) -> SourceNode:
        return SourceNode(
            name,
            tuple(topics),
            pattern,
            self.key_serde,
            self.value_serde,
            self.timestamp_extractor,
            self.offset_reset,
        )


class StreamSource(LogicalNode):
    """Reads topics or a pattern. Sources of the same ones are merged."""

    def __init__(
        self, name: str, topics: Iterable[str], pattern: re.Pattern[str] | None, how: Consumption
    ) -> None:
        super().__init__(name)
        self.topics = tuple(dict.fromkeys(topics))
        self.pattern = pattern
        self.how = how

    def merge(self, other: StreamSource) -> None:
        """Take over the children of another source of the same topics."""
        if self.how.offset_reset != other.how.offset_reset:
            raise TopologyError(
                f"{', '.join(self.topics) or self.pattern} is read by {self.name!r} and "
                f"{other.name!r} with different offset resets. Give both the same one."
            )
        for child in list(other.children):
            other.remove_child(child)
            self.add_child(child)

    def write(self, topology: Topology) -> None:
        topology.add_node(self.how.source(self.name, self.topics, self.pattern))


class StreamSink(LogicalNode):
    def __init__(
        self,
        name: str,
        topic: str | TopicNameExtractor,
        key_serde: SerdeLike,
        value_serde: SerdeLike,
        partitioner: Partitioner | None = None,
    ) -> None:
        super().__init__(name)
        self.topic = topic
        self.key_serde = key_serde
        self.value_serde = value_serde
        if partitioner is None and isinstance(key_serde, WindowedSerde):
            partitioner = key_serde.partition
        self.partitioner = partitioner

    def write(self, topology: Topology) -> None:
        topology.add_node(
            SinkNode(
                self.name,
                self.topic,
                self.parent_names,
                self.key_serde,
                self.value_serde,
                self.partitioner,
            )
        )


class StateStore(LogicalNode):
    """A store that processors are connected to by name."""

    def __init__(self, spec: StoreSpec) -> None:
        super().__init__(spec.name)
        self.spec = spec

    def write(self, topology: Topology) -> None:
        topology.add_store(self.spec)


class GlobalStore(LogicalNode):
    """A global store that a processor of the user's fills."""

    def __init__(self, spec: StoreSpec, source: SourceNode, name: str, operator: Operator) -> None:
        super().__init__(spec.name)
        self.spec = replace(spec, logging=False, log_config={})
        self.source = source
        self.processor = ProcessorNode(name, operator, (source.name,))

    def write(self, topology: Topology) -> None:
        topology.add_global(self.spec, self.source, self.processor)


class Processing(LogicalNode):
    """One processor. `stores` are added, `connected` are the names of stores that are there."""

    def __init__(
        self,
        name: str,
        operator: Operator,
        *,
        stores: Sequence[StoreSpec] = (),
        connected: Sequence[str] = (),
        key_changing: bool = False,
        value_changing: bool = False,
        is_merge: bool = False,
        relaxes_null_keys: bool = False,
    ) -> None:
        super().__init__(name)
        self.operator = operator
        self.stores = stores
        self.connected = connected
        self.key_changing = key_changing
        self.value_changing = value_changing
        self.is_merge = is_merge
        self.relaxes_null_keys = relaxes_null_keys

    def final_operator(self) -> Operator:
        """The operator, completed by what is known now."""
        return self.operator

    def write(self, topology: Topology) -> None:
        write_processor(
            topology,
            self.name,
            self.final_operator(),
            self.parent_names,
            self.stores,
            self.connected,
        )


def write_processor(
    topology: Topology,
    name: str,
    operator: Operator,
    parents: Sequence[str],
    stores: Sequence[StoreSpec] = (),
    connected: Sequence[str] = (),
) -> None:
    """Add a processor; add `stores` to it; connect it to those named in `connected`."""
    topology.add_node(ProcessorNode(name, operator, tuple(parents)))
    for spec in stores:
        topology.add_store(spec, name)
    if connected:
        topology.connect(name, *connected)


class RepartitionNames(NamedTuple):
    topic: str
    sink: str
    filter: str
    source: str


_GENERATED = re.compile(r"KSTREAM.*-[0-9]{10}")


def name_repartition(naming: Naming, prefix: str, *, named: bool) -> RepartitionNames:
    """The names of a repartition. `named`: the user gave the prefix."""
    topic = prefix if prefix.endswith("-repartition") else f"{prefix}-repartition"
    if not named:
        naming.note_unnamed_repartition(topic)
    sink = naming.generate("KSTREAM-SINK-")
    filter_ = naming.generate("KSTREAM-FILTER-")
    source = naming.generate("KSTREAM-SOURCE-")
    if _GENERATED.fullmatch(prefix):
        return RepartitionNames(topic, sink, filter_, source)
    return RepartitionNames(topic, f"{topic}-sink", f"{topic}-filter", f"{topic}-source")


class Repartition(LogicalNode):
    """Sends records through an internal topic, so that those of a key come together.

    `keeps_null_keys`: records without a key go through too, because a left or outer join later
    on emits them. Else they are dropped here.
    """

    def __init__(
        self,
        names: RepartitionNames,
        key_serde: SerdeLike,
        value_serde: SerdeLike,
        *,
        can_be_merged: bool = True,
        partitioner: Partitioner | None = None,
        partitions: int | None = None,
    ) -> None:
        super().__init__(names.source)
        self.names = names
        self.key_serde = key_serde
        self.value_serde = value_serde
        self.can_be_merged = can_be_merged
        self.partitioner = partitioner
        self.partitions = partitions
        self.keeps_null_keys = True

    def write(self, topology: Topology) -> None:
        names = self.names
        topology.add_internal_topic(names.topic, self.partitions)
        operator = PassThrough() if self.keeps_null_keys else RepartitionFilter()
        topology.add_node(ProcessorNode(names.filter, operator, self.parent_names))
        write_internal_topic(
            topology, names, (names.filter,), self.key_serde, self.value_serde, self.partitioner
        )


class TableRepartition(LogicalNode):
    """Sends the updates of a regrouped table through an internal topic."""

    def __init__(
        self, names: RepartitionNames, key_serde: SerdeLike, change_serde: SerdeLike
    ) -> None:
        super().__init__(names.source)
        self.names = names
        self.key_serde = key_serde
        self.change_serde = change_serde

    def write(self, topology: Topology) -> None:
        topology.add_internal_topic(self.names.topic)
        write_internal_topic(
            topology, self.names, self.parent_names, self.key_serde, self.change_serde
        )


def write_internal_topic(
    topology: Topology,
    names: RepartitionNames,
    parents: Sequence[str],
    key_serde: SerdeLike,
    value_serde: SerdeLike,
    partitioner: Partitioner | None = None,
) -> None:
    """Add the sink and the source of an internal topic."""
    topology.add_node(
        SinkNode(names.sink, names.topic, tuple(parents), key_serde, value_serde, partitioner)
    )
    how = Consumption(key_serde, value_serde, fail_on_invalid)
    topology.add_node(how.source(names.source, (names.topic,)))
