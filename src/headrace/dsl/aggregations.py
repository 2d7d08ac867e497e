"""The functions of count and reduce, and how an aggregation gets into the graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.serde.serde import SerdeLike
from headrace.topology.logical import LogicalNode, Repartition, name_repartition
from headrace.topology.logical_graph import LogicalGraph
from headrace.topology.logical_tables import AggregatedTable

AGGREGATE = "KSTREAM-AGGREGATE-"
REDUCE = "KSTREAM-REDUCE-"


def zero() -> int:
    return 0


def nothing() -> None:
    return None


def count_down(key: Any, value: Any, count: int) -> int:
    return count - 1


def add_counts(key: Any, one: int, other: int) -> int:
    return one + other


def as_aggregator(reducer: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """A reducer as an aggregator that begins with None."""
    return partial(_reduce, reducer)


def _reduce(reducer: Callable[[Any, Any], Any], key: Any, value: Any, aggregate: Any) -> Any:
    return value if aggregate is None else reducer(aggregate, value)


def as_merger(reducer: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """A reducer as the merger of two sessions, of which the first may have no value."""
    return partial(_merge, reducer)


def _merge(reducer: Callable[[Any, Any], Any], key: Any, one: Any, other: Any) -> Any:
    return other if one is None else reducer(one, other)


class Grouping:
    """A stream that is grouped by its key, and repartitioned when something is made of it."""

    def __init__(
        self,
        graph: LogicalGraph,
        node: LogicalNode,
        *,
        key_serde: SerdeLike,
        value_serde: SerdeLike,
        sources: frozenset[str],
        needs_repartition: bool,
        name: str | None,
    ) -> None:
        self.graph = graph
        self.node = node
        self.key_serde = key_serde
        self.value_serde = value_serde
        self.sources = sources
        self.needs_repartition = needs_repartition
        self.name = name
        self._repartition: Repartition | None = None

    def new_repartition(self, store: str, *, store_is_named: bool) -> Repartition:
        """A repartition that is called as the user said, or else like the store behind it."""
        named = self.name is not None or store_is_named
        names = name_repartition(self.graph.naming, self.name or store, named=named)
        return Repartition(names, self.key_serde, self.value_serde)

    def add(self, table: AggregatedTable, *, store_is_named: bool) -> frozenset[str]:
        """Put an aggregation into the graph, and say which sources it comes from.

        A repartition with a name of its own serves all aggregations of the group.
        """
        if not self.needs_repartition:
            self.graph.add(table, self.node)
            return self.sources
        repartition = self.new_repartition(table.spec.name, store_is_named=store_is_named)
        if self._repartition is None or self.name is None:
            self._repartition = repartition
        self.graph.add(self._repartition, self.node)
        self.graph.add(table, self._repartition)
        return frozenset({self._repartition.name})
