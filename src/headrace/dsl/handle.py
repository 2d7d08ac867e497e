"""What streams, tables and groups have in common: a place in the logical graph."""

from __future__ import annotations

from typing import Generic, TypeVar

from headrace.serde.serde import SerdeLike
from headrace.topology.logical import LogicalNode
from headrace.topology.logical_graph import LogicalGraph

K = TypeVar("K")
V = TypeVar("V")


class Handle(Generic[K, V]):
    """A node of the logical graph, the serdes of what comes out of it as far as they are known, and
    the sources that it all comes from."""

    def __init__(
        self,
        graph: LogicalGraph,
        node: LogicalNode,
        *,
        key_serde: SerdeLike,
        value_serde: SerdeLike,
        sources: frozenset[str],
    ) -> None:
        self._graph = graph
        self._node = node
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._sources = sources

    @property
    def _name(self) -> str:
        return self._node.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"


def first(*serdes: SerdeLike) -> SerdeLike:
    """The first serde that is given."""
    return next((serde for serde in serdes if serde is not None), None)
