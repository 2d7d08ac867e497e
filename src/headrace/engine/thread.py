"""A slot's work: records in, one commit, reports out."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from headrace.core.errors import BrokerError, FencedError, LockError, StreamsError
from headrace.core.json_logs import log_as_json
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.chunk import Chunk
from headrace.engine.claim import Claim
from headrace.engine.clients import Clients
from headrace.engine.global_state import GlobalState
from headrace.engine.identity import identity
from headrace.engine.measuring import ThreadMetrics
from headrace.engine.plan import Plan
from headrace.engine.report import Failure, TaskReport
from headrace.engine.restore import Listener
from headrace.engine.task import ActiveTask
from headrace.kafka.errors import RecordRejected
from headrace.kafka.positions import Position
from headrace.kafka.producer import PlainProducer, TransactionalProducer
from headrace.kafka.settings import ClientSettings
from headrace.metrics.level import RecordingLevel
from headrace.runtime.stores.storage import StorageError
from headrace.state.directory import StateDirectory
from headrace.state.task_state import TaskState

Rows = Iterable[tuple[TopicPartition, Chunk]]
"""Records by partition, in the order of their offsets within each."""

_LOCK_TIMEOUT_S = 30.0


class RetryLater(Exception):
    """The batch could not be finished for a reason that may pass: try it again."""


class Worker:
    """A process's share of an application: its clients, its tasks and the producers of its slots.

    Lives as long as the process, from batch to batch.
    """

    def __init__(self, plan: Plan, listener: Listener) -> None:
        self.plan = plan
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.node: str | None = None
        """What the driver knows the state directory by, if there are others."""
        self.listener = listener
        if plan.config["log.format"] == "json":
            log_as_json()
        self.directory = StateDirectory.of(plan.config)
        self.clients = Clients(ClientSettings(plan.config))
        self.global_state = (
            GlobalState(plan, plan.global_task, self.directory, self.clients, listener)
            if plan.global_task is not None
            else None
        )
        self.claim = Claim(self.clients.settings, plan)
        self._tasks: dict[TaskId, ActiveTask] = {}
        self._producers: dict[int, TransactionalProducer | PlainProducer] = {}

    def task(self, partition_or_id: TopicPartition | TaskId) -> ActiveTask:
        plan = self.plan
        if isinstance(partition_or_id, TopicPartition):
            task = plan.task_of[partition_or_id]
        else:
            task = next(task for task in plan.tasks if task.id == partition_or_id)
        active = self._tasks.get(task.id)
        if active is None:
            path = self.directory.task(str(task.id))
            state = TaskState(path, identity(plan, task))
            active = self._tasks[task.id] = ActiveTask(plan, task, state, self.clients)
        return active

    def producer(self, slot: int) -> tuple[TransactionalProducer | PlainProducer, bool]:
        """The producer of a slot, and whether it is a fresh one.

        The one of an earlier batch serves as long as no other process has taken the slot: whoever
        does leaves its name in the state directory.
        """
        owner = self.directory.path / f"slot-{slot}.owner"
        mine = f"{self.plan.run} {self.name}"
        producer = self._producers.get(slot)
        if producer is not None and producer.usable and _read(owner) == mine:
            return producer, False
        self.forget_producer(slot)
        self.directory.write(owner, mine)
        producer = self._producers[slot] = make_producer(self.plan, self.clients, slot)
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
        for slot in list(self._producers):
            self.forget_producer(slot)
        for task in self._tasks.values():
            task.close()
        if self.global_state is not None:
            self.global_state.close()
        self.claim.close()
        self.clients.close()


def make_producer(plan: Plan, clients: Clients, slot: int) -> TransactionalProducer | PlainProducer:
    if plan.config["processing.guarantee"] == "exactly_once_v2":
        return TransactionalProducer(clients.settings, f"{plan.config.application_id}-{slot}")
    return PlainProducer(clients.settings, clients.group)


class StreamThread:
    """One batch of one slot, by the commit protocol (ARCHITECTURE.md, "A commit").

    It doesn't know where the records come from, nor when a commit is due.
    """

    def __init__(self, worker: Worker, slot: int) -> None:
        self._worker = worker
        self._plan = worker.plan
        self._slot = slot
        self._steps = _Steps(slot, worker.plan.config["__step.observer__"])
        self._metrics = ThreadMetrics(RecordingLevel.of(worker.plan.config))
        self._open: dict[TaskId, ActiveTask] = {}
        self._positions: Mapping[TopicPartition, Position] = {}
        self._global_stores: Mapping[str, Any] = {}
        self._producer: TransactionalProducer | PlainProducer | None = None

    def run(self, rows: Rows, wake: Iterable[TaskId] = ()) -> list[TaskReport]:
        """Process the rows and commit. `wake` are tasks that also look at the wall clock.

        An error that trying again can't mend is in the reports; RetryLater is raised for others.
        """
        try:
            with self._metrics.timing(self._metrics.blocked):
                self._begin()
            for partition, chunk in self._metrics.polled(rows):
                self._process(self._task(partition), partition, chunk)
            for id_ in wake:
                task = self._task(id_)
                with self._metrics.timing(self._metrics.punctuate):
                    task.punctuate()
            return self._commit()
        except (BrokerError, FencedError, LockError) as error:
            self._abandon()
            return self._try_again(error)
        except StorageError as error:
            self._abandon()
            for task in self._open.values():
                task.distrust()
            raise RetryLater(str(error)) from error
        except Exception as error:
            self._abandon()
            return self._failed(error)
        except BaseException:
            self._abandon()
            raise
        finally:
            for task in self._open.values():
                task.release()

    # The steps

    def _begin(self) -> None:
        self._producer, is_fresh = self._worker.producer(self._slot)
        if is_fresh:
            # Whoever had the slot before can't commit any more; but may we?
            self._worker.claim.check()
        self._steps.mark("acquired")
        self._positions = self._worker.clients.group.committed(self._plan.inputs)
        self._steps.mark("positions-read")
        if self._worker.global_state is not None:
            self._global_stores = self._worker.global_state.catch_up()

    def _task(self, key: TopicPartition | TaskId) -> ActiveTask:
        task = self._worker.task(key)
        if task.id not in self._open:
            self._steps.mark("restoring")
            self._open[task.id] = task
            task.open(self._positions, self._global_stores, self._worker.listener, _LOCK_TIMEOUT_S)
            if task.restore_ns:
                self._metrics.restore.record(task.restore_ns)
                self._metrics.restored.record(task.restored)
            self._steps.mark("restored")
        return task

    def _process(self, task: ActiveTask, partition: TopicPartition, chunk: Chunk) -> None:
        began = time.perf_counter_ns()
        task.process(partition, chunk)
        self._send(task)
        self._processed(task, began)

    def _drain(self, task: ActiveTask) -> None:
        began = time.perf_counter_ns()
        for _ in task.drain():
            self._send(task)
            self._processed(task, began)
            began = time.perf_counter_ns()
        task.busy_ns += time.perf_counter_ns() - began

    def _processed(self, task: ActiveTask, began: int) -> None:
        spent = time.perf_counter_ns() - began
        task.busy_ns += spent
        self._metrics.process.record(spent)
        self._worker.listener.alive()

    def _send(self, task: ActiveTask) -> None:
        outbox = task.take_outbox()
        while outbox:
            assert self._producer is not None
            try:
                self._producer.send(outbox)
                return
            except RecordRejected as error:
                if error.index < 0:
                    raise
                task.sending_failed(outbox[error.index], error)
                outbox = [*outbox[error.index + 1 :], *task.take_outbox()]

    def _commit(self) -> list[TaskReport]:
        positions: dict[TopicPartition, Position] = {}
        for task in self._open.values():
            self._drain(task)
        began = time.perf_counter_ns()
        for task in self._open.values():
            task.flush()
            self._send(task)
        self._steps.mark("processed")
        changed = [task for task in self._open.values() if task.has_changed]
        for task in changed:
            positions.update(task.positions())
        if changed:
            assert self._producer is not None
            with self._metrics.timing(self._metrics.blocked):
                self._producer.commit(self._worker.clients.group.group_metadata(), positions)
            self._steps.mark("committed")
            with self._metrics.timing(self._metrics.checkpoint):
                for task in changed:
                    task.applied()
            self._steps.mark("applied")
            self._metrics.commit.record(time.perf_counter_ns() - began)
        self._worker.forget_tasks(self._open.values())
        return self._reports()

    def _reports(self) -> list[TaskReport]:
        metrics = self._metrics
        records = sum(task.records for task in self._open.values())
        metrics.processed.record(records)
        if records:
            metrics.process_records.record(records)
        created, closed = self._worker.take_turnover()
        metrics.task_created.record(created)
        metrics.task_closed.record(closed)
        reports = [self._report(task) for task in self._open.values()]
        if reports:
            shared = self._worker.global_state
            reports[0] = replace(
                reports[0],
                thread_metrics=metrics.take(),
                global_metrics=[] if shared is None else shared.take_measurements(),
            )
        return reports

    def _report(self, task: ActiveTask) -> TaskReport:
        assert task.task is not None
        positions: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in task.task.positions.items():
            positions.setdefault(topic, {})[str(partition)] = offset
        return TaskReport(
            str(task.id),
            self._slot,
            self._worker.name,
            task.records,
            positions,
            task.take_measurements(),
            restored=task.restored,
            steps=self._steps.milliseconds,
            node=self._worker.node,
        )

    # When it fails

    def _abandon(self) -> None:
        for task in self._open.values():
            task.abandon()
        if self._producer is not None:
            self._producer.abort()

    def _try_again(self, error: StreamsError) -> list[TaskReport]:
        self._worker.forget_producer(self._slot)
        if isinstance(error, FencedError):
            if not self._is_replaced():
                # By another process of ours, as slots go from one to the other.
                raise RetryLater(str(error)) from error
        elif isinstance(error, LockError) or (isinstance(error, BrokerError) and error.retriable):
            unreachable = self._worker.clients.wait_for_kafka(error)
            if unreachable is None:
                raise RetryLater(str(error)) from error
            return self._failed(unreachable)
        return self._failed(error)

    def _is_replaced(self) -> bool:
        try:
            self._worker.claim.check()
        except FencedError:
            return True
        except BrokerError:
            return False
        return False

    def _failed(self, error: BaseException) -> list[TaskReport]:
        task = next(reversed(self._open), None)
        return [
            TaskReport(
                "" if task is None else str(task),
                self._slot,
                self._worker.name,
                failure=Failure.of(error),
            )
        ]


class _Steps:
    """How long each step took; an observer is told of each as it ends."""

    def __init__(self, slot: int, observer: str | None) -> None:
        self.milliseconds: dict[str, float] = {}
        self._slot = slot
        self._last = time.perf_counter()
        self._observe: Callable[[int, str], None] | None = None
        if observer:
            module, _, function = observer.partition(":")
            self._observe = getattr(import_module(module), function)

    def mark(self, step: str) -> None:
        now = time.perf_counter()
        spent = (now - self._last) * 1000
        self.milliseconds[step] = self.milliseconds.get(step, 0) + spent
        if self._observe is not None:
            self._observe(self._slot, step)
        self._last = time.perf_counter()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
