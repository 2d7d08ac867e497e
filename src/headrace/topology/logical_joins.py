"""Logical nodes of joins: each becomes several processors, or checks what it is joined with."""

from __future__ import annotations

from typing import NamedTuple

from headrace.core.errors import ArgumentError
from headrace.topology.logical import LogicalNode, Processing, write_processor
from headrace.topology.logical_tables import TableNode, stores_of
from headrace.topology.operators import (
    ForeignKeySubscriptionSend,
    ForeignTableJoin,
    JoinSide,
    JoinWindowPut,
    PassThrough,
    StreamSelfJoin,
    StreamStreamJoin,
    StreamTableJoin,
    TableJoinMerge,
    TableTableJoin,
)
from headrace.topology.stores import StoreSpec, VersionedStoreSpec
from headrace.topology.topology import Topology
from headrace.topology.views import Function, JoinKind, JoinView, StoreView, TableView


class JoinWindowing(Processing):
    """Keeps the records of one side of a stream-stream join."""

    def __init__(self, name: str, store: StoreSpec) -> None:
        super().__init__(name, JoinWindowPut(store.name), stores=[store])
        self.store = store


class JoinSideParts(NamedTuple):
    """One side of a stream-stream join: its processor, and where its records are kept."""

    name: str
    windowing: JoinWindowing
    operator: StreamStreamJoin


class StreamJoin(LogicalNode):
    """Both sides of a stream-stream join, and their merge; or the join of a stream with itself."""

    def __init__(
        self,
        name: str,
        left: JoinSideParts,
        right: JoinSideParts,
        outer_store: StoreSpec | None,
        *,
        relaxes_null_keys: bool,
    ) -> None:
        super().__init__(name)
        self.left = left
        self.right = right
        self.outer_store = outer_store
        self.relaxes_null_keys = relaxes_null_keys
        self.is_self_join = False

    def write(self, topology: Topology) -> None:
        if self.is_self_join:
            self._write_self_join(topology)
            return
        self._write_side(topology, self.left, self.right)
        self._write_side(topology, self.right, self.left)
        write_processor(topology, self.name, PassThrough(), (self.left.name, self.right.name))

    def _write_side(self, topology: Topology, side: JoinSideParts, other: JoinSideParts) -> None:
        stores = [other.windowing.store, *([self.outer_store] if self.outer_store else [])]
        write_processor(topology, side.name, side.operator, (side.windowing.name,), stores)

    def _write_self_join(self, topology: Topology) -> None:
        join, store = self.left.operator, self.left.windowing.store
        operator = StreamSelfJoin(join.windows, store.name, join.joiner, join.with_key)
        write_processor(topology, self.name, operator, (self.left.windowing.name,), [store])


class TableLookup(Processing):
    """A stream-table join. With a grace period, the table must have enough history."""

    operator: StreamTableJoin

    def write(self, topology: Topology) -> None:
        super().write(topology)
        grace_ms = self.operator.grace_ms
        if grace_ms is None:
            return
        for name in self.connected:
            store = topology.stores[name]
            if not isinstance(store, VersionedStoreSpec):
                raise ArgumentError(
                    f"{self.name!r} joins with a grace period, so its table must be versioned, but "
                    f"{name!r} is not a versioned store. Materialize the table in one."
                )
            if grace_ms > store.history_ms:
                raise ArgumentError(
                    f"{self.name!r} joins with a grace period of {grace_ms} ms, but the history of "
                    f"{name!r} is only {store.history_ms} ms. Make it at least as long."
                )


class TableJoin(TableNode):
    """Both sides of a table-table join, and their merge, with a store if one was asked for."""

    takes_versions = True

    def __init__(
        self,
        name: str,
        left: TableNode,
        right: TableNode,
        *,
        kind: JoinKind,
        joiner: Function,
        left_name: str,
        right_name: str,
        spec: StoreSpec | None,
    ) -> None:
        super().__init__(name)
        self.left = left
        self.right = right
        self.kind = kind
        self.joiner = joiner
        self.left_name = left_name
        self.right_name = right_name
        self.spec = spec
        self.left_view = left.view()
        self.right_view = right.view()
        self.versioned: set[str] = set()

    def view(self) -> TableView:
        if self.spec:
            return StoreView(self.spec.name)
        return JoinView(self.kind, self.left_view, self.right_view, self.joiner)

    def request_old_values(self, *, force: bool) -> bool:
        self.left.request_old_values(force=True)
        self.right.request_old_values(force=True)
        self.sends_old_values = True
        return True

    def take_versions_from(self, parent: LogicalNode) -> None:
        self.versioned.add(parent.name)

    def write(self, topology: Topology) -> None:
        self._write_side(topology, JoinSide.LEFT, self.left_name, self.left, self.right_view)
        self._write_side(topology, JoinSide.RIGHT, self.right_name, self.right, self.left_view)
        merge = TableJoinMerge(self.spec.name if self.spec else None, self.sends_old_values)
        sides = (self.left_name, self.right_name)
        write_processor(topology, self.name, merge, sides, [self.spec] if self.spec else [])
        topology.connect(self.left_name, *stores_of(self.right_view))
        topology.connect(self.right_name, *stores_of(self.left_view))

    def _write_side(
        self, topology: Topology, side: JoinSide, name: str, table: TableNode, other: TableView
    ) -> None:
        operator = TableTableJoin(
            self.kind,
            side,
            other,
            self.joiner,
            self.sends_old_values,
            table.name in self.versioned,
        )
        write_processor(topology, name, operator, (table.name,))


class VersionAware(Processing):
    """A processor of a foreign-key join that drops out-of-order updates of versioned tables."""

    takes_versions = True
    operator: ForeignKeySubscriptionSend | ForeignTableJoin

    def take_versions_from(self, parent: LogicalNode) -> None:
        self.operator = self.operator._replace(versioned=True)
