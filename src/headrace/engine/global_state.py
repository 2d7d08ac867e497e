"""The global stores of a host: full copies of their topics, shared by its processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.clock import SystemClock
from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.engine.clients import Clients
from headrace.engine.identity import identity
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.restore import Listener
from headrace.metrics.recorder import Measurement
from headrace.runtime.global_task import GlobalTask
from headrace.state.checkpoint import Checkpoint
from headrace.state.directory import StateDirectory
from headrace.state.task_state import TaskState

_LOCK_TIMEOUT_S = 300.0
"""The first process of a host reads everything, while the others wait."""


class GlobalState:
    """Whichever process comes first in a batch brings the stores to the end of their topics."""

    def __init__(
        self,
        plan: Plan,
        task: TaskPlan,
        directory: StateDirectory,
        clients: Clients,
        listener: Listener,
    ) -> None:
        self._plan = plan
        self._inputs = task.inputs
        self._spec = plan.spec(task)
        self._clients = clients
        self._listener = listener
        self._state = TaskState(directory.task("global"), identity(plan, task))
        self._task: GlobalTask | None = None
        self._seen: Checkpoint | None = None

    def catch_up(self) -> Mapping[str, Any]:
        """The global stores, with all that their topics have now."""
        ends = self._clients.group.end_offsets(list(self._inputs))
        self._state.acquire(_LOCK_TIMEOUT_S)
        try:
            positions = self._positions()
            if self._task is None or self._state.checkpoint != self._seen:
                self._task = GlobalTask(self._spec, SystemClock(), storage=self._state)
            for part, end in ends.items():
                if positions.get(part, 0) < end:
                    self._read(part, positions, end)
            self._seen = self._state.checkpoint
        except BaseException:
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

    def _positions(self) -> dict[TopicPartition, int]:
        """How far the stores are; from the start if they are of other topics of the same name."""
        checkpoint = self._state.checkpoint
        if checkpoint is None:
            return {}
        ids = self._plan.topic_ids
        if any(ids.get(topic) != id_ for topic, (id_, _) in checkpoint.changelogs.items()):
            self._state.wipe()
            return {}
        return dict(checkpoint.positions)

    def _read(self, part: TopicPartition, positions: dict[TopicPartition, int], end: int) -> None:
        assert self._task is not None
        start = positions.get(part, 0)
        self._listener.restore_started("global", part, start, end)
        count = 0
        for records, offset in self._clients.changelogs.read(part, start, end):
            self._task.update(
                part,
                [
                    ConsumerRecord(*part, offset - 1, timestamp, key, value, headers)
                    for key, value, timestamp, headers in records
                ],
            )
            positions[part] = offset
            count += len(records)
            self._listener.batch_restored("global", part, offset, len(records))
            self._save(positions)
        positions[part] = end
        self._save(positions)
        self._listener.restore_ended("global", part, count)

    def _save(self, positions: dict[TopicPartition, int]) -> None:
        assert self._task is not None
        ids = {part.topic: (self._plan.topic_ids[part.topic], 0) for part in self._inputs}
        checkpoint = Checkpoint(str(self._plan.run), 0, dict(positions), ids)
        self._state.commit(checkpoint, self._task.facts())
