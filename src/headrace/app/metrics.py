"""The metrics of an application, gathered on the driver."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import version

from headrace.app.lifecycle import Lifecycle, State
from headrace.app.restoration import Restoration
from headrace.core.config import StreamsConfig
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport
from headrace.metrics import catalogue
from headrace.metrics.name import MetricName, MetricValue
from headrace.metrics.recorder import Measurement
from headrace.metrics.registry import Registry
from headrace.topology.nodes import ProcessorNode
from headrace.topology.topology import Topology

_GLOBAL = "global"
"""Stands for the task id where there are global stores."""

_STATES = tuple(State)

_THREAD_STATES = {
    "CREATED": 0,
    "PARTITIONS_ASSIGNED": 3,
    "RUNNING": 4,
    "PENDING_SHUTDOWN": 5,
    "DEAD": 6,
}
"""Kafka Streams' numbers. It has two more, for what happens in a rebalance."""
_STATE_OF_THREADS = {
    State.CREATED: "CREATED",
    State.REBALANCING: "PARTITIONS_ASSIGNED",
    State.RUNNING: "RUNNING",
    State.PENDING_SHUTDOWN: "PENDING_SHUTDOWN",
    State.PENDING_ERROR: "PENDING_SHUTDOWN",
    State.NOT_RUNNING: "DEAD",
    State.ERROR: "DEAD",
}
"""All threads do the same, as they are one query."""


class ApplicationMetrics:
    """What the reports of all batches say, and what only the driver knows."""

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        lifecycle: Lifecycle,
        restoration: Restoration,
    ) -> None:
        self._config = config
        self._client_id: str = config["client.id"] or config.application_id
        self._lifecycle = lifecycle
        self._restoration = restoration
        self._registry = Registry(config)
        self._plan: Plan | None = None
        self._task_of: dict[tuple[str, int], TaskId] = {}
        self._failed_threads = 0
        self._copies: dict[str, int] = {}
        """How many tasks each node keeps a copy of."""
        self._set("version", version("headrace"))
        self._set("application-id", config.application_id)
        self._set("topology-description", str(topology.describe()))
        self._set("recording-level", self._registry.level)

    def planned(self, plan: Plan) -> None:
        """The tasks were shared out; those of before may be gone."""
        self._plan = plan
        threads = [self._thread(slot) for slot in range(plan.slots)]
        tasks = [*(str(task.id) for task in plan.tasks), _GLOBAL]
        self._registry.retain(threads=threads, tasks=tasks)
        now = _now_ms()
        for thread in threads:
            self._registry.set(catalogue.THREAD_START_TIME, now, thread)
        nodes = plan.topology.nodes
        self._task_of = {
            (store, task.id.partition): task.id
            for task in plan.tasks
            for node in map(nodes.get, task.nodes)
            if isinstance(node, ProcessorNode)
            for store in node.stores
        }

    def add(self, reports: Iterable[TaskReport]) -> None:
        """Take the reports of a batch."""
        now = _now_ms()
        for report in reports:
            thread = self._thread(report.slot)
            self._registry.add(report.slot_metrics, now, thread=thread)
            self._registry.add(report.global_metrics, now, thread=thread, task=_GLOBAL)
            self._registry.add(report.metrics, now, thread=thread, task=report.task)

    def followed(
        self,
        node: str,
        of_tasks: Mapping[str, Iterable[Measurement]],
        of_all: Iterable[Measurement],
    ) -> None:
        """Take what a node has measured of the copies that it keeps. As its thread counts the node;
        the copies of a task on several nodes are counted together."""
        now, thread = _now_ms(), self._standby(node)
        self._copies[node] = len(of_tasks)
        self._registry.add(of_all, now, thread=thread)
        for task, measurements in of_tasks.items():
            self._registry.add(measurements, now, thread=thread, task=task)

    def left(self, nodes: Iterable[str]) -> None:
        """They are gone, and their copies with them."""
        for node in nodes:
            self._copies.pop(node, None)

    def slot_failed(self) -> None:
        """An error ended the threads."""
        self._failed_threads += 1

    def lag(self, lags: Mapping[TopicPartition, int]) -> None:
        """How many records of each partition are not processed yet."""
        self._registry.replace(
            catalogue.RECORDS_LAG,
            {
                (self._client_id, topic, str(partition)): lag
                for (topic, partition), lag in lags.items()
            },
        )

    def dropped(self, tasks: Iterable[str]) -> dict[str, int]:
        """How many records each task has dropped."""
        return {task: self._registry.total(catalogue.DROPPED_RECORDS, task) for task in tasks}

    def values(self) -> dict[MetricName, MetricValue]:
        """All metrics as they are now."""
        state = self._lifecycle.state
        self._set("state", state.value)
        self._set("client-state", _STATES.index(state))
        alive = self._plan.slots if self._plan and state.is_running_or_rebalancing else 0
        self._set("alive-stream-threads", alive)
        self._set("failed-stream-threads", self._failed_threads)
        self._set_threads(state)
        self._set_restoring()
        self._registry.replace(
            catalogue.STANDBY_TASKS,
            {(self._standby(node),): count for node, count in self._copies.copy().items()},
        )
        return self._registry.values(_now_ms())

    def _set(self, name: str, value: MetricValue) -> None:
        self._registry.set(catalogue.CLIENT_INFO[name], value, self._client_id)

    def _set_threads(self, state: State) -> None:
        doing = _STATE_OF_THREADS[state]
        for slot in range(self._plan.slots if self._plan else 0):
            thread = self._thread(slot)
            self._registry.set(catalogue.THREAD_STATE, doing, thread)
            self._registry.set(catalogue.THREAD_STATE_NUMBER, _THREAD_STATES[doing], thread)

    def _set_restoring(self) -> None:
        plan = self._plan
        if plan is None:
            return
        remaining = Counter({task.id: 0 for task in plan.tasks})
        restoring = {slot: set[TaskId]() for slot in range(plan.slots)}
        for store in self._restoration.stores():
            task = self._task_of.get((store.store, store.partition.partition))
            if task is not None:
                remaining[task] += store.end - store.offset
                restoring[plan.slot_of[task]].add(task)
        self._registry.replace(
            catalogue.RESTORE_REMAINING,
            {
                (self._thread(plan.slot_of[task]), str(task)): records
                for task, records in remaining.items()
            },
        )
        self._registry.replace(
            catalogue.RESTORING_TASKS,
            {(self._thread(slot),): len(tasks) for slot, tasks in restoring.items()},
        )

    def _thread(self, slot: int) -> str:
        return f"{self._config.application_id}-{slot}"

    def _standby(self, node: str) -> str:
        return f"{self._config.application_id}-standby-{node}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
