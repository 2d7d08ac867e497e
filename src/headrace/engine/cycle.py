"""The commit cycle of a slot: records in by partition, a commit when its caller says so, reports
out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib import import_module
from typing import Any

from headrace.core.errors import FencedError
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.chunk import Chunk
from headrace.engine.report import TaskReport
from headrace.engine.restore import StopAsked
from headrace.engine.slot_metrics import SlotMetrics
from headrace.engine.task import ActiveTask
from headrace.engine.worker import Worker
from headrace.kafka.port import Position, RecordRejected, SlotProducer
from headrace.kafka.resets import known_positions
from headrace.metrics.level import RecordingLevel

_LOCK_TIMEOUT_S = 30.0
_SAMPLED = 32
"""Of so many records that are sent, the size of one is looked at."""


class CommitCycle:
    """The commit protocol of a slot (ARCHITECTURE.md, "A commit").

    `begin`, then `process` and `commit` in turn, as often as its caller likes, and `release` at the
    end. After an error only `abandon` and `release` are left. It knows neither where the records
    come from, nor when a commit is due: only what its caller may want to know for that.
    """

    def __init__(self, worker: Worker, slot: int) -> None:
        self._worker = worker
        self._plan = worker.plan
        self._clock = worker.clock
        self._slot = slot
        self._steps = _Steps(slot, worker.plan.config["__step.observer__"])
        self.metrics = SlotMetrics(RecordingLevel.of(worker.plan.config))
        self._open: dict[TaskId, ActiveTask] = {}
        self._positions: Mapping[TopicPartition, Position] = {}
        self._global_stores: Mapping[str, Any] = {}
        self._producer: SlotProducer | None = None
        self._sent_at: float | None = None
        self._sent_bytes = 0
        self.flush_s = 0.0
        """How long the last commit took to flush the caches."""

    # What the caller may want to know

    @property
    def commit_requested(self) -> bool:
        """Whether a processor has asked for a commit."""
        return any(task.commit_requested for task in self._open.values())

    @property
    def uncommitted_bytes(self) -> int:
        """About how much was read and sent since the last commit."""
        return self._sent_bytes + sum(task.uncommitted_bytes for task in self._open.values())

    @property
    def uncommitted_s(self) -> float:
        """How long ago the first record was sent that isn't committed: the age of the
        transaction."""
        return 0.0 if self._sent_at is None else self._clock.seconds() - self._sent_at

    @property
    def task_at_work(self) -> TaskId | None:
        """The one that was opened last."""
        return next(reversed(self._open), None)

    # The protocol

    def begin(self) -> None:
        """Take the slot, and read where its tasks are."""
        with self.metrics.timing(self.metrics.blocked):
            self._producer, is_fresh = self._worker.producer(self._slot)
            if is_fresh:
                # Whoever had the slot before can't commit any more; but may we?
                self._worker.claim.check()
            self._steps.mark("acquired")
            self._positions = known_positions(
                self._worker.kafka.group,
                self._plan.config.application_id,
                self._plan.inputs_of(self._slot),
            )
            self._steps.mark("positions-read")
            if self._worker.global_state is not None:
                self._global_stores = self._worker.global_state.catch_up()

    def process(self, partition: TopicPartition, chunk: Chunk) -> Iterator[None]:
        """Process records, those that need not wait for others. In the pauses, and at the end, the
        caller may commit; what is left then is to be processed after it, or never."""
        task = self._task(partition)
        yield from self._work(task, task.process(partition, chunk))

    def drain(self) -> Iterator[None]:
        """Process the records that have waited for others, with pauses as in `process`."""
        for task in [*self._open.values()]:
            yield from self._work(task, task.drain())

    def punctuate(self, id_: TaskId) -> None:
        """Have a task do what is due by the wall clock."""
        task = self._task(id_)
        with self.metrics.timing(self.metrics.punctuate), self._watching(task):
            task.punctuate()
        self._send(task)

    def commit(self) -> Mapping[TopicPartition, Position]:
        """Commit what was done since the last commit; gives the positions, if anything was."""
        positions: dict[TopicPartition, Position] = {}
        began = self._clock.nanoseconds()
        self.flush_s = 0.0
        for task in self._open.values():
            flushing = self._clock.seconds()
            with self._watching(task):
                task.flush_caches()
            self.flush_s += self._clock.seconds() - flushing
            self._send(task)
        self._steps.mark("processed")
        changed = [task for task in self._open.values() if task.has_changed]
        for task in changed:
            positions.update(task.positions())
        if changed:
            assert self._producer is not None
            with self.metrics.timing(self.metrics.blocked):
                if not self._plan.exactly_once:
                    self._check_not_replaced(changed)
                self._producer.commit(self._worker.kafka.group.group_metadata(), positions)
            self._steps.mark("committed")
            with self.metrics.timing(self.metrics.checkpoint):
                for task in changed:
                    task.apply(positions, self._producer)
            self._steps.mark("applied")
            self.metrics.commit.record(self._clock.nanoseconds() - began)
        self._sent_at = None
        self._sent_bytes = 0
        return positions

    def abandon(self, *, distrusts_state: bool = False) -> None:
        """Forget what was done since the last commit."""
        for task in self._open.values():
            task.abandon()
        if self._producer is not None:
            self._producer.abort()
        if distrusts_state:
            for task in self._open.values():
                task.distrust()

    def release(self) -> None:
        """Let others have the tasks."""
        for task in self._open.values():
            task.release()

    def reports(self) -> list[TaskReport]:
        """What was done since `begin`, all of it committed."""
        self._worker.forget_tasks(self._open.values())
        metrics = self.metrics
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
                slot_metrics=metrics.take(),
                global_metrics=[] if shared is None else shared.take_measurements(),
            )
        return reports

    # How it works

    def _check_not_replaced(self, tasks: Iterable[ActiveTask]) -> None:
        """Without transactions no broker refuses the commit of a run that was replaced, or of an
        attempt that another has overtaken."""
        self._worker.claim.check()
        known = {part: at for task in tasks for part, at in task.committed.items()}
        if self._worker.kafka.group.committed(known) != known:
            raise FencedError(f"Another attempt of slot {self._slot} has committed meanwhile.")

    def _task(self, key: TopicPartition | TaskId) -> ActiveTask:
        task = self._worker.task(key)
        if task.id not in self._open:
            self._steps.mark("restoring")
            self._open[task.id] = task
            self._worker.listener.starting(self._slot, task.id)
            try:
                task.open(
                    self._positions, self._global_stores, self._worker.listener, _LOCK_TIMEOUT_S
                )
            except StopAsked:
                # The others can be committed all the same.
                task.abandon()
                task.release()
                del self._open[task.id]
                raise
            if task.restore_ns:
                self.metrics.restore.record(task.restore_ns)
                self.metrics.restored.record(task.restored)
            self._steps.mark("restored")
        return task

    def _work(self, task: ActiveTask, steps: Iterator[None]) -> Iterator[None]:
        is_done = False
        while not is_done:
            began = self._clock.nanoseconds()
            with self._watching(task):
                is_done = next(steps, steps) is steps
            self._send(task)
            spent = self._clock.nanoseconds() - began
            task.busy_ns += spent
            self.metrics.process.record(spent)
            yield

    def _watching(self, task: ActiveTask) -> AbstractContextManager[None]:
        watchdog = self._worker.watchdog
        if watchdog is None or task.kernel is None:
            return nullcontext()
        return watchdog.watching(task.kernel.context)

    def _send(self, task: ActiveTask) -> None:
        outbox = task.take_outbox()
        if outbox and self._sent_at is None:
            self._sent_at = self._clock.seconds()
        self._sent_bytes += _size(outbox)
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

    def _report(self, task: ActiveTask) -> TaskReport:
        assert task.kernel is not None
        positions: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in task.kernel.positions.items():
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
            wake_at_ms=task.wake_at_ms,
        )


def _size(outbox: Sequence[Any]) -> int:
    """About how many bytes there are to send."""
    looked_at = outbox[::_SAMPLED]
    if not looked_at:
        return 0
    size = sum(len(record[2] or b"") + len(record[3] or b"") for record in looked_at)
    return size * len(outbox) // len(looked_at)


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
