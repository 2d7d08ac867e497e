"""A topology: sources, processors and sinks, connected by edges and by state stores."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from headrace.core.config import StreamsConfig
from headrace.core.errors import ArgumentError, TopologyError, require
from headrace.serde.serde import SerdeLike
from headrace.topology.description import TopologyDescription, describe
from headrace.topology.nodes import (
    AutoOffsetReset,
    Node,
    Partitioner,
    ProcessorNode,
    SinkNode,
    SourceNode,
    TimestampExtractor,
    TopicNameExtractor,
)
from headrace.topology.operators import Process
from headrace.topology.stores import StoreSpec
from headrace.topology.subtopologies import Subtopology, parents, subtopologies
from headrace.topology.suppliers import check_supplier

Supplier = Callable[[], Any]
"""Makes a new processor at every call; a processor class is one."""


@dataclass(slots=True)
class _Store:
    """A store in the topology. `given` is the very object that was added, `spec` what became of it:
    a store that is restored from its source topic logs nothing."""

    given: StoreSpec
    spec: StoreSpec = field(init=False)

    def __post_init__(self) -> None:
        self.spec = self.given

    def without_log(self) -> None:
        self.spec = replace(self.spec, logging=False, log_config={})


class Topology:
    """What is read, done and written.

    The methods that return the topology itself are the Processor API. The others are what the DSL
    builds with, and what a runtime reads.

    A wrong call raises TopologyError if it doesn't fit the topology so far, NullArgumentError if
    something that must be given is None, else ArgumentError.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.config = config if isinstance(config, StreamsConfig) else StreamsConfig(config)
        self._nodes: dict[str, Node] = {}
        self._children: dict[str, list[str]] = {}
        self._stores: dict[str, _Store] = {}
        self._global_stores: list[str] = []
        self._global_topics: set[str] = set()
        self._internal_topics: dict[str, int | None] = {}
        self._source_topics_of_stores: dict[str, str] = {}
        self._copartition_groups: list[frozenset[str]] = []

    # The Processor API

    def add_source(
        self,
        name: str,
        *topics: str,
        pattern: re.Pattern[str] | None = None,
        key: SerdeLike = None,
        value: SerdeLike = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: AutoOffsetReset | None = None,
    ) -> Topology:
        """Read topics, by name or by a pattern that must match the whole name.

        A topic can be read by one source only.
        """
        self.add_node(
            SourceNode(name, topics, pattern, key, value, timestamp_extractor, offset_reset)
        )
        return self

    def add_processor(
        self, name: str, supplier: Supplier, *parents: str, stores: Iterable[StoreSpec] = ()
    ) -> Topology:
        """Run a processor. `stores` are added to the topology and connected to the processor.

        The supplier is called twice at once, to see that it makes a new processor each time.
        """
        check_supplier(supplier)
        self.add_node(ProcessorNode(name, Process(supplier), parents))
        for spec in stores:
            self.add_store(spec, name)
        return self

    def add_sink(
        self,
        name: str,
        topic: str | TopicNameExtractor,
        *parents: str,
        key: SerdeLike = None,
        value: SerdeLike = None,
        partitioner: Partitioner | None = None,
    ) -> Topology:
        """Write to a topic, or to the one that `topic(key, value, context)` names."""
        self.add_node(SinkNode(name, topic, parents, key, value, partitioner))
        return self

    def add_state_store(self, spec: StoreSpec, *processors: str) -> Topology:
        """Add a store and connect processors to it; one that is connected to none isn't built."""
        self.add_store(spec, *processors)
        return self

    def connect_processor_and_state_stores(self, name: str, *stores: str) -> Topology:
        """Let a processor use stores. Global stores need no connection."""
        self.connect(name, *stores)
        return self

    def add_global_store(
        self,
        spec: StoreSpec,
        source_name: str,
        topic: str,
        processor_name: str,
        supplier: Supplier,
        *,
        key: SerdeLike = None,
        value: SerdeLike = None,
        timestamp_extractor: TimestampExtractor | None = None,
    ) -> Topology:
        """Add a store with the contents of a whole topic, that every processor can read.

        The processor must put the records in the store as they are. The topic serves as changelog,
        so the store's own logging is switched off.
        """
        require(spec, "The state store")
        check_supplier(supplier)
        self.add_global(
            spec,
            SourceNode(source_name, (topic,), None, key, value, timestamp_extractor),
            ProcessorNode(processor_name, Process(supplier), (source_name,), (spec.name,)),
        )
        return self

    def add_read_only_state_store(
        self,
        spec: StoreSpec,
        source_name: str,
        topic: str,
        processor_name: str,
        supplier: Supplier,
        *,
        key: SerdeLike = None,
        value: SerdeLike = None,
        timestamp_extractor: TimestampExtractor | None = None,
    ) -> Topology:
        """Add a store with the contents of the topic's partitions that a task reads.

        The processor must put the records in the store as they are, and no other may write to it.
        The topic serves as changelog, so the store's own logging is switched off.
        """
        require(spec, "The state store")
        self.add_source(
            source_name,
            topic,
            key=key,
            value=value,
            timestamp_extractor=timestamp_extractor,
            offset_reset=AutoOffsetReset.earliest(),
        )
        self.add_processor(processor_name, supplier, source_name, stores=[spec])
        self.connect_source_store_and_topic(spec.name, topic)
        return self

    def describe(self) -> TopologyDescription:
        """What the topology consists of, to print, to compare, or to draw."""
        return describe(self._nodes, self.subtopologies())

    # What the DSL builds with

    def add_node(self, node: Node) -> None:
        """Add a node whose parents, and stores if it has any, are there already."""
        self._check_name(node.name)
        if isinstance(node, SourceNode):
            self._check_source(node)
        else:
            if isinstance(node, SinkNode):
                require(node.topic, f"The topic of sink {node.name!r}")
            self._check_parents(node.name, node.parents)
        if isinstance(node, ProcessorNode) and node.stores:
            self._check_connectable(node.stores)
        self._insert(node)

    def add_store(self, spec: StoreSpec, *processors: str) -> None:
        """Add a store and connect processors to it. To add the same spec again is to connect only;
        another spec, even an equal one, must have another name."""
        require(spec, "The state store")
        require(spec.name, "The name of a state store")
        known = self._stores.get(spec.name)
        if known and (known.given is not spec or spec.name in self._global_stores):
            raise _name_taken(spec.name)
        if not known:
            self._stores[spec.name] = _Store(spec)
        for processor in processors:
            require(processor, f"A processor to connect to state store {spec.name!r}")
            self.connect(processor, spec.name)

    def connect(self, processor: str, *stores: str) -> None:
        """Let a processor use stores."""
        require(processor, "The processor to connect state stores to")
        if not stores:
            raise TopologyError(
                f"No state store was named to connect to processor {processor!r}. Name one."
            )
        self._check_connectable(stores)
        node = self._nodes.get(processor)
        if node is None:
            raise TopologyError(
                f"State stores {_names(stores)} can't be connected to processor {processor!r}, "
                "which is not in the topology. Add the processor first."
            )
        if not isinstance(node, ProcessorNode):
            raise TopologyError(
                f"State stores {_names(stores)} can't be connected to {processor!r}, which is a "
                "source or a sink. Only processors use stores."
            )
        self._nodes[processor] = node._replace(stores=tuple(dict.fromkeys(node.stores + stores)))

    def add_internal_topic(self, name: str, partitions: int | None = None) -> None:
        """Say that a topic is the application's own; its name is given without the application id.
        Partitions None: as many as the topics it is fed from."""
        require(name, "The name of an internal topic")
        self._internal_topics[name] = partitions

    def copartition(self, source_names: Iterable[str]) -> None:
        """Say that the topics of these sources must have the same number of partitions."""
        self._copartition_groups.append(frozenset(source_names))

    def check_copartition(self) -> None:
        """Raise TopologyError if internal topics that belong together were given different numbers
        of partitions. Those of other topics are not known before the topology runs."""
        for group in self._copartition_groups:
            sources = (source for source in self._sources() if source.name in group)
            topics = {topic for source in sources for topic in source.topics}
            counts = {topic: self._internal_topics.get(topic) for topic in sorted(topics)}
            if None not in counts.values() and len(set(counts.values())) > 1:
                listed = ", ".join(f"{topic} has {count}" for topic, count in counts.items())
                raise TopologyError(
                    f"Topics that are joined must have equal numbers of partitions, but {listed}. "
                    "Give their repartitions the same number."
                )

    def connect_source_store_and_topic(self, store: str, topic: str) -> None:
        """Say that a store holds what its source topic holds: it is restored from that topic, and
        its own logging is switched off."""
        if store in self._source_topics_of_stores:
            raise TopologyError(
                f"State store {store!r} already has the source topic "
                f"{self._source_topics_of_stores[store]!r}. A store can have one only."
            )
        if store not in self._stores:
            raise _unknown_store(store)
        self._source_topics_of_stores[store] = topic
        self._stores[store].without_log()

    def add_global(self, spec: StoreSpec, source: SourceNode, processor: ProcessorNode) -> None:
        """Add a global store, the source it is filled from, and the processor that fills it."""
        require(spec, "The global state store")
        require(spec.name, "The name of a global state store")
        self._check_name(source.name)
        self._check_source(source)
        self._check_name(processor.name)
        if source.name == processor.name:
            raise TopologyError(
                f"The source and the processor of global store {spec.name!r} are both called "
                f"{source.name!r}. Give them different names."
            )
        if spec.name in self._stores:
            raise _name_taken(spec.name)
        self._stores[spec.name] = _Store(spec)
        self._global_stores.append(spec.name)
        self._global_topics.update(source.topics)
        self._insert(source)
        self._insert(processor._replace(parents=(source.name,), stores=(spec.name,)))
        self.connect_source_store_and_topic(spec.name, source.topics[0])

    # What a runtime reads

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All nodes by name, in the order in which they were added: parents before children."""
        return MappingProxyType(self._nodes)

    @property
    def stores(self) -> Mapping[str, StoreSpec]:
        """All stores by name, global ones too."""
        return MappingProxyType({name: store.spec for name, store in self._stores.items()})

    @property
    def global_stores(self) -> frozenset[str]:
        """The names of the global stores."""
        return frozenset(self._global_stores)

    @property
    def internal_topics(self) -> Mapping[str, int | None]:
        """Repartition and subscription topics, named without the application id, with their numbers
        of partitions where one was given."""
        return MappingProxyType(self._internal_topics)

    @property
    def source_topics_of_stores(self) -> Mapping[str, str]:
        """The topic of each store that is restored from one that it doesn't write to itself."""
        return MappingProxyType(self._source_topics_of_stores)

    @property
    def copartition_groups(self) -> tuple[frozenset[str], ...]:
        """Names of sources whose topics must have the same number of partitions."""
        return tuple(self._copartition_groups)

    def children(self, name: str) -> tuple[str, ...]:
        """The nodes that a node forwards to, in this order."""
        return tuple(self._children[name])

    def subtopologies(self) -> tuple[Subtopology, ...]:
        """The parts that run independently of each other, connected only by topics."""
        return subtopologies(self._nodes, self._global_stores)

    # Checks

    def _insert(self, node: Node) -> None:
        self._nodes[node.name] = node
        self._children[node.name] = []
        for parent in parents(node):
            self._children[parent].append(node.name)

    def _check_name(self, name: str) -> None:
        require(name, "The name of a node")
        if name in self._nodes:
            raise TopologyError(
                f"A node called {name!r} is already in the topology. Give each node its own name."
            )

    def _check_source(self, source: SourceNode) -> None:
        if source.pattern is not None:
            self._check_pattern(source)
        elif not source.topics:
            raise TopologyError(f"Source {source.name!r} has no topics. Name at least one.")
        seen: set[str] = set()
        for topic in source.topics:
            require(topic, f"A topic of source {source.name!r}")
            if topic in seen:
                raise _topic_taken(topic, source.name)
            self._check_topic(topic)
            seen.add(topic)

    def _check_topic(self, topic: str) -> None:
        for other in self._sources():
            if topic in other.topics:
                raise _topic_taken(topic, other.name)
            if other.pattern is not None and other.pattern.fullmatch(topic):
                raise TopologyError(
                    f"Topic {topic!r} is already read by source {other.name!r}: it matches its "
                    f"pattern {other.pattern.pattern!r}. A topic can be read by one source only."
                )

    def _check_pattern(self, source: SourceNode) -> None:
        pattern = source.pattern
        assert pattern is not None
        if source.topics:
            raise ArgumentError(
                f"Source {source.name!r} has topics and a pattern. Give the one or the other."
            )
        for other in self._sources():
            for topic in other.topics:
                # The topics of global stores may match: they are read apart from the others.
                if topic not in self._global_topics and pattern.fullmatch(topic):
                    raise TopologyError(
                        f"The pattern {pattern.pattern!r} of source {source.name!r} matches topic "
                        f"{topic!r}, which is already read by source {other.name!r}. "
                        "A topic can be read by one source only."
                    )

    def _sources(self) -> Iterable[SourceNode]:
        return (node for node in self._nodes.values() if isinstance(node, SourceNode))

    def _check_parents(self, name: str, parents: tuple[str, ...]) -> None:
        if not parents:
            raise TopologyError(f"Node {name!r} has no parents. Name at least one.")
        for parent in parents:
            require(parent, f"A parent of node {name!r}")
            if parent == name:
                raise TopologyError(f"Node {name!r} can't be its own parent.")
            if parent not in self._nodes:
                raise TopologyError(
                    f"The parent {parent!r} of node {name!r} is not in the topology. "
                    "Add parents before their children."
                )
            if isinstance(self._nodes[parent], SinkNode):
                raise TopologyError(
                    f"The parent {parent!r} of node {name!r} is a sink, and sinks have no children."
                )

    def _check_connectable(self, stores: Iterable[str]) -> None:
        for store in stores:
            require(store, "The name of a state store")
            if store in self._global_stores:
                raise TopologyError(
                    f"Store {store!r} is a global one, which every processor can use as it is. "
                    "Don't connect it."
                )
            if store not in self._stores:
                raise _unknown_store(store)


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _name_taken(store: str) -> TopologyError:
    return TopologyError(
        f"Another state store called {store!r} is already in the topology. Give this one another "
        "name; or to share a store, add the same object again or connect by its name."
    )


def _unknown_store(store: str) -> TopologyError:
    return TopologyError(f"State store {store!r} is not in the topology. Add it first.")


def _topic_taken(topic: str, source: str) -> TopologyError:
    return TopologyError(
        f"Topic {topic!r} is already read by source {source!r}. A topic can be read by one source "
        "only: let several processors have that source as their parent."
    )
