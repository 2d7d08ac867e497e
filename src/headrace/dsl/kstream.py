"""Streams: unbounded sequences of records, each a fact of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TextIO, TypeVar

from headrace.core.arguments import require_function, require_type
from headrace.dsl.aggregations import Grouping
from headrace.dsl.branched import BranchedKStream
from headrace.dsl.checks import check_stream, check_target
from headrace.dsl.grouped import KGroupedStream
from headrace.dsl.handle import first
from headrace.dsl.joins import StreamJoins
from headrace.dsl.ktable import KTable, split_stores
from headrace.dsl.materialized import MaterializedLike, as_materialized, materialize
from headrace.dsl.with_key import WithKey, unwrap
from headrace.serde.serde import Serde, SerdeLike
from headrace.topology.logical import (
    LogicalNode,
    Processing,
    Repartition,
    StreamSink,
    name_repartition,
)
from headrace.topology.logical_graph import LogicalGraph
from headrace.topology.logical_tables import StoredTable
from headrace.topology.naming import check_name
from headrace.topology.nodes import Partitioner, TopicNameExtractor
from headrace.topology.operators import (
    Filter,
    FlatMap,
    FlatMapValues,
    Foreach,
    Map,
    MapValues,
    Operator,
    PassThrough,
    Peek,
    Print,
    Process,
    ProcessValues,
    SelectKey,
)
from headrace.topology.processor import FixedKeyProcessor, Processor
from headrace.topology.stores import StoreSpec
from headrace.topology.suppliers import check_supplier

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")

_KEEP: Any = object()


class KStream(StreamJoins[K, V]):
    """A stream of records. Every operation makes a new stream, and leaves this one as it is.

    Keys and values may be None; functions get them as they are. Operations that can change the
    key mark the stream: where records of a key must come together later (grouping, joining, making
    a table), they go through a repartition topic first. Serdes stay known as long as the type
    can't have changed; where one isn't known, the configured default is used.
    """

    def __init__(
        self, graph: LogicalGraph, node: LogicalNode, *, needs_repartition: bool, **handle: Any
    ) -> None:
        super().__init__(graph, node, **handle)
        self._needs_repartition = needs_repartition
        self._join_repartition: Repartition | None = None

    # One record at a time

    def filter(
        self, predicate: Callable[[K, V], bool], *, name: str | None = None
    ) -> KStream[K, V]:
        """The records that `predicate(key, value)` accepts."""
        require_function(predicate, "The predicate", "key", "value")
        return self._then(Filter(predicate), name, "KSTREAM-FILTER-")

    def filter_not(
        self, predicate: Callable[[K, V], bool], *, name: str | None = None
    ) -> KStream[K, V]:
        """The records that `predicate(key, value)` doesn't accept."""
        require_function(predicate, "The predicate", "key", "value")
        return self._then(Filter(predicate, negate=True), name, "KSTREAM-FILTER-")

    def select_key(
        self, selector: Callable[[K, V], K2], *, name: str | None = None
    ) -> KStream[K2, V]:
        """Records with the key that `selector(key, value)` gives. Changes the key."""
        require_function(selector, "The selector", "key", "value")
        return self._rekeyed(SelectKey(selector), name, "KSTREAM-KEY-SELECT-")

    def map(
        self, mapper: Callable[[K, V], tuple[K2, V2]], *, name: str | None = None
    ) -> KStream[K2, V2]:
        """Records with the key and value that `mapper(key, value)` gives. Changes the key: use
        `map_values` where it stays."""
        require_function(mapper, "The mapper", "key", "value")
        return self._rekeyed(Map(mapper), name, "KSTREAM-MAP-", value_serde=None)

    def flat_map(
        self, mapper: Callable[[K, V], Iterable[tuple[K2, V2]]], *, name: str | None = None
    ) -> KStream[K2, V2]:
        """For each record any number of pairs that `mapper(key, value)` gives. Changes the key."""
        require_function(mapper, "The mapper", "key", "value")
        return self._rekeyed(FlatMap(mapper), name, "KSTREAM-FLATMAP-", value_serde=None)

    def map_values(
        self, mapper: Callable[[V], V2] | WithKey[[K, V], V2], *, name: str | None = None
    ) -> KStream[K, V2]:
        """Records with the value that `mapper(value)` gives. The key stays."""
        function, takes_key = unwrap(mapper, "The mapper", "value")
        return self._revalued(MapValues(function, takes_key), name, "KSTREAM-MAPVALUES-")

    def flat_map_values(
        self,
        mapper: Callable[[V], Iterable[V2]] | WithKey[[K, V], Iterable[V2]],
        *,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """For each record any number of values that `mapper(value)` gives. The key stays."""
        function, takes_key = unwrap(mapper, "The mapper", "value")
        return self._revalued(FlatMapValues(function, takes_key), name, "KSTREAM-FLATMAPVALUES-")

    def peek(self, action: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Call `action(key, value)` for each record, and pass it on unchanged."""
        require_function(action, "The action", "key", "value")
        return self._then(Peek(action), name, "KSTREAM-PEEK-")

    def foreach(self, action: Callable[[K, V], object], *, name: str | None = None) -> None:
        """Call `action(key, value)` for each record."""
        require_function(action, "The action", "key", "value")
        self._then(Foreach(action), name, "KSTREAM-FOREACH-")

    def print(
        self,
        *,
        label: str | None = None,
        file: str | TextIO | None = None,
        mapper: Callable[[K, V], str] | None = None,
        name: str | None = None,
    ) -> None:
        """Print each record as `[label]: key, value`, or what `mapper(key, value)` gives in place
        of `key, value`; to standard output, a text stream, or a file by its path. Without a label,
        the name of this stream's node serves."""
        operator = Print(self._name if label is None else label, file, mapper)
        self._then(operator, name, "KSTREAM-PRINTER-")

    # Splitting, merging, writing

    def split(self, *, name: str | None = None) -> BranchedKStream[K, V]:
        """Split the stream into branches by predicates. `name` is put before their names."""
        return BranchedKStream(self, name)

    def merge(self, other: KStream[K, V], *, name: str | None = None) -> KStream[K, V]:
        """The records of both streams, in no particular order. Forgets the serdes."""
        check_stream(self, other)
        node_name = self._graph.naming.name(name, "KSTREAM-MERGE-")
        node = Processing(node_name, PassThrough(), is_merge=True)
        self._graph.add(node, self._node, other._node)
        return self._next(
            node,
            key_serde=None,
            value_serde=None,
            sources=self._sources | other._sources,
            needs_repartition=self._needs_repartition or other._needs_repartition,
        )

    def repartition(
        self,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
        partitions: int | None = None,
        partitioner: Partitioner | None = None,
    ) -> KStream[K, V]:
        """Send the records through a repartition topic, with as many partitions as given or as the
        topics they come from. Drops records without a key, unless a left or outer join follows.
        """
        if partitions is not None:
            require_type(partitions, int, "The number of partitions", "Give a whole number.")
        naming = self._graph.naming
        prefix = naming.generate("KSTREAM-REPARTITION-") if name is None else name
        node = Repartition(
            name_repartition(naming, prefix, named=name is not None),
            key,
            first(value, self._value_serde),
            can_be_merged=False,
            partitioner=partitioner,
            partitions=partitions,
        )
        self._graph.add(node, self._node)
        return self._next(
            node,
            key_serde=first(key, self._key_serde),
            value_serde=first(value, self._value_serde),
            sources=frozenset({node.name}),
            needs_repartition=False,
        )

    def to(
        self,
        topic: str | TopicNameExtractor,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        partitioner: Partitioner | None = None,
        name: str | None = None,
    ) -> None:
        """Write to a topic, or to the one that `topic(key, value, context)` names for each record;
        topics must exist."""
        check_target(topic)
        node = StreamSink(
            self._graph.naming.name(name, "KSTREAM-SINK-"),
            topic,
            first(key, self._key_serde),
            first(value, self._value_serde),
            partitioner,
        )
        self._graph.add(node, self._node)

    def to_table(
        self, materialized: MaterializedLike[K, V] = None, *, name: str | None = None
    ) -> KTable[K, V]:
        """A table of the records as upserts: None deletes a row; records without a key are
        dropped. Repartitions if the key was changed."""
        node_name = self._graph.naming.name(name, "KSTREAM-TOTABLE-")
        store = materialize(self._graph, as_materialized(materialized), "KSTREAM-TOTABLE-")
        store = store.or_serdes(self._key_serde, self._value_serde)
        parent, sources = self._node, self._sources
        if self._needs_repartition:
            names = name_repartition(self._graph.naming, node_name, named=name is not None)
            parent = Repartition(names, store.key_serde, store.value_serde)
            self._graph.add(parent, self._node)
            sources = frozenset({parent.name})
        node = StoredTable(node_name, store.key_value_store(), queryable=store.queryable)
        node.output_versioned = store.options.is_versioned
        self._graph.add(node, parent)
        return KTable(
            self._graph,
            node,
            key_serde=store.key_serde,
            value_serde=store.value_serde,
            sources=sources,
            queryable_store_name=store.queryable_name,
        )

    # Grouping

    def group_by_key(
        self,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K, V]:
        """Group by the key as it is, to aggregate. Repartitions only if the key was changed before;
        `name` then names the repartition topic."""
        return self._grouped(self._node, first(key, self._key_serde), value, name)

    def group_by(
        self,
        selector: Callable[[K, V], K2],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K2, V]:
        """Group by the key that `selector(key, value)` gives, to aggregate. Repartitions; `name`
        names the topic."""
        require_function(selector, "The selector", "key", "value")
        node = Processing(
            self._graph.naming.name(name, "KSTREAM-KEY-SELECT-"),
            SelectKey(selector),
            key_changing=True,
        )
        self._graph.add(node, self._node)
        return self._grouped(node, key, value, name, needs_repartition=True)

    # The Processor API

    def process(
        self,
        supplier: Callable[[], Processor[K, V, K2, V2]],
        *stores: str | StoreSpec,
        name: str | None = None,
    ) -> KStream[K2, V2]:
        """Run a processor: `supplier()` makes a Processor, and what that forwards is the new
        stream. `stores` are names of stores to connect, or specs of stores to add. Changes the
        key; use `process_values` where it stays.

        Raises ArgumentError if the supplier gives the same object twice.
        """
        node = self._processor(Process(supplier), supplier, stores, name, "KSTREAM-PROCESSOR-")
        return self._next(node, key_serde=None, value_serde=None, needs_repartition=True)

    def process_values(
        self,
        supplier: Callable[[], FixedKeyProcessor[K, V, V2]],
        *stores: str | StoreSpec,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Run a processor that can't change the key: `supplier()` makes a FixedKeyProcessor. See
        `process`."""
        operator = ProcessValues(supplier)
        node = self._processor(operator, supplier, stores, name, "KSTREAM-PROCESSVALUES-")
        return self._next(node, value_serde=None)

    # How streams are made of this one

    def _next(
        self,
        node: LogicalNode,
        *,
        key_serde: SerdeLike = _KEEP,
        value_serde: SerdeLike = _KEEP,
        sources: frozenset[str] | None = None,
        needs_repartition: bool | None = None,
    ) -> KStream[Any, Any]:
        """The stream that comes out of `node`, like this one unless said otherwise."""
        return KStream(
            self._graph,
            node,
            key_serde=self._key_serde if key_serde is _KEEP else key_serde,
            value_serde=self._value_serde if value_serde is _KEEP else value_serde,
            sources=self._sources if sources is None else sources,
            needs_repartition=(
                self._needs_repartition if needs_repartition is None else needs_repartition
            ),
        )

    def _then(self, operator: Operator, name: str | None, prefix: str) -> KStream[Any, Any]:
        node = Processing(self._graph.naming.name(name, prefix), operator)
        self._graph.add(node, self._node)
        return self._next(node)

    def _rekeyed(
        self, operator: Operator, name: str | None, prefix: str, value_serde: SerdeLike = _KEEP
    ) -> KStream[Any, Any]:
        node_name = self._graph.naming.name(name, prefix)
        node = Processing(node_name, operator, key_changing=True)
        self._graph.add(node, self._node)
        return self._next(node, key_serde=None, value_serde=value_serde, needs_repartition=True)

    def _revalued(self, operator: Operator, name: str | None, prefix: str) -> KStream[Any, Any]:
        node_name = self._graph.naming.name(name, prefix)
        node = Processing(node_name, operator, value_changing=True)
        self._graph.add(node, self._node)
        return self._next(node, value_serde=None)

    def _processor(
        self,
        operator: Operator,
        supplier: Callable[[], Any],
        stores: tuple[str | StoreSpec, ...],
        name: str | None,
        prefix: str,
    ) -> LogicalNode:
        naming = self._graph.naming
        node_name = naming.generate(prefix) if name is None else check_name(name)
        check_supplier(supplier)
        specs, names = split_stores(stores)
        node = Processing(node_name, operator, stores=specs, connected=names)
        self._graph.add(node, self._node)
        return node

    def _grouped(
        self,
        node: LogicalNode,
        key_serde: SerdeLike,
        value_serde: SerdeLike,
        name: str | None,
        *,
        needs_repartition: bool = False,
    ) -> KGroupedStream[Any, V]:
        grouping = Grouping(
            self._graph,
            node,
            key_serde=key_serde,
            value_serde=first(value_serde, self._value_serde),
            sources=self._sources,
            needs_repartition=needs_repartition or self._needs_repartition,
            name=name,
        )
        return KGroupedStream(grouping)

    def _repartitioned_for_join(
        self, name: str | None, key_serde: SerdeLike, value_serde: SerdeLike
    ) -> KStream[K, V]:
        """This stream, behind a repartition if its key was changed. Joins without a name share a
        repartition, but each takes its numbers from the counter."""
        if not self._needs_repartition:
            return self
        key_serde = first(key_serde, self._key_serde)
        value_serde = first(value_serde, self._value_serde)
        prefix = self._name if name is None else name
        names = name_repartition(self._graph.naming, prefix, named=name is not None)
        if self._join_repartition is None or prefix != self._name:
            self._join_repartition = Repartition(names, key_serde, value_serde)
            self._graph.add(self._join_repartition, self._node)
        return self._next(
            self._join_repartition,
            key_serde=key_serde,
            value_serde=value_serde,
            sources=frozenset({self._join_repartition.name}),
            needs_repartition=False,
        )
