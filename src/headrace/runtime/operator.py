"""How an operator spec becomes a function.

Each operator module registers one compiler for each spec:

    @compiles(Filter)
    def compile_filter(operator: Filter, node: OperatorNode) -> Process:
        predicate, forward = operator.predicate, node.forward

        def process(key, value):
            if predicate(key, value):
                forward(key, value)

        return process
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from headrace.runtime.context import Process, TaskContext
from headrace.serde.serde import Serde, SerdeLike
from headrace.topology.operators import Operator

O = TypeVar("O", bound=Operator)

_COMPILERS: dict[type[Operator], Callable[[Any, OperatorNode], Process]] = {}


@dataclass(slots=True)
class OperatorNode:
    """What the compiler of an operator is given.

    `forward(key, value)` goes to all children in order; `children` has them by name. Errors of a
    child never come back through them unless processing is to stop.

    `stores` are the stores that the node is connected to, and all global ones (read-only).
    `shared` is a place, common to all nodes of the task, for what several of them share.
    What is appended to `on_init` runs before the first record, in the topology's order; what is
    appended to `on_close`, at the end.
    """

    name: str
    context: TaskContext
    forward: Process
    children: Mapping[str, Process]
    stores: Mapping[str, Any]
    resolve_serde: Callable[[SerdeLike, str], Serde[Any]]
    """`resolve_serde(serde, role)`, role "key" or "value": fills in the configured default."""
    schedule: Callable[..., Any]
    """`schedule(node_name, interval_ms, punctuation_type, callback, start_ms=None)`."""
    shared: dict[str, Any]
    on_init: list[Callable[[], None]] = field(default_factory=list)
    on_close: list[Callable[[], None]] = field(default_factory=list)


def compiles(
    spec: type[O],
) -> Callable[[Callable[[O, OperatorNode], Process]], Callable[[O, OperatorNode], Process]]:
    """Register the decorated function as the compiler of `spec`."""

    def register(
        compiler: Callable[[O, OperatorNode], Process],
    ) -> Callable[[O, OperatorNode], Process]:
        _COMPILERS[spec] = compiler
        return compiler

    return register


def compile_operator(operator: Operator, node: OperatorNode) -> Process:
    return _COMPILERS[type(operator)](operator, node)
