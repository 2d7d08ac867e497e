"""Tables that every task has in full."""

from __future__ import annotations

from typing import Generic, TypeVar

from headrace.topology.views import StoreView

K = TypeVar("K")
V = TypeVar("V")


class GlobalKTable(Generic[K, V]):
    """A table of a whole topic, a copy for every task: streams can join it by any key, without
    being partitioned like it. Its updates start no processing."""

    def __init__(self, view: StoreView, queryable_store_name: str | None) -> None:
        self._view = view
        self._queryable_store_name = queryable_store_name

    @property
    def queryable_store_name(self) -> str | None:
        """The store that the table can be queried by, or None."""
        return self._queryable_store_name

    def __repr__(self) -> str:
        return f"<GlobalKTable {self._view.store}>"
