"""Logical nodes whose output is a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.errors import ArgumentError, TopologyError
from headrace.topology.logical import Consumption, LogicalNode, Processing, write_processor
from headrace.topology.nodes import ProcessorNode
from headrace.topology.operators import (
    Aggregation,
    Operator,
    PassThrough,
    Suppress,
    TableFilter,
    TableRepartitionMap,
    TableSource,
)
from headrace.topology.stores import SessionStoreSpec, StoreSpec, WindowStoreSpec
from headrace.topology.topology import Topology
from headrace.topology.views import (
    JoinView,
    SessionStoreView,
    StoreView,
    SuppressView,
    TableView,
    WindowStoreView,
)


class TableNode(LogicalNode):
    """A node whose output is a table.

    `sends_old_values` is switched on by later operations that need the old value of a row.
    """

    sends_old_values = False

    def view(self) -> TableView:
        """How the current rows are read. A table that has no store yet but can have one gets it."""
        raise NotImplementedError

    def request_old_values(self, *, force: bool) -> bool:
        """Ask for the old value in every update, and answer whether it will come. `force`: give the
        table, or the one it is derived from, a store if that is needed for it."""
        raise NotImplementedError


def stores_of(view: TableView) -> tuple[str, ...]:
    """The stores that a processor must be connected to, to read a view."""
    match view:
        case StoreView(store) | WindowStoreView(store) | SessionStoreView(store):
            return (store,)
        case JoinView(this=this, other=other):
            return tuple(dict.fromkeys(stores_of(this) + stores_of(other)))
        case SuppressView(parent=parent, buffer_store=buffer):
            return (buffer, *stores_of(parent))
        case _:
            return stores_of(view.parent)


class StoredTable(TableNode):
    """A table of upserts. It has its store if `queryable`, or as soon as someone needs it."""

    def __init__(self, name: str, spec: StoreSpec, *, queryable: bool) -> None:
        super().__init__(name)
        self.spec = spec
        self.has_store = queryable

    def view(self) -> TableView:
        self.has_store = True
        return StoreView(self.spec.name)

    def request_old_values(self, *, force: bool) -> bool:
        if force:
            self.has_store = True
        self.sends_old_values = self.sends_old_values or self.has_store
        return self.sends_old_values

    def write(self, topology: Topology) -> None:
        self.write_table(topology, self.parent_names)

    def write_table(self, topology: Topology, parents: Sequence[str]) -> None:
        store = self.spec.name if self.has_store else None
        operator = TableSource(store, self.sends_old_values)
        write_processor(topology, self.name, operator, parents, [self.spec] if store else [])


class TopicTable(StoredTable):
    """A table that is read from a topic.

    `reuses_topic`: the store is restored from that topic, and has no changelog of its own.
    """

    def __init__(
        self,
        name: str,
        spec: StoreSpec,
        *,
        queryable: bool,
        source_name: str,
        topic: str,
        how: Consumption,
    ) -> None:
        super().__init__(name, spec, queryable=queryable)
        self.source_name = source_name
        self.topic = topic
        self.how = how
        self.reuses_topic = False

    def write(self, topology: Topology) -> None:
        topology.add_node(self.how.source(self.source_name, (self.topic,)))
        self.write_table(topology, (self.source_name,))
        if self.reuses_topic and self.has_store:
            topology.connect_source_store_and_topic(self.spec.name, self.topic)


class GlobalTable(LogicalNode):
    """A table of a whole topic, for every task."""

    def __init__(
        self, name: str, spec: StoreSpec | None, *, source_name: str, topic: str, how: Consumption
    ) -> None:
        super().__init__(name)
        self.spec = spec
        self.source_name = source_name
        self.topic = topic
        self.how = how

    def write(self, topology: Topology) -> None:
        if self.spec is None:
            raise ArgumentError(
                f"The global table of {self.topic!r} has a Materialized without a name. "
                "Give it a name, or leave the Materialized out."
            )
        topology.add_global(
            self.spec,
            self.how.source(self.source_name, (self.topic,)),
            ProcessorNode(self.name, TableSource(self.spec.name), (self.source_name,)),
        )


class DerivedTable(TableNode):
    """A table computed row by row from another. It has a store only if one was asked for.

    `derive` makes the view of this table from that of its parent.
    """

    def __init__(
        self,
        name: str,
        parent: TableNode,
        operator: Operator,
        derive: Callable[[TableView], TableView],
        *,
        spec: StoreSpec | None = None,
        stores: Sequence[StoreSpec] = (),
        connected: Sequence[str] = (),
    ) -> None:
        super().__init__(name)
        self.parent = parent
        self.operator = operator
        self.derive = derive
        self.spec = spec
        self.stores = [*([spec] if spec else []), *stores]
        self.connected = connected

    def view(self) -> TableView:
        return StoreView(self.spec.name) if self.spec else self.derive(self.parent.view())

    def request_old_values(self, *, force: bool) -> bool:
        if not self.sends_old_values:
            self.sends_old_values = self.spec is not None or self.parent.request_old_values(
                force=force
            )
        return self.sends_old_values

    def final_changes(self) -> dict[str, Any]:
        return {"send_old_values": self.sends_old_values}

    def write(self, topology: Topology) -> None:
        operator = self.operator._replace(**self.final_changes())
        write_processor(
            topology, self.name, operator, self.parent_names, self.stores, self.connected
        )


class FilteredTable(DerivedTable):
    """A filter. Where its parent has a store, it compares old and new rows, so that it needn't
    pass deletions of rows on that it never let through."""

    takes_versions = True

    def __init__(
        self,
        name: str,
        parent: TableNode,
        operator: TableFilter,
        derive: Callable[[TableView], TableView],
        *,
        spec: StoreSpec | None = None,
    ) -> None:
        super().__init__(name, parent, operator, derive, spec=spec)
        self.sends_old_values = parent.request_old_values(force=False)
        self.versioned = False

    def take_versions_from(self, parent: LogicalNode) -> None:
        self.versioned = True

    def final_changes(self) -> dict[str, Any]:
        return {**super().final_changes(), "versioned": self.versioned}


class AggregatedTable(TableNode):
    """The result of an aggregation, which always has a store."""

    def __init__(
        self, name: str, operator: Aggregation, spec: StoreSpec, *, grace_ms: int | None = None
    ) -> None:
        super().__init__(name)
        self.operator = operator
        self.spec = spec
        self.grace_ms = grace_ms

    def view(self) -> TableView:
        return view_of_store(self.spec)

    def request_old_values(self, *, force: bool) -> bool:
        self.sends_old_values = True
        return True

    def write(self, topology: Topology) -> None:
        operator = self.operator._replace(send_old_values=self.sends_old_values)
        write_processor(topology, self.name, operator, self.parent_names, [self.spec])


def view_of_store(spec: StoreSpec) -> TableView:
    if isinstance(spec, WindowStoreSpec):
        return WindowStoreView(spec.name)
    if isinstance(spec, SessionStoreSpec):
        return SessionStoreView(spec.name)
    return StoreView(spec.name)


class CogroupedTable(TableNode):
    """Brings the aggregations of several streams into one store together."""

    def __init__(self, name: str, aggregations: Sequence[AggregatedTable]) -> None:
        super().__init__(name)
        self.aggregations = aggregations

    def view(self) -> TableView:
        return self.aggregations[0].view()

    def request_old_values(self, *, force: bool) -> bool:
        for aggregation in self.aggregations:
            aggregation.request_old_values(force=force)
        return True

    def write(self, topology: Topology) -> None:
        write_processor(topology, self.name, PassThrough(), self.parent_names)


class SuppressedTable(TableNode):
    """A table whose updates are held back."""

    def __init__(self, name: str, parent: TableNode, operator: Suppress, buffer: StoreSpec) -> None:
        super().__init__(name)
        self.parent = parent
        self.operator = operator
        self.buffer = buffer
        self.output_versioned = False
        # The buffer answers reads with the row before those it holds back.
        parent.request_old_values(force=True)

    def view(self) -> TableView:
        return SuppressView(self.parent.view(), self.buffer.name)

    def request_old_values(self, *, force: bool) -> bool:
        return self.parent.request_old_values(force=force)

    def check(self) -> None:
        if all(parent.is_versioned() for parent in self.parents):
            raise TopologyError(
                f"{self.name!r} can't suppress the updates of a versioned table, nor of one "
                "that is derived from a versioned table. Suppress before the "
                "versioned store, or keep the table in another kind of store."
            )

    def write(self, topology: Topology) -> None:
        write_processor(topology, self.name, self.operator, self.parent_names, [self.buffer])


class TableRegrouping(Processing):
    """Re-keys the updates of a table, before they are repartitioned."""

    takes_versions = True
    operator: TableRepartitionMap

    def take_versions_from(self, parent: LogicalNode) -> None:
        self.operator = self.operator._replace(versioned=True)
