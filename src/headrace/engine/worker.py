"""A process's share of an application."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping
from math import inf
from typing import Protocol

from headrace.core.clock import PacedClock
from headrace.core.json_logs import log_as_json
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.claim import Claim
from headrace.engine.global_state import GlobalState
from headrace.engine.identity import identity
from headrace.engine.plan import Plan
from headrace.engine.restore import RestoreListener
from headrace.engine.task import ActiveTask
from headrace.engine.watchdog import Watchdog
from headrace.kafka.port import Kafka, SlotProducer
from headrace.kafka.settings import ClientSettings
from headrace.state.port import Disk


class SlotListener(RestoreListener, Protocol):
    """Is also told which task a slot begins with, what it has committed before the end of its
    batch, and why it will try it again."""

    def progressed(self, positions: Mapping[TopicPartition, int]) -> None: ...
    def starting(self, slot: int, task: TaskId) -> None: ...
    def attempt_failed(self, slot: int, task: TaskId | None, error: Exception) -> None: ...


class Worker:
    """A process's share of an application: its clients, its tasks and the producers of its slots.

    Lives as long as the process, from batch to batch.
    """

    def __init__(
        self, plan: Plan, kafka: Kafka, disk: Disk, listener: SlotListener, clock: PacedClock
    ) -> None:
        self.plan = plan
        self.kafka = kafka
        self.clock = clock
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.node: str | None = None
        """What the driver knows the state directory by, if there are others."""
        self.watchdog: Watchdog | None = None
        """Looks after functions that don't come back, where there can be one."""
        self.listener = listener
        settings = ClientSettings(plan.config)
        self.transaction_timeout_s = settings.transaction_timeout_s
        self.record_limit_s = (
            self.transaction_timeout_s if settings.exactly_once else settings.timeout_s() or inf
        )
        """How long one record may take."""
        if plan.config["log.format"] == "json":
            log_as_json()
        self._disk = disk
        self.global_state = (
            GlobalState(plan, plan.global_task, disk, kafka, listener, clock)
            if plan.global_task is not None
            else None
        )
        self.claim = Claim(kafka, plan)
        self._tasks: dict[TaskId, ActiveTask] = {}
        self._producers: dict[int, SlotProducer] = {}

    def task(self, partition_or_id: TopicPartition | TaskId) -> ActiveTask:
        plan = self.plan
        if isinstance(partition_or_id, TopicPartition):
            task = plan.task_of[partition_or_id]
        else:
            task = next(task for task in plan.tasks if task.id == partition_or_id)
        active = self._tasks.get(task.id)
        if active is None:
            state = self._disk.state(str(task.id), identity(plan, task))
            active = self._tasks[task.id] = ActiveTask(
                plan, task, state, self.kafka, self.clock, self.record_limit_s
            )
        return active

    def producer(self, slot: int) -> tuple[SlotProducer, bool]:
        """The producer of a slot, and whether it is a fresh one.

        The one of an earlier batch serves as long as no other process has taken the slot: whoever
        does leaves its name in the state directory.
        """
        owner = f"slot-{slot}.owner"
        mine = f"{self.plan.run} {self.name}"
        producer = self._producers.get(slot)
        if producer is not None and producer.usable and self._disk.read(owner) == mine:
            return producer, False
        self.forget_producer(slot)
        self._disk.write(owner, mine)
        producer = self._producers[slot] = self.kafka.producer(slot)
        producer.open()
        return producer, True

    def forget_producer(self, slot: int) -> None:
        producer = self._producers.pop(slot, None)
        if producer is not None:
            producer.close()

    def forget_tasks(self, keep: Iterable[ActiveTask]) -> None:
        """Free the memory of tasks that this process did not have in its last batch."""
        kept = {task.id for task in keep}
        for id_, task in self._tasks.items():
            if id_ not in kept:
                task.forget()

    def take_turnover(self) -> tuple[int, int]:
        """How many tasks were made and given up since the last call."""
        tasks = self._tasks.values()
        turnover = sum(task.created for task in tasks), sum(task.closed for task in tasks)
        for task in tasks:
            task.created = task.closed = 0
        return turnover

    def close(self) -> None:
        if self.watchdog is not None:
            self.watchdog.close()
        for slot in list(self._producers):
            self.forget_producer(slot)
        for task in self._tasks.values():
            task.close()
        if self.global_state is not None:
            self.global_state.close()
        self.kafka.close()
