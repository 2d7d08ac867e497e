"""Where the partitions of an application's stores are, as its driver knows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.app.metadata import HostInfo
from headrace.app.nodes import Nodes
from headrace.core.errors import StoreNotAvailableError
from headrace.query.local_state import GLOBAL, LocalState


class ClusterPlaces:
    """On the nodes of a cluster, and never here."""

    knows_all = True

    def __init__(self, state: Callable[[], LocalState], nodes: Callable[[], Nodes]) -> None:
        self._state = state
        self._nodes = nodes

    def partitions(self, store: str) -> list[int]:
        return sorted(self._state().partitions(store))

    def partition_of(self, store: str, key: Any) -> int:
        return self._state().partition_of(store, key)

    def place(self, store: str, partition: int, *, stale: bool) -> HostInfo | None:
        nodes = self._nodes()
        found = self._state().partitions(store, partition)[partition]
        if partition == GLOBAL:
            host = next(iter(nodes.addresses.values()), None)
        else:
            host = nodes.active(str(found.task))
            if host is None and stale:
                host = next((copy.host for copy in nodes.copies(str(found.task))), None)
        if host is None:
            raise StoreNotAvailableError(
                f"No host that can be reached has partition {partition} of store {store}: its task "
                "is being moved."
            )
        return host
