"""The committed state of an application's tasks on this host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NoReturn, TypeVar

from headrace.core.clock import SystemClock
from headrace.core.errors import (
    StoreNotAvailableError,
    UnknownPartitionError,
    UnknownStoreError,
    require,
)
from headrace.engine.identity import identity
from headrace.engine.plan import Plan, TaskPlan
from headrace.metrics.task import TaskMetrics
from headrace.runtime.context import TaskContext
from headrace.runtime.serdes import SerdeResolver
from headrace.runtime.stores import RecordCache, StoreEnvironment, build_store
from headrace.serde.murmur2 import partition_for
from headrace.state.directory import StateDirectory
from headrace.state.reader import Snapshot, StateReader
from headrace.topology.nodes import ProcessorNode
from headrace.topology.stores import StoreSpec

T = TypeVar("T")

GLOBAL = -1
"""The partition of a global store."""


class LocalState:
    """The stores of a plan by name and partition, as they were last committed."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._directory = StateDirectory.of(plan.config)
        self._partitions: dict[str, dict[int, StorePartition]] = {}
        self._readers: list[StateReader] = []
        for task in plan.tasks:
            self._add(task, str(task.id), task.id.partition)
        if plan.global_task is not None:
            self._add(plan.global_task, "global", GLOBAL)

    def _add(self, task: TaskPlan, name: str, partition: int) -> None:
        reader = StateReader(self._directory.task(name), identity(self._plan, task))
        self._readers.append(reader)
        nodes = (self._plan.topology.nodes[node] for node in task.nodes)
        for node in nodes:
            for store in node.stores if isinstance(node, ProcessorNode) else ():
                spec = self._plan.topology.stores[store]
                found = self._partitions.setdefault(store, {})
                found[partition] = StorePartition(self._plan, task, spec, partition, reader)

    def spec(self, store: str) -> StoreSpec:
        self._known(store)
        return self._plan.topology.stores[store]

    def partitions(self, store: str, partition: int | None = None) -> dict[int, StorePartition]:
        """All of a store's partitions, or one."""
        found = self._known(store)
        if partition is None:
            return found
        if partition not in found:
            raise UnknownPartitionError(
                f"Store {store} has no partition {partition}: it has {len(found)}."
            )
        return {partition: found[partition]}

    def partition_of(
        self, store: str, key: Any, serializer: Callable[[Any], bytes] | None = None
    ) -> int:
        """The partition to which records with a key go, unless somebody has a partitioner of his
        own."""
        partitions = self._known(store)
        if GLOBAL in partitions:
            return GLOBAL
        some = next(iter(partitions.values()))
        return partition_for((serializer or some.raw_key)(key), some.count)

    def close(self) -> None:
        for reader in self._readers:
            reader.close()

    def _known(self, store: str) -> dict[int, StorePartition]:
        found = self._partitions.get(store)
        if found is None:
            close = get_close_matches(store, self._partitions, 1)
            hint = f"Did you mean {close[0]!r}?" if close else f"There are {self._names()}."
            raise UnknownStoreError(f"The topology has no store {store!r}. {hint}")
        return found

    def _names(self) -> str:
        return ", ".join(sorted(self._partitions)) or "none"


class StorePartition:
    """A store of one task."""

    def __init__(
        self, plan: Plan, task: TaskPlan, spec: StoreSpec, number: int, reader: StateReader
    ) -> None:
        self.number = number
        self.task = task.id
        self.spec = spec
        self.count = max(
            1, sum(other.id.subtopology == task.id.subtopology for other in plan.tasks)
        )
        """How many partitions the store has."""
        self._reader = reader
        self._config = plan.config
        self._context = TaskContext(task.id, plan.config, SystemClock(), TaskMetrics())

    def raw_key(self, key: Any) -> bytes:
        require(key, f"A key of store {self.spec.name}")
        return self._serialize_key(key)

    @cached_property
    def _serialize_key(self) -> Callable[[Any], bytes]:
        return SerdeResolver(self._config)(self.spec.key_serde, "key").serialize

    def read(self, ask: Callable[[Any], T]) -> T:
        """What a store with the last commit says."""
        snapshot = self.snapshot()
        try:
            return ask(self.store(snapshot))
        finally:
            snapshot.release()

    def scan(self, ask: Callable[[Any], Iterator[T]]) -> Iterator[T]:
        """The same, of what is read bit by bit. Ends with the last item, with `close()`, or when
        nobody refers to it any more."""
        with self.snapshot() as snapshot:
            yield from ask(self.store(snapshot))

    def snapshot(self) -> Snapshot:
        """The last commit, to be released."""
        snapshot = self._reader.snapshot()
        if snapshot is None:
            raise StoreNotAvailableError(
                f"Partition {self.number} of store {self.spec.name} isn't available on this host: "
                "its state is being restored, or is elsewhere."
            )
        return snapshot

    def store(self, snapshot: Snapshot) -> Any:
        name = self.spec.name
        found = snapshot.kept.get(name)
        if found is None:
            environment = StoreEnvironment(
                self._context,
                SerdeResolver(self._config),
                _no_log,
                RecordCache(0, self._context),
                snapshot,
            )
            found = snapshot.kept[name] = build_store(self.spec, environment)
        return found


def _no_log(*_: Any) -> NoReturn:
    raise AssertionError("a store that is only read has nothing to log")
