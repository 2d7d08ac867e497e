"""The global stores of a host: full copies of their topics, shared by its processes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from headrace.core.clock import PacedClock
from headrace.core.record import TopicPartition
from headrace.engine.identity import identity
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.restore import RestoreListener
from headrace.engine.staleness import Following
from headrace.kafka.port import Kafka, OffsetGone
from headrace.metrics.recorder import Measurement
from headrace.runtime.global_task import GlobalTask
from headrace.state.checkpoint import Checkpoint
from headrace.state.port import Disk
from headrace.topology.nodes import ProcessorNode

_LOCK_TIMEOUT_S = 300.0
"""The first process of a host reads everything, while the others wait."""

_RESTORING = ""
"""The run that a checkpoint is of until the stores have been brought to the end of their topics."""

log = logging.getLogger("headrace")


class GlobalState:
    """Whichever process comes first in a batch brings the stores to the end of their topics.

    For the first one of a run that is a restore, and the listener is told how far it has come.
    """

    def __init__(
        self,
        plan: Plan,
        task: TaskPlan,
        disk: Disk,
        kafka: Kafka,
        listener: RestoreListener,
        clock: PacedClock,
    ) -> None:
        self._clock = clock
        self._plan = plan
        self._inputs = task.inputs
        self._stores = _stores_by_source(plan, task)
        self._spec = plan.spec(task)
        self._kafka = kafka
        self._listener = listener
        self._state = disk.state("global", identity(plan, task))
        self._task: GlobalTask | None = None
        self._seen: Checkpoint | None = None
        self._following = Following("the global stores", self._state, kafka)

    def catch_up(self) -> Mapping[str, Any]:
        """The global stores, with all that their topics have now."""
        ends = self._kafka.group.end_offsets(list(self._inputs))
        self._state.acquire(_LOCK_TIMEOUT_S)
        try:
            try:
                task = self._read_to(ends)
            except OffsetGone as error:
                log.warning("The global stores are read anew. %s", error)
                self._state.wipe()
                task = self._read_to(ends)
            self._task, self._seen = task, self._state.checkpoint
        except BaseException:
            self._task = None
            self._state.release()
            raise
        self._state.share()
        return self._task.stores

    def take_measurements(self) -> list[Measurement]:
        """What was measured since the last call."""
        return [] if self._task is None else self._task.take_measurements()

    def close(self) -> None:
        self._task = None
        self._state.close()

    def _read_to(self, ends: Mapping[TopicPartition, int]) -> GlobalTask:
        positions = self._positions(ends)
        self._check_bounds(positions, ends)
        checkpoint = self._state.checkpoint
        task = self._task
        if task is None or checkpoint is None or checkpoint != self._seen:
            task = GlobalTask(self._spec, self._clock, storage=self._state)
        is_restore = checkpoint is None or checkpoint.run_id != str(self._plan.run)
        behind = [part for part, end in ends.items() if positions.get(part, 0) < end]
        for part in behind:
            self._read(task, part, positions, ends[part], is_restore=is_restore)
        if behind or is_restore:
            self._save(task, positions, str(self._plan.run))
        self._following.at_end()
        return task

    def _positions(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """How far the stores are; from the start if they are of other topics of the same name, or
        so old that the topics may have forgotten what they deleted since."""
        checkpoint = self._state.checkpoint
        if checkpoint is None:
            return {}
        ids = self._plan.topic_ids
        known = checkpoint.positions
        behind = {part.topic for part, end in ends.items() if part in known and known[part] < end}
        if any(
            ids.get(topic) != id_ for topic, (id_, _) in checkpoint.changelogs.items()
        ) or self._following.has_missed_deletions(behind):
            self._state.wipe()
            return {}
        return dict(known)

    def _check_bounds(
        self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> None:
        """Raise OffsetGone if a topic ends before what was read of it: brokers have lost some."""
        beyond = [part for part, at in positions.items() if at > ends.get(part, at)]
        if not beyond:
            return
        # Unless another process of the host has read on since the ends were asked for.
        for part, end in self._kafka.group.end_offsets(beyond).items():
            if positions[part] > end:
                raise OffsetGone(f"{part} was read up to {positions[part]}, and ends at {end}.")

    def _read(
        self,
        task: GlobalTask,
        part: TopicPartition,
        positions: dict[TopicPartition, int],
        end: int,
        *,
        is_restore: bool,
    ) -> None:
        start = positions.get(part, 0)
        store = self._stores[self._inputs[part]]
        count = 0
        if is_restore:
            self._listener.restore_started(store, part, start, end)
        for records, offset in self._kafka.changelogs.records(part, start, end):
            task.update(part, records)
            positions[part] = offset
            count += len(records)
            self._save(task, positions, _RESTORING if is_restore else str(self._plan.run))
            if is_restore:
                self._listener.batch_restored(store, part, offset, len(records))
            else:
                self._listener.alive()
        positions[part] = end
        if is_restore:
            self._listener.restore_ended(store, part, count)

    def _save(self, task: GlobalTask, positions: dict[TopicPartition, int], run: str) -> None:
        ids = {part.topic: (self._plan.topic_ids[part.topic], 0) for part in self._inputs}
        self._state.commit(Checkpoint(run, 0, dict(positions), ids), task.facts())


def _stores_by_source(plan: Plan, task: TaskPlan) -> dict[str, str]:
    """The global store that is kept up to date by what each source reads."""
    nodes = (plan.topology.nodes[name] for name in task.nodes)
    return {
        node.parents[0]: node.stores[0]
        for node in nodes
        if isinstance(node, ProcessorNode) and node.stores
    }
