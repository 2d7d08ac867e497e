"""Runs user-written processors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from headrace.core.config import StreamsConfig
from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError, StateError, StreamsError
from headrace.core.record import FixedKeyRecord, Headers, Record, RecordMetadata, TaskId
from headrace.runtime.context import Process
from headrace.runtime.operator import OperatorNode, compiles
from headrace.serde.serde import Serde
from headrace.topology import operators
from headrace.topology.processor import Cancellable, PunctuationType


class ReadOnlyStore:
    """A global store as a processor sees it: it can be read, not written."""

    _WRITES = frozenset({"put", "put_value", "put_if_absent", "put_all", "delete", "remove"})

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name in self._WRITES:
            raise StateError(
                f"Global store {self._store.name} is read-only here: only its own processor "
                f"may call {name}()."
            )
        return getattr(self._store, name)


class NodeContext:
    """What a processor can ask of its task."""

    def __init__(self, node: OperatorNode) -> None:
        self._node = node
        self._task = node.context

    @property
    def application_id(self) -> str:
        return self._task.application_id

    @property
    def task_id(self) -> TaskId:
        return self._task.task_id

    @property
    def config(self) -> StreamsConfig:
        return self._task.config

    @property
    def key_serde(self) -> Serde[Any]:
        return self._node.resolve_serde(None, "key")

    @property
    def value_serde(self) -> Serde[Any]:
        return self._node.resolve_serde(None, "value")

    @property
    def record_metadata(self) -> RecordMetadata | None:
        return self._task.metadata()

    @property
    def timestamp(self) -> int:
        """The timestamp of the current record."""
        return self._task.timestamp

    @property
    def current_stream_time_ms(self) -> int:
        return self._task.stream_time

    @property
    def current_system_time_ms(self) -> int:
        return self._task.clock.now_ms()

    def get_state_store(self, name: str) -> Any:
        try:
            return self._node.stores[name]
        except KeyError:
            raise StreamsError(
                f"Processor {self._node.name} has no access to store {name!r}. Connect it: name it "
                f"in process(), process_values(), transform_values() or add_state_store(). "
                f"Connected are: {_listed(self._node.stores)}."
            ) from None

    def schedule(
        self,
        interval: timedelta,
        kind: PunctuationType,
        callback: Callable[[int], None],
        *,
        start_ms: int | None = None,
    ) -> Cancellable:
        interval_ms = to_ms(interval, "interval")
        if interval_ms < 1:
            raise ArgumentError(f"A punctuation interval must be at least 1 ms, not {interval}")
        if start_ms is not None and start_ms < 0:
            raise ArgumentError(f"A punctuation can't start before the epoch: start_ms={start_ms}")
        cancellable: Cancellable = self._node.schedule(
            self._node.name, interval_ms, kind, callback, start_ms
        )
        return cancellable

    def commit(self) -> None:
        self._task.commit_requested = True


class ForwardingContext(NodeContext):
    """A context that can also forward."""

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        task = self._task
        target = self._node.forward if child is None else self._child(child)
        if record.timestamp == task.timestamp and record.headers is task.headers:
            target(record.key, record.value)
        else:
            task.forward_as(target, record.key, record.value, record.timestamp, record.headers)

    def _child(self, name: str) -> Process:
        try:
            return self._node.children[name]
        except KeyError:
            raise StreamsError(
                f"Processor {self._node.name} has no child {name!r} to forward to. "
                f"Its children are: {_listed(self._node.children)}."
            ) from None


class FixedKeyForwardingContext(ForwardingContext):
    """A context that forwards records whose key is fixed, with their own copy of the headers."""

    def forward(self, record: FixedKeyRecord[Any, Any], child: str | None = None) -> None:  # type: ignore[override]
        copy = Record(record.key, record.value, record.timestamp, Headers(record.headers))
        super().forward(copy, child)


@compiles(operators.Process)
def compile_process(operator: operators.Process, node: OperatorNode) -> Process:
    return _run(operator.supplier(), ForwardingContext(node), Record, node)


@compiles(operators.ProcessValues)
def compile_process_values(operator: operators.ProcessValues, node: OperatorNode) -> Process:
    return _run(operator.supplier(), FixedKeyForwardingContext(node), FixedKeyRecord, node)


def _run(processor: Any, context: NodeContext, record: Any, node: OperatorNode) -> Process:
    node.on_init.append(lambda: processor.init(context))
    node.on_close.append(processor.close)
    task = node.context

    def process(key: Any, value: Any) -> None:
        headers = task.headers
        if type(headers) is not Headers:
            # Set, not only passed: what the processor does to them, its siblings see.
            headers = task.headers = Headers(headers)
        processor.process(record(key, value, task.timestamp, headers))

    return process


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
