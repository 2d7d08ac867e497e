"""A test driver whose tasks, now and then, are made anew from what is on disk."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from headrace.core.clock import Clock
from headrace.core.record import Header, TaskId
from headrace.runtime.task import StreamTask, TaskSpec
from headrace.state import Checkpoint, TaskState
from headrace.testing import TopologyTestDriver


class RebuildingDriver(TopologyTestDriver):
    """Keeps the stores of its tasks in `directory`. After every `every` steps, the tasks and the
    environments are thrown away, and others are made from the files, as in another process."""

    directory: Path
    every: int

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._states: dict[TaskId, TaskState] = {}
        self._steps = 0
        self._dropped_before = 0
        super().__init__(*arguments, **options)

    def pipe(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Iterable[Header] = (),
        partition: int | None = None,
    ) -> None:
        self._step()
        super().pipe(topic, key, value, timestamp, headers, partition)

    def advance_wall_clock_time(self, by: timedelta) -> None:
        self._step()
        super().advance_wall_clock_time(by)

    @property
    def dropped_records(self) -> int:
        return self._dropped_before + super().dropped_records

    def stores(self, partition: int = 0) -> dict[str, Any]:
        self._rebuild()
        return super().stores(partition)

    def close(self) -> None:
        super().close()
        for state in self._states.values():
            state.release()
            state._close_environment()

    def _start(self, *arguments: Any, **options: Any) -> None:
        with patch("headrace.testing.driver.StreamTask", self._make_task):
            super()._start(*arguments, **options)

    def _make_task(self, spec: TaskSpec, clock: Clock, **options: Any) -> StreamTask:
        state = TaskState(self.directory / str(spec.id), str(spec.id))
        state.acquire(0)
        assert state.reset_reason is None
        self._states[spec.id] = state
        return StreamTask(spec, clock, storage=state, **options)

    def _step(self) -> None:
        self._steps += 1
        if self._steps % self.every == 0:
            self._rebuild()

    def _rebuild(self) -> None:
        tasks = {task.id: task for task in self._tasks}
        self._dropped_before = self.dropped_records
        if self._global is not None:
            self._dropped_before -= self._global.metrics.dropped_records.total
        for task_id, state in self._states.items():
            state.commit(Checkpoint("run", self._steps), tasks[task_id].facts())
            state.release()
            state._close_environment()  # without waiting for the disk

        def resume(task: StreamTask) -> None:
            before = tasks[task.id]
            for partition, position in before.positions.items():
                task.resume_at(partition, position, before.partition_time(partition))

        self._start({task_id: task.metadata for task_id, task in tasks.items()}, resume)
        for task in self._tasks:
            for partition in self._layout.inputs(task.id):
                waiting = self._log.read(partition, task.positions.get(partition, 0))
                task.add_records(partition, waiting)
