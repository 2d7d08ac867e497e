"""Copies of tasks' states that follow their changelogs, on hosts where the tasks don't run."""

from __future__ import annotations

import logging
import time
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from headrace.core.clock import SystemClock
from headrace.core.errors import LockError, StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.clients import Clients
from headrace.engine.identity import identity
from headrace.engine.plan import Plan, TaskPlan
from headrace.kafka.errors import OffsetGone
from headrace.kafka.settings import ClientSettings
from headrace.metrics import catalogue
from headrace.metrics.level import RecordingLevel
from headrace.metrics.recorder import Recorder
from headrace.metrics.task import TaskMetrics
from headrace.runtime.context import TaskContext
from headrace.runtime.serdes import SerdeResolver
from headrace.runtime.stores import RecordCache, StoreEnvironment, build_store
from headrace.state.checkpoint import Checkpoint
from headrace.state.directory import StateDirectory
from headrace.state.task_state import TaskState
from headrace.topology.nodes import ProcessorNode

STANDBY = "standby"
"""The run that a standby's checkpoint is of: none. A task that moves here restores what comes
after it."""

_RECORDS_PER_COMMIT = 100_000
_PAUSE_S = 0.5

log = logging.getLogger("headrace")


class Standby:
    """A copy of one task's state.

    The directory is held only while there is something to write: a task that moves here need not
    wait for long. Only what changelogs have of committed transactions is applied.
    """

    def __init__(self, plan: Plan, task: TaskPlan, directory: StateDirectory, clients: Clients):
        self.task = task
        self.metrics = Recorder(RecordingLevel.of(plan.config))
        self._updated = self.metrics.counter(catalogue.TASK_UPDATE)
        self._plan = plan
        self._clients = clients
        self._state = TaskState(directory.task(str(task.id)), identity(plan, task))
        self._changelogs = changelogs(plan, task)
        self._stores: dict[str, Any] = {}
        self._seen: Checkpoint | None = None

    def follow(self) -> int | None:
        """Apply what is new. How many records of the changelogs are still to come; None if another
        process has the directory."""
        parts = {store: self._partition(topic) for store, topic in self._changelogs.items()}
        ends = self._clients.group.end_offsets(list(parts.values()))
        try:
            self._state.acquire(0)
        except LockError:
            return None
        try:
            reached = self._reached()
            for store, part in parts.items():
                self._apply(store, part, reached, ends[part])
            return sum(max(0, end - reached.get(part, 0)) for part, end in ends.items())
        except OffsetGone:
            # The log was cut off behind us: begin anew.
            self._state.wipe()
            return sum(ends.values())
        finally:
            self._state.release()

    def close(self) -> None:
        self._state.close()

    def _reached(self) -> dict[TopicPartition, int]:
        """How far the state is, with stores over it."""
        checkpoint, ids = self._state.checkpoint, self._plan.topic_ids
        if checkpoint is not None and any(
            ids.get(topic) != id_ for topic, (id_, _) in checkpoint.changelogs.items()
        ):
            self._state.wipe()
            checkpoint = None
        if checkpoint is None or checkpoint != self._seen:
            # Another process had the state, or nobody.
            self._stores = {name: self._store(name) for name in self._changelogs}
        if checkpoint is None:
            return {}
        return {self._partition(topic): at for topic, (_, at) in checkpoint.changelogs.items()}

    def _store(self, name: str) -> Any:
        config = self._plan.config
        context = TaskContext(self.task.id, config, SystemClock(), TaskMetrics())
        environment = StoreEnvironment(
            context, SerdeResolver(config), _no_log, RecordCache(0, context), self._state
        )
        return build_store(self._plan.topology.stores[name], environment)

    def _apply(
        self, name: str, part: TopicPartition, reached: dict[TopicPartition, int], end: int
    ) -> None:
        unsaved = 0
        for records, offset in self._clients.changelogs.read(part, reached.get(part, 0), end):
            self._stores[name].restore(records)
            self._updated.record(len(records))
            reached[part] = offset
            unsaved += len(records)
            if unsaved >= _RECORDS_PER_COMMIT:
                self._save(reached)
                unsaved = 0
        # The end may be one from before a task ran here.
        if unsaved or reached.get(part, -1) < end:
            reached[part] = end
            self._save(reached)

    def _save(self, reached: dict[TopicPartition, int]) -> None:
        changelogs = {
            part.topic: (self._plan.topic_ids[part.topic], at) for part, at in reached.items()
        }
        facts = {name: store.facts() for name, store in self._stores.items()}
        self._seen = Checkpoint(STANDBY, 0, {}, changelogs)
        self._state.commit(self._seen, {name: found for name, found in facts.items() if found})

    def _partition(self, topic: str) -> TopicPartition:
        return TopicPartition(topic, self.task.id.partition)


def follow_all(plan: Plan, pipe: Connection) -> None:
    """Keep the copies that are asked for up to date, until the pipe is closed. Names of tasks come
    in; the lag of each goes out, with what was measured of each and of all."""
    directory, clients = StateDirectory.of(plan.config), Clients(ClientSettings(plan.config))
    plans = {str(task.id): task for task in plan.tasks}
    standbys: dict[str, Standby] = {}
    metrics = Recorder(RecordingLevel.of(plan.config))
    spent = metrics.distribution(catalogue.STANDBY_UPDATE)
    try:
        while True:
            while pipe.poll(0 if standbys else None):
                wanted = set(pipe.recv())
                for name in standbys.keys() - wanted:
                    standbys.pop(name).close()
                for name in sorted(wanted - standbys.keys()):
                    standbys[name] = Standby(plan, plans[name], directory, clients)
            began = time.perf_counter_ns()
            lags = {name: _lag(standby) for name, standby in standbys.items()}
            spent.record(time.perf_counter_ns() - began)
            measured = {name: standby.metrics.take() for name, standby in standbys.items()}
            pipe.send((lags, measured, metrics.take()))
            time.sleep(_PAUSE_S)
    except (EOFError, OSError):
        for standby in standbys.values():
            standby.close()
    finally:
        clients.close()


def _lag(standby: Standby) -> int | None:
    try:
        return standby.follow()
    except StreamsError as error:  # Kafka may be away, or the disk full: the next time, perhaps
        log.warning("The standby of task %s: %s", standby.task.id, error)
        return None


def changelogs(plan: Plan, task: TaskPlan) -> dict[str, str]:
    """The changelog topics of a task's stores, by store. A source topic that serves as changelog is
    left out: it is read anew up to the position, which a standby can't know."""
    topology = plan.topology
    nodes = (topology.nodes[name] for name in task.nodes)
    stores = {name for node in nodes if isinstance(node, ProcessorNode) for name in node.stores}
    return {
        store: topic
        for store in sorted(stores - topology.source_topics_of_stores.keys())
        if (topic := plan.changelog_of(store)) is not None
    }


def _no_log(*_: Any) -> NoReturn:
    raise AssertionError("a standby has nothing to log")
