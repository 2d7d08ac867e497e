"""From the nodes of a topology to functions that call each other.

Every node becomes one function of (key, value) that holds the functions of its children, so that a
record runs through a chain of plain calls. Nodes are made from the last to the first, since a node
needs its children.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.core.errors import ConfigError, StreamsError
from headrace.metrics.level import RecordingLevel
from headrace.runtime.context import Process, TaskContext
from headrace.runtime.failure import FailureHandling
from headrace.runtime.operator import OperatorNode, OperatorTime, compile_operator
from headrace.runtime.production import Arrivals
from headrace.runtime.sink import Sink
from headrace.serde.serde import Serde, SerdeLike
from headrace.topology import operators
from headrace.topology.nodes import ProcessorNode, SinkNode, SourceNode
from headrace.topology.operators import Operator
from headrace.topology.topology import Topology

SHARES_HEADERS: frozenset[type[Operator]] = frozenset(
    {
        operators.Filter,
        operators.Peek,
        operators.Branch,
        operators.PassThrough,
        operators.RepartitionFilter,
        operators.JoinWindowPut,
        operators.Process,
        operators.ProcessValues,
    }
)
"""Operators that pass a record's own headers on. All others give their children a copy, so that a
processor that changes headers in place is seen by its own siblings only."""

USER_PROCESSORS = (operators.Process, operators.ProcessValues)


@dataclass(slots=True)
class Wiring:
    """Everything that is needed to turn nodes into functions."""

    topology: Topology
    context: TaskContext
    failures: FailureHandling
    outbox: list[Any]
    stores: Mapping[str, Any]
    global_stores: Mapping[str, Any]
    resolve_serde: Callable[[SerdeLike, str], Serde[Any]]
    partitions_of: Callable[[str], int]
    schedule: Callable[..., Any]
    topic_name: Callable[[str], str]
    """The full name of a topic: internal ones have the application id in front."""

    def wire(self, names: tuple[str, ...]) -> WiredNodes:
        wired = WiredNodes({}, {}, [], [], [])
        nodes: list[OperatorNode] = []
        for name in reversed(names):
            spec = self.topology.nodes[name]
            children = {
                child: wired.functions[child]
                for child in self.topology.children(name)
                if child in wired.functions
            }
            match spec:
                case SourceNode():
                    wired.functions[name] = _to_all(list(children.values()))
                case SinkNode():
                    wired.functions[name] = self._sink(spec)
                case ProcessorNode():
                    node = self._operator_node(spec, children, wired.times)
                    nodes.append(node)
                    process = compile_operator(spec.operator, node)
                    if not node.guards_itself:
                        process = _guarded(process, node.failed)
                    if not children and self.context.metrics.records(RecordingLevel.DEBUG):
                        process = self._noting_arrivals(name, process, wired)
                    wired.functions[name] = process
        for node in reversed(nodes):
            wired.on_init.extend((node.name, callback) for callback in node.on_init)
            wired.on_close.extend((node.name, callback) for callback in node.on_close)
        return wired

    def _operator_node(
        self,
        spec: ProcessorNode,
        children: dict[str, Process],
        times: dict[str, OperatorTime],
    ) -> OperatorNode:
        forward = _to_all(list(children.values()))
        if type(spec.operator) not in SHARES_HEADERS and self._reaches_processor(spec.name):
            forward = _isolated(self.context, forward)
        return OperatorNode(
            name=spec.name,
            context=self.context,
            forward=forward,
            children=children,
            stores={**self.global_stores, **{name: self.stores[name] for name in spec.stores}},
            resolve_serde=self.resolve_serde,
            schedule=self.schedule,
            times=times,
            failed=partial(self.failures.processing_failed, spec.name),
        )

    def _noting_arrivals(self, name: str, process: Process, wired: WiredNodes) -> Process:
        context = self.context
        arrivals = Arrivals(context.metrics, name, context.clock)
        wired.arrivals.append(arrivals)
        arrived = arrivals.timestamps.append

        def noting(key: Any, value: Any) -> None:
            process(key, value)
            arrived(context.timestamp)

        return noting

    def terminal_processors(self, name: str) -> set[str]:
        """The processors at which records of a node end, other than sinks."""
        ends, seen, waiting = set[str](), {name}, [name]
        while waiting:
            node = waiting.pop()
            children = set(self.topology.children(node)) - seen
            seen |= children
            waiting += children
            is_end = not self.topology.children(node)
            if is_end and isinstance(self.topology.nodes[node], ProcessorNode):
                ends.add(node)
        return ends

    def _reaches_processor(self, name: str) -> bool:
        for child in self.topology.children(name):
            spec = self.topology.nodes[child]
            if isinstance(spec, ProcessorNode) and (
                isinstance(spec.operator, USER_PROCESSORS) or self._reaches_processor(child)
            ):
                return True
        return False

    def _sink(self, spec: SinkNode) -> Process:
        try:
            key_serde = self.resolve_serde(spec.key_serde, "key")
            value_serde = self.resolve_serde(spec.value_serde, "value")
        except ConfigError as error:
            raise StreamsError(f"Sink {spec.name} can't start: {error}") from error
        return Sink(
            spec,
            key_serde.serialize,
            value_serde.serialize,
            self.context,
            self.failures,
            self.outbox.append,
            self.partitions_of,
        ).compiled(self.topic_name)


@dataclass(slots=True)
class WiredNodes:
    """The functions of all nodes, the times of their operators, what to call before the first
    and after the last record, and what came to nodes at which records end."""

    functions: dict[str, Process]
    times: dict[str, OperatorTime]
    on_init: list[tuple[str, Callable[[], None]]]
    on_close: list[tuple[str, Callable[[], None]]]
    arrivals: list[Arrivals]


def _to_all(children: list[Process]) -> Process:
    if len(children) == 1:
        return children[0]
    targets = tuple(children)

    def forward(key: Any, value: Any) -> None:
        for target in targets:
            target(key, value)

    return forward


def _guarded(process: Process, failed: Callable[[Any, Any, Exception], None]) -> Process:
    def guarded(key: Any, value: Any) -> None:
        try:
            process(key, value)
        except Exception as error:
            failed(key, value, error)

    return guarded


def _isolated(context: TaskContext, forward: Process) -> Process:
    """Forward with a copy of the headers, if there are any to be changed."""

    def isolated(key: Any, value: Any) -> None:
        headers = context.headers
        context.headers = tuple(headers)
        try:
            forward(key, value)
        finally:
            context.headers = headers

    return isolated
