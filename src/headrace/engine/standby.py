"""Copies of tasks' states that follow their changelogs, on hosts where the tasks don't run."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, NoReturn

from headrace.core.clock import PacedClock
from headrace.core.errors import LockError, StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.identity import identity
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.staleness import Following
from headrace.kafka.port import Kafka, Logged, OffsetGone
from headrace.metrics import catalogue
from headrace.metrics.level import RecordingLevel
from headrace.metrics.recorder import Measurement, Recorder
from headrace.metrics.task import TaskMetrics
from headrace.runtime.context import TaskContext
from headrace.runtime.serdes import SerdeResolver
from headrace.runtime.stores import RecordCache, StoreEnvironment, build_store
from headrace.state.checkpoint import Checkpoint
from headrace.state.port import Disk
from headrace.topology.nodes import ProcessorNode

STANDBY = "standby"
"""The run that a standby's checkpoint is of: none. A task that moves here restores what comes
after it."""

_SLICE_S = 0.2
_PIECE = 500
"""So many records are applied between two looks at the clock."""
_SHARE_S = 5.0

log = logging.getLogger("headrace")


class Standby:
    """A copy of one task's state.

    The directory is held only while a slice of records is written, for a fraction of a second, and
    never while Kafka is waited for: so a task that moves here has it at once. Only what changelogs
    have of committed transactions is applied.
    """

    def __init__(
        self, plan: Plan, task: TaskPlan, disk: Disk, kafka: Kafka, clock: PacedClock
    ) -> None:
        self.task = task
        self.metrics = Recorder(RecordingLevel.of(plan.config))
        self._updated = self.metrics.counter(catalogue.TASK_UPDATE)
        self._plan = plan
        self._kafka = kafka
        self._clock = clock
        self._state = disk.state(str(task.id), identity(plan, task))
        self._changelogs = changelogs(plan, task)
        self._stores: dict[str, Any] = {}
        self._seen: Checkpoint | None = None
        self._following = Following(f"the copy of task {task.id}", self._state, kafka)

    def follow(self) -> Generator[int | None]:
        """Apply what is new, slice by slice. Gives after each how many records of the changelogs
        are still to come, and at the end None if another process has, or had, the directory.

        In between the directory is free, and whoever waits for it should be given the time to come:
        it need not be continued.
        """
        parts = {store: self._partition(topic) for store, topic in self._changelogs.items()}
        ends = self._kafka.group.end_offsets(list(parts.values()))

        def lag() -> int:
            return sum(max(0, end - reached.get(part, 0)) for part, end in ends.items())

        try:
            with self._turn():
                reached = self._reached(ends)
            try:
                for store, part in parts.items():
                    for _ in self._apply(store, part, reached, ends[part]):
                        yield lag()
            except OffsetGone:
                # The log was cut off behind us: begin anew.
                with self._turn():
                    self._check_nobody_came()
                    self._state.wipe()
                reached.clear()
            yield lag()
        except LockError:
            yield None

    def close(self) -> None:
        self._state.close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Have the directory. Raises LockError if another process has it."""
        self._state.acquire(0)
        try:
            yield
        except BaseException:
            self._seen = None  # what the stores know may not be what is in the state
            raise
        finally:
            self._state.release()

    def _reached(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """How far the state is, with stores over it."""
        checkpoint = self._state.checkpoint
        if checkpoint is not None and self._is_out_of_date(checkpoint, ends):
            self._state.wipe()
            checkpoint = None
        if checkpoint is None or checkpoint != self._seen:
            # Another process had the state, or nobody.
            self._stores = {name: self._store(name) for name in self._changelogs}
        self._seen = checkpoint
        if checkpoint is None:
            return {}
        return {self._partition(topic): at for topic, (_, at) in checkpoint.changelogs.items()}

    def _is_out_of_date(self, checkpoint: Checkpoint, ends: Mapping[TopicPartition, int]) -> bool:
        ids, known = self._plan.topic_ids, checkpoint.changelogs
        if any(ids.get(topic) != id_ for topic, (id_, _) in known.items()):
            return True
        behind = {
            part.topic
            for part, end in ends.items()
            if part.topic in known and known[part.topic][1] < end
        }
        if not behind:
            self._following.at_end()
        return self._following.has_missed_deletions(behind)

    def _store(self, name: str) -> Any:
        config = self._plan.config
        context = TaskContext(self.task.id, config, self._clock, TaskMetrics())
        environment = StoreEnvironment(
            context, SerdeResolver(config), _no_log, RecordCache(0, context), self._state
        )
        return build_store(self._plan.topology.stores[name], environment)

    def _apply(
        self, name: str, part: TopicPartition, reached: dict[TopicPartition, int], end: int
    ) -> Iterator[None]:
        """Comes back after each slice. How far it is reached is known only after a whole list of
        records; to apply the first ones of it again does no harm."""
        for records, offset in self._kafka.changelogs.read(part, reached.get(part, 0), end):
            applied = 0
            while applied < len(records):
                with self._turn():
                    self._check_nobody_came()
                    applied = self._apply_slice(name, records, applied)
                    if applied == len(records):
                        reached[part] = offset
                    self._save(reached)
                yield
        # The end may be one from before a task ran here.
        if reached.get(part, -1) < end:
            with self._turn():
                self._check_nobody_came()
                reached[part] = end
                self._save(reached)

    def _apply_slice(self, name: str, records: list[Logged], start: int) -> int:
        """Apply records from the one at `start` on, for a while; up to which."""
        until = self._clock.seconds() + _SLICE_S
        while start < len(records):
            piece = records[start : start + _PIECE]
            self._stores[name].restore(piece)
            self._updated.record(len(piece))
            start += len(piece)
            if self._clock.seconds() >= until:
                break
        return start

    def _check_nobody_came(self) -> None:
        if self._state.checkpoint != self._seen:
            raise LockError(f"Another process has changed the state of task {self.task.id}.")

    def _save(self, reached: dict[TopicPartition, int]) -> None:
        changelogs = {
            part.topic: (self._plan.topic_ids[part.topic], at) for part, at in reached.items()
        }
        facts = {name: store.facts() for name, store in self._stores.items()}
        checkpoint = Checkpoint(STANDBY, 0, {}, changelogs)
        self._state.commit(checkpoint, {name: found for name, found in facts.items() if found})
        self._seen = checkpoint

    def _partition(self, topic: str) -> TopicPartition:
        return TopicPartition(topic, self.task.id.partition)


class Standbys:
    """The copies that a host keeps."""

    def __init__(self, plan: Plan, disk: Disk, kafka: Kafka, clock: PacedClock) -> None:
        self._plan = plan
        self._disk = disk
        self._kafka = kafka
        self._clock = clock
        self._tasks = {str(task.id): task for task in plan.tasks}
        self._copies: dict[str, Standby] = {}
        self._lags: dict[str, int | None] = {}
        self._metrics = Recorder(RecordingLevel.of(plan.config))
        self._spent = self._metrics.distribution(catalogue.STANDBY_UPDATE)

    def __len__(self) -> int:
        return len(self._copies)

    def keep(self, tasks: Iterable[str]) -> None:
        """Have copies of these tasks, and of no others."""
        wanted = set(tasks)
        for name in self._copies.keys() - wanted:
            self._copies.pop(name).close()
            self._lags.pop(name, None)
        for name in sorted(wanted - self._copies.keys()):
            self._copies[name] = Standby(
                self._plan, self._tasks[name], self._disk, self._kafka, self._clock
            )

    def follow(self) -> Generator[None]:
        """Bring each copy further, to the end if that doesn't take too long. Comes back whenever
        one is about to go on that is not at its end: wait a moment then, for a task that has come
        meanwhile."""
        began = self._clock.nanoseconds()
        for name, standby in self._copies.items():
            until = self._clock.seconds() + _SHARE_S
            try:
                with closing(standby.follow()) as slices:
                    for lag in slices:
                        self._lags[name] = lag
                        if self._clock.seconds() >= until:
                            break
                        if lag:
                            yield
            except StreamsError as error:  # Kafka may be away, or the disk full: next time, perhaps
                log.warning("The standby of task %s: %s", name, error)
                self._lags[name] = None
        self._spent.record(self._clock.nanoseconds() - began)

    def take_report(self) -> tuple[dict[str, int | None], dict[str, Any], list[Measurement]]:
        """How far each copy is behind, None if that isn't known; and what was measured of each, and
        of all, since the last call."""
        lags = {name: self._lags.get(name) for name in self._copies}
        measured = {name: standby.metrics.take() for name, standby in self._copies.items()}
        return lags, measured, self._metrics.take()

    def close(self) -> None:
        self.keep(())


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
