"""Tables: the latest value of each key, and the changes that led to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from headrace.core.arguments import require_function, require_type
from headrace.core.errors import ArgumentError, TopologyError, require
from headrace.dsl.handle import Handle
from headrace.dsl.materialized import (
    Materialization,
    MaterializedLike,
    as_materialized,
    optional_store,
)
from headrace.dsl.suppressed import Suppressed
from headrace.dsl.with_key import WithKey, unwrap
from headrace.serde.serde import Serde, SerdeLike
from headrace.topology.logical import LogicalNode, Processing
from headrace.topology.logical_graph import LogicalGraph
from headrace.topology.logical_tables import (
    DerivedTable,
    FilteredTable,
    SuppressedTable,
    TableNode,
    TableRegrouping,
)
from headrace.topology.nodes import Partitioner
from headrace.topology.operators import (
    Suppress,
    SuppressTime,
    TableFilter,
    TableMapValues,
    TableRepartitionMap,
    TableToStream,
    TableTransformValues,
)
from headrace.topology.processor import ValueTransformer
from headrace.topology.stores import StoreSpec, SuppressBufferSpec
from headrace.topology.views import FilterView, JoinKind, MapValuesView, TransformValuesView

if TYPE_CHECKING:
    from headrace.dsl.grouped import KGroupedTable
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
VR = TypeVar("VR")
KO = TypeVar("KO")


class KTable(Handle[K, V]):
    """A table: every record is an update of the row of its key, and a value of None deletes it.

    A table is kept in a store if it was given a name for it, or if a later operation needs one;
    other tables are computed from the one they are derived from.
    """

    _node: TableNode

    def __init__(
        self,
        graph: LogicalGraph,
        node: TableNode,
        *,
        queryable_store_name: str | None,
        **handle: Any,
    ) -> None:
        super().__init__(graph, node, **handle)
        self._queryable_store_name = queryable_store_name

    @property
    def queryable_store_name(self) -> str | None:
        """The store that the table can be queried by, or None."""
        return self._queryable_store_name

    def filter(
        self,
        predicate: Callable[[K, V], bool],
        materialized: MaterializedLike[K, V] = None,
        *,
        name: str | None = None,
    ) -> KTable[K, V]:
        """The rows that `predicate(key, value)` accepts. A row that it doesn't accept any more is
        deleted; it isn't called for deletions."""
        return self._filter(predicate, materialized, name, negate=False)

    def filter_not(
        self,
        predicate: Callable[[K, V], bool],
        materialized: MaterializedLike[K, V] = None,
        *,
        name: str | None = None,
    ) -> KTable[K, V]:
        """The rows that `predicate(key, value)` doesn't accept."""
        return self._filter(predicate, materialized, name, negate=True)

    def _filter(
        self,
        predicate: Callable[[K, V], bool],
        materialized: MaterializedLike[K, V],
        name: str | None,
        *,
        negate: bool,
    ) -> KTable[K, V]:
        require_function(predicate, "The predicate", "key", "value")
        store = self._optional_store(materialized, "KTABLE-FILTER-", self._value_serde)
        node_name = self._graph.naming.name(name, "KTABLE-FILTER-")
        node = FilteredTable(
            node_name,
            self._node,
            TableFilter(predicate, negate, _name_of(store)),
            partial(FilterView, predicate=predicate, negate=negate),
            spec=_spec_of(store),
        )
        return self._derived(node, store, store.value_serde if store else self._value_serde)

    def map_values(
        self,
        mapper: Callable[[V], VR] | WithKey[[K, V], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """`mapper(value)` for each row; it isn't called for deletions. Keeps the key serde."""
        function, takes_key = unwrap(mapper, "The mapper", "value")
        store = self._optional_store(materialized, "KTABLE-MAPVALUES-")
        node_name = self._graph.naming.name(name, "KTABLE-MAPVALUES-")
        node = DerivedTable(
            node_name,
            self._node,
            TableMapValues(function, takes_key, _name_of(store)),
            partial(MapValuesView, mapper=function, with_key=takes_key),
            spec=_spec_of(store),
        )
        return self._derived(node, store, store.value_serde if store else None)

    def transform_values(
        self,
        supplier: Callable[[], ValueTransformer[K, V, VR]],
        *stores: str | StoreSpec,
        materialized: MaterializedLike[K, VR] = None,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """Each row through a transformer that may use stores.

        `supplier()` makes an object with `init(context)`, `transform(key, value)` and `close()`;
        unlike a mapper, it is called for deletions too. `stores` are names of stores to connect,
        or specs of stores to add. A table without a store of its own calls the transformer
        whenever it is read, with a transformer of its own.
        """
        require_function(supplier, "The supplier")
        specs, names = split_stores(stores)
        store = optional_store(self._graph, as_materialized(materialized), self._key_serde)
        node_name = self._graph.naming.name(name, "KTABLE-TRANSFORMVALUES-")
        node = DerivedTable(
            node_name,
            self._node,
            TableTransformValues(supplier, _name_of(store)),
            partial(TransformValuesView, supplier=supplier),
            spec=_spec_of(store),
            stores=specs,
            connected=names,
        )
        return self._derived(node, store, store.value_serde if store else None)

    @overload
    def to_stream(self, *, name: str | None = None) -> KStream[K, V]: ...
    @overload
    def to_stream(
        self, key_mapper: Callable[[K, V], K2], *, name: str | None = None
    ) -> KStream[K2, V]: ...
    def to_stream(
        self, key_mapper: Callable[[K, V], Any] | None = None, *, name: str | None = None
    ) -> KStream[Any, V]:
        """The changes of the table as a stream, deletions as None. With `key_mapper(key, value)`
        the stream gets other keys, and is repartitioned where that matters."""
        from headrace.dsl.kstream import KStream

        if key_mapper is not None:
            require_function(key_mapper, "The key mapper", "key", "value")
        node = Processing(self._graph.naming.name(name, "KTABLE-TOSTREAM-"), TableToStream())
        self._graph.add(node, self._node)
        stream: KStream[K, V] = KStream(
            self._graph,
            node,
            key_serde=self._key_serde,
            value_serde=self._value_serde,
            sources=self._sources,
            needs_repartition=False,
        )
        return stream if key_mapper is None else stream.select_key(key_mapper)

    def suppress(self, suppressed: Suppressed) -> KTable[K, V]:
        """Hold updates back, so that fewer are emitted: of several of a key only the last.

        Raises TopologyError if the table is versioned, or if it is to be suppressed until windows
        close but is not windowed.
        """
        require_type(
            suppressed, Suppressed, "What to suppress", "Use Suppressed.until_window_closes(…)."
        )
        if self._node.output_versioned:
            raise TopologyError(
                f"The table {self._name!r} is versioned, and updates of versioned tables can't be "
                "suppressed."
            )
        name = suppressed.name or self._graph.naming.generate("KTABLE-SUPPRESS-")
        final = suppressed.wait_ms is None
        wait_ms = window_grace_ms(self._node) if suppressed.wait_ms is None else suppressed.wait_ms
        buffer = self._suppress_buffer(suppressed)
        operator = Suppress(
            buffer.name,
            SuppressTime.WINDOW_END if final else SuppressTime.RECORD,
            wait_ms,
            suppressed.buffer.record_limit,
            suppressed.buffer.byte_limit,
            suppressed.buffer.when_full,
            drop_tombstones=final,
        )
        node = SuppressedTable(name, self._node, operator, buffer)
        return self._derived(node, None, self._value_serde)

    def _suppress_buffer(self, suppressed: Suppressed) -> StoreSpec:
        naming, config = self._graph.naming, suppressed.buffer
        if suppressed.name is not None:
            store_name = f"{suppressed.name}-store"
        else:
            store_name = naming.generate_store("KTABLE-SUPPRESS-")
            if config.logging:
                naming.note_unnamed_changelog(store_name)
        return SuppressBufferSpec(
            name=store_name,
            key_serde=self._key_serde,
            value_serde=self._value_serde,
            logging=config.logging,
            log_config=config.log_config,
        )

    def group_by(
        self,
        selector: Callable[[K, V], tuple[K2, V2]],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> KGroupedTable[K2, V2]:
        """Group the rows by a new key, to aggregate them: `selector(key, value)` gives the new key
        and value. Needs the old rows, so the table gets a store. Always repartitions."""
        from headrace.dsl.grouped import KGroupedTable

        require_function(selector, "The selector", "key", "value")
        node_name = self._graph.naming.name(name, "KTABLE-SELECT-")
        node = TableRegrouping(node_name, TableRepartitionMap(selector))
        self._graph.add(node, self._node)
        self._node.request_old_values(force=True)
        return KGroupedTable(
            self._graph,
            node,
            name=name,
            key_serde=key,
            value_serde=value,
            sources=self._sources,
        )

    def join(
        self,
        other: KTable[KO, V2],
        joiner: Callable[[V, V2], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        foreign_key: Callable[[V], KO | None] | WithKey[[K, V], KO | None] | None = None,
        name: str | None = None,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
    ) -> KTable[K, VR]:
        """Rows that are in both tables: `joiner(this, other)`.

        Without `foreign_key`, rows of the same key are joined; both tables must be partitioned
        alike. With it, each row is joined with that row of `other` whose key `foreign_key(value)`
        gives: subscriptions and responses go through internal topics, which `other_partitioner`
        and `partitioner` must partition like the other table and this one, if those aren't
        partitioned by default. A row without a foreign key joins nothing.
        """
        return self._join(
            JoinKind.INNER,
            other,
            joiner,
            materialized,
            foreign_key,
            name,
            partitioner,
            other_partitioner,
        )

    def left_join(
        self,
        other: KTable[KO, V2],
        joiner: Callable[[V, V2 | None], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        foreign_key: Callable[[V], KO | None] | WithKey[[K, V], KO | None] | None = None,
        name: str | None = None,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
    ) -> KTable[K, VR]:
        """All rows of this table, with None for a row that the other doesn't have. See `join`."""
        return self._join(
            JoinKind.LEFT,
            other,
            joiner,
            materialized,
            foreign_key,
            name,
            partitioner,
            other_partitioner,
        )

    def outer_join(
        self,
        other: KTable[K, V2],
        joiner: Callable[[V | None, V2 | None], VR],
        materialized: MaterializedLike[K, VR] = None,
        *,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """Rows that are in either table, with None for the missing side. See `join`."""
        from headrace.dsl.table_joins import join_tables

        return join_tables(self, other, joiner, JoinKind.OUTER, materialized, name)

    def _join(
        self,
        kind: JoinKind,
        other: KTable[Any, Any],
        joiner: Callable[[Any, Any], Any],
        materialized: MaterializedLike[K, Any],
        foreign_key: Callable[[V], Any] | WithKey[[K, V], Any] | None,
        name: str | None,
        partitioner: Partitioner | None,
        other_partitioner: Partitioner | None,
    ) -> KTable[K, Any]:
        from headrace.dsl.foreign_key_joins import join_on_foreign_key
        from headrace.dsl.table_joins import join_tables

        if foreign_key is not None:
            return join_on_foreign_key(
                self,
                other,
                foreign_key,
                joiner,
                kind,
                materialized,
                name,
                partitioner,
                other_partitioner,
            )
        if partitioner is not None or other_partitioner is not None:
            raise ArgumentError("Only a foreign-key join takes partitioners: give a foreign_key")
        return join_tables(self, other, joiner, kind, materialized, name)

    def _optional_store(
        self, materialized: MaterializedLike[Any, Any], prefix: str, value: SerdeLike = None
    ) -> Materialization | None:
        options = as_materialized(materialized)
        if options is not None and options.store_name is None:
            # There will be no store, but Kafka Streams counts it.
            self._graph.naming.generate_store(prefix)
        return optional_store(self._graph, options, self._key_serde, value)

    def _derived(
        self, node: TableNode, store: Materialization | None, value_serde: SerdeLike
    ) -> KTable[K, Any]:
        if store is not None:
            node.output_versioned = store.options.is_versioned
        self._graph.add(node, self._node)
        return KTable(
            self._graph,
            node,
            key_serde=store.key_serde if store else self._key_serde,
            value_serde=value_serde,
            sources=self._sources,
            queryable_store_name=store.queryable_name if store else None,
        )


def _name_of(store: Materialization | None) -> str | None:
    return store.queryable_name if store else None


def _spec_of(store: Materialization | None) -> StoreSpec | None:
    return store.key_value_store() if store and store.queryable else None


def split_stores(stores: tuple[str | StoreSpec, ...]) -> tuple[list[StoreSpec], list[str]]:
    """Specs of stores to add, and names of stores to connect."""
    for store in stores:
        require(store, "A state store")
    return (
        [store for store in stores if isinstance(store, StoreSpec)],
        [store for store in stores if isinstance(store, str)],
    )


def window_grace_ms(node: LogicalNode, below: tuple[str, ...] = ()) -> int:
    """How long after their end the windows of a table are closed; the longest of all parents.

    Raises TopologyError if the table is not windowed.
    """
    if node.grace_ms is not None:
        return node.grace_ms
    if not node.parents:
        raise TopologyError(
            "Only windowed tables can be suppressed until their windows close, but there are no "
            f"windows in {' -> '.join(below)}. Use Suppressed.until_time_limit for other tables."
        )
    return max(window_grace_ms(parent, (node.name, *below)) for parent in node.parents)
