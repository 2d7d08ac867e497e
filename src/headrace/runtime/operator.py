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
from typing import Any, TypeVar, cast

from headrace.runtime.context import Process, TaskContext
from headrace.serde.serde import Serde, SerdeLike
from headrace.topology.operators import Operator

O = TypeVar("O", bound=Operator)
T = TypeVar("T", bound="OperatorTime")

_COMPILERS: dict[type, Callable[[Any, OperatorNode], Process]] = {}


class OperatorTime:
    """The highest timestamp that an operator has seen; -1 before the first record.

    The task commits it, so that a restart doesn't reopen windows that were closed.
    """

    __slots__ = ("stream_time",)

    def __init__(self, remembered: Mapping[str, int]) -> None:
        self.stream_time = remembered.get("stream-time", -1)

    def metadata(self) -> dict[str, int]:
        """What is given to the next one as `remembered`."""
        return {"stream-time": self.stream_time}


@dataclass(slots=True)
class OperatorNode:
    """What the compiler of an operator is given.

    `forward(key, value)` goes to all children in order; `children` has them by name. Errors of a
    child never come back through them unless processing is to stop.

    `stores` are the stores that the node is connected to, and all global ones (read-only).
    What a `process` raises goes to `failed(key, value, error)`, which hands it to the handlers. The
    task sees to that, at the cost of one more call for each record. An operator that most records
    pass may do it itself and say so: `guards_itself`.

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
    times: dict[str, OperatorTime]
    """The times of all operators of the task, by name."""
    failed: Callable[[Any, Any, Exception], None]
    guards_itself: bool = False
    on_init: list[Callable[[], None]] = field(default_factory=list)
    on_close: list[Callable[[], None]] = field(default_factory=list)

    def operator_time(self) -> OperatorTime:
        """This operator's own stream time, as it was last committed."""
        return self.remembered(self.name, OperatorTime)

    def remembered(self, name: str, make: Callable[[Mapping[str, int]], T]) -> T:
        """The time called `name`, made by `make(remembered)`; several operators may share it."""
        if name not in self.times:
            committed, end = self.context.processor_metadata, f":{name}"
            self.times[name] = make(
                {key.removesuffix(end): committed[key] for key in committed if key.endswith(end)}
            )
        return cast(T, self.times[name])


def metadata_of(times: Mapping[str, OperatorTime]) -> dict[str, int]:
    """As it is committed: `stream-time:<name>`, and what else there is to remember."""
    return {
        f"{what}:{name}": number
        for name, time in times.items()
        for what, number in time.metadata().items()
    }


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
