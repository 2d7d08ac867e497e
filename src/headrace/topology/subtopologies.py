"""Sub-topologies: the parts of a topology that share neither edges nor stores.

Topics don't connect: what is written to a topic and read again is another sub-topology. A task is
one partition of one sub-topology.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from headrace.topology.nodes import Node, ProcessorNode, SourceNode


class Subtopology(NamedTuple):
    """`nodes` are in the order in which they were added to the topology.

    A global one fills a global store in every process; it has no tasks.
    """

    id: int
    nodes: tuple[str, ...]
    stores: frozenset[str]
    is_global: bool = False


def subtopologies(
    nodes: Mapping[str, Node], global_stores: Collection[str]
) -> tuple[Subtopology, ...]:
    """The sub-topologies, numbered by the first of their nodes in the order of `nodes`."""
    groups = _Groups(nodes)
    for node in nodes.values():
        groups.unite(node.name, parents(node))
    for users in _users_by_store(nodes.values()).values():
        groups.unite(users[0], users[1:])

    members: dict[str, list[str]] = {}
    for name in nodes:
        members.setdefault(groups.root(name), []).append(name)
    return tuple(
        _subtopology(number, names, nodes, global_stores)
        for number, names in enumerate(members.values())
    )


def parents(node: Node) -> tuple[str, ...]:
    return () if isinstance(node, SourceNode) else node.parents


def _subtopology(
    number: int, names: list[str], nodes: Mapping[str, Node], global_stores: Collection[str]
) -> Subtopology:
    stores = frozenset(_users_by_store(nodes[name] for name in names))
    is_global = any(store in global_stores for store in stores)
    return Subtopology(number, tuple(names), stores, is_global)


def _users_by_store(nodes: Iterable[Node]) -> dict[str, list[str]]:
    users: dict[str, list[str]] = {}
    for node in nodes:
        if isinstance(node, ProcessorNode):
            for store in node.stores:
                users.setdefault(store, []).append(node.name)
    return users


class _Groups:
    """Disjoint sets of names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parent = {name: name for name in names}

    def root(self, name: str) -> str:
        while (parent := self._parent[name]) != name:
            self._parent[name] = self._parent[parent]
            name = parent
        return name

    def unite(self, name: str, others: Iterable[str]) -> None:
        for other in others:
            self._parent[self.root(name)] = self.root(other)
