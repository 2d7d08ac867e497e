"""A model of Spark, as far as the engine knows it: batches, slots, attempts and their processes.

A batch is a range of offsets for each input. A slot that fails is tried again with the same ranges,
in any process, while earlier attempts may still live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from headrace.core.errors import BrokerError, StreamsError
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.batch import Batch, RetryLater
from headrace.engine.chunk import Chunk
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport
from headrace.engine.slot_runner import STOP, OnBatch
from headrace.engine.worker import Worker
from headrace.runtime.columns import Columns

from .disk import Host, ModelDisk
from .partition_log import Entry
from .scheduler import Process, Signal

if TYPE_CHECKING:
    from .world import World

_ATTEMPTS = 8
_PATIENCE_S = 100.0
"""When an executor is given up that isn't heard of."""
_TICK_S = 1.0

Send = Callable[[Any], None]
Ranges = Mapping[TopicPartition, tuple[int, int]]


class Listener:
    """Tells the driver what workers tell, if it still lives."""

    def __init__(self, driver: Process, on_event: Callable[[list[Any], Send], None]) -> None:
        self._driver = driver
        self._on_event = on_event
        self._stop_asked = False

    def alive(self) -> None:
        self._stop_asked = False
        self._tell("alive")

    def stop_asked(self) -> bool:
        return self._stop_asked

    def progressed(self, positions: Mapping[TopicPartition, int]) -> None:
        self._tell("progressed", [(*part, offset) for part, offset in positions.items()])

    def starting(self, slot: int, task: TaskId) -> None:
        self._tell("starting", slot, str(task))

    def attempt_failed(self, slot: int, task: TaskId | None, error: Exception) -> None:
        self._driver.scheduler.note(f"slot {slot}", f"will try again: {error}")
        self._tell("attempt_failed", slot, "" if task is None else str(task), "", str(error))

    def restore_started(self, *_: Any) -> None:
        self._tell("alive")

    def batch_restored(self, *_: Any) -> None:
        self._tell("alive")

    def restore_ended(self, *_: Any) -> None:
        self._tell("alive")

    def _tell(self, *event: Any) -> None:
        if self._driver.is_alive:
            self._on_event(list(event), self._hear)

    def _hear(self, answer: Any) -> None:
        self._stop_asked = self._stop_asked or answer == STOP


class WorkerProcess(Process):
    """A Python process of Spark's: it has one Worker, and runs one attempt at a time."""

    def __init__(self, world: World, host: Host, name: str, listener: Listener) -> None:
        super().__init__(world.scheduler, name)
        self._listener = listener
        self.host = host
        self.is_busy = False
        self._world = world
        self._worker: Worker | None = None
        self.clock.skew_ms = world.skew_ms(host)
        self.on_death.append(lambda: host.died(self))

    def worker(self, plan: Plan) -> Worker:
        if self._worker is None or self._worker.plan.run != plan.run:
            if self._worker is not None:
                self._worker.close()
            disk = ModelDisk(self.host, self)
            self._worker = Worker(plan, self._world.kafka(self), disk, self._listener, self.clock)
            self._worker.name = self.name
        return self._worker


class Attempt:
    """One attempt to run a slot."""

    def __init__(self, process: WorkerProcess) -> None:
        self.done = Signal(process.scheduler)
        self.reports: list[TaskReport] | None = None
        self.error: Exception | None = None
        self._process = process
        process.on_death.append(self.done.give)

    def run(self, plan: Plan, slot: int, rows: Callable[[], Rows], wake: list[TaskId]) -> None:
        process = self._process
        process.is_busy = True
        try:
            commit_bytes = process.scheduler.random.choice((0, 100, 1000, 1_000_000))
            batch = Batch(process.worker(plan), slot, commit_bytes)
            self.reports = batch.run(chain(rows(), wake))
        except Exception as error:
            # Spark's Python processes don't outlive an error.
            self.error = error
            process.kill()
        finally:
            process.is_busy = False
            self.done.give()


Rows = Iterator[tuple[TopicPartition, Chunk]]


class Executors:
    """The Python processes of one Spark application, on its hosts."""

    def __init__(self, world: World, name: str, hosts: list[Host], listener: Listener) -> None:
        self._world = world
        self._listener = listener
        self._name = name
        self._hosts = hosts
        self._count = 0
        self.processes: list[WorkerProcess] = []

    def pick(self) -> WorkerProcess:
        """One that is idle, or a new one."""
        draw = self._world.scheduler.random
        self.processes = [one for one in self.processes if one.is_alive]
        idle = [one for one in self.processes if not one.is_busy]
        if idle and not self._world.chaos.happens(0.05):
            return draw.choice(idle)
        self._count += 1
        host = self._hosts[0] if draw.random() < 0.7 else draw.choice(self._hosts)
        process = WorkerProcess(
            self._world, host, f"{self._name}.{self._count}@{host.name}", self._listener
        )
        self.processes.append(process)
        return process

    def lose(self) -> None:
        """With the driver gone its processes end, but not all at once."""
        world = self._world
        for process in self.processes:
            delay = world.scheduler.random.choice((0.0, 0.1, 5.0, 90.0))
            world.later(delay, process.kill)


class SimulatedQuery:
    """Runs a plan's slots batch after batch, as `headrace.spark.query.SlotQuery` does."""

    def __init__(
        self, world: World, driver: Process, executors: Executors, plan: Plan, on_batch: OnBatch
    ) -> None:
        self._world = world
        self._driver = driver
        self._executors = executors
        self._plan = plan
        self._on_batch = on_batch
        self._scheduler = world.scheduler
        self._ended = Signal(world.scheduler)
        self._error: StreamsError | None = None
        self._next: dict[TopicPartition, int] = {}
        self._completed: dict[TopicPartition, int] = {}
        self._is_stopped = False
        self._ticked = 0.0
        self._warming: _Warming | None = None
        self.is_idle = True

    def warm_up(self, *, rehearsal: bool = False) -> None:
        self._warming = None
        if rehearsal:
            return
        plan = self._plan
        woken = {
            slot: [task.id for task in plan.tasks if plan.slot_of[task.id] == slot]
            for slot in range(plan.slots)
        }
        self._warming = _Warming(self, woken)
        self._scheduler.spawn(self._driver, self._warming.go)

    def warmed_up(self, timeout_s: float) -> list[TaskReport] | None:
        warming = self._warming
        if warming is None:
            return []
        if not self._scheduler.wait(warming.ended, timeout_s):
            return None
        if warming.error is not None:
            raise warming.error
        return warming.reports

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        self._next = dict(positions)
        self._scheduler.spawn(self._driver, self._run)

    def wait(self, timeout_s: float) -> bool:
        return self._scheduler.wait(self._ended, timeout_s)

    def stop(self) -> None:
        self._is_stopped = True
        self._ended.give()

    def completed(self) -> dict[TopicPartition, int]:
        return dict(self._completed)

    def failure(self) -> StreamsError:
        return self._error or StreamsError("Spark's query failed: it ended by itself")

    # Batches

    def _run(self) -> None:
        interval_s = self._plan.config["commit.interval.ms"] / 1000
        try:
            while not self._is_stopped:
                ranges, ticks = self._ranges(), self._ticks()
                if ranges or ticks:
                    self.is_idle = False
                    began = self._scheduler.now
                    reports = self._batch(ranges, ticks)
                    self._completed |= self._next
                    self.is_idle = True
                    if self._is_stopped:
                        return
                    if not self._on_batch(reports, (self._scheduler.now - began) * 1000):
                        return
                self._scheduler.sleep(interval_s)
        except StreamsError as error:
            self._error = error
        finally:
            self.is_idle = True
            self._ended.give()

    def _ticks(self) -> bool:
        if not self._plan.may_punctuate or self._scheduler.now - self._ticked < _TICK_S:
            return False
        self._ticked = self._scheduler.now
        return True

    def _ranges(self) -> Ranges:
        broker = self._world.broker
        while broker.is_down:
            self._scheduler.sleep(0.5)
        broker.settle()
        committed = self._world.exactly_once
        ranges = {}
        for parts, limit in self._plan.shares:
            most = max(1, limit // len(parts))
            for part in parts:
                log = broker.log(part)
                start, end = self._next[part], log.end_for(committed=committed)
                if start < log.start:
                    raise StreamsError(f"Spark's query failed: {part}@{start} is gone")
                if start < end:
                    ranges[part] = start, min(end, start + most)
        self._next |= {part: end for part, (_, end) in ranges.items()}
        return ranges

    def _batch(self, ranges: Ranges, ticks: bool) -> list[TaskReport]:
        slots: dict[int, dict[TopicPartition, tuple[int, int]]] = {}
        plan = self._plan
        for part, bounds in ranges.items():
            slots.setdefault(plan.slot_of[plan.task_of[part].id], {})[part] = bounds
        woken: dict[int, list[TaskId]] = {}
        if ticks:
            for task in plan.tasks:
                woken.setdefault(plan.slot_of[task.id], []).append(task.id)
                slots.setdefault(plan.slot_of[task.id], {})
        return self._run_slots(slots, woken)

    # Slots

    def _run_slots(
        self,
        slots: Mapping[int, Ranges],
        woken: Mapping[int, list[TaskId]],
    ) -> list[TaskReport]:
        running = []
        for slot, ranges in sorted(slots.items()):
            run = _SlotRun(self, slot, ranges, woken.get(slot, []))
            self._scheduler.spawn(self._driver, run.go)
            running.append(run)
        reports = []
        for run in running:
            while not self._scheduler.wait(run.ended, 3600.0):
                pass
            if run.error is not None:
                raise run.error
            reports += run.reports
        return reports

    def _rows(self, ranges: Ranges) -> Rows:
        """As Spark's own consumers read them."""
        draw = self._scheduler.random
        for part, (start, end) in ranges.items():
            entries = self._world.read(part, start, end)
            while entries:
                size = draw.randint(1, len(entries))
                yield part, Chunk.of(_columns(entries[:size]))
                entries = entries[size:]


class _Warming:
    """All slots bring their tasks up to date."""

    def __init__(self, query: SimulatedQuery, woken: Mapping[int, list[TaskId]]) -> None:
        self._query = query
        self._woken = woken
        self.ended = Signal(query._scheduler)
        self.reports: list[TaskReport] = []
        self.error: StreamsError | None = None

    def go(self) -> None:
        try:
            self.reports = self._query._run_slots({slot: {} for slot in self._woken}, self._woken)
        except StreamsError as error:
            self.error = error
        self.ended.give()


class _SlotRun:
    """A slot of a batch, until an attempt has succeeded."""

    def __init__(
        self, query: SimulatedQuery, slot: int, ranges: Ranges, wake: list[TaskId]
    ) -> None:
        self._query = query
        self._slot = slot
        self._ranges = ranges
        self._wake = wake
        self.ended = Signal(query._scheduler)
        self.reports: list[TaskReport] = []
        self.error: StreamsError | None = None

    def go(self) -> None:
        query = self._query
        attempts: list[Attempt] = []
        for _ in range(_ATTEMPTS):
            if query._is_stopped:
                break
            attempts.append(self._attempt())
            # Spark may try again early what takes long: then the first to end counts.
            patience = 0.3 if query._world.chaos.happens(0.02) else _PATIENCE_S
            winner = self._wait(attempts, patience)
            if winner is not None and winner.reports is not None:
                self.reports = winner.reports
                break
        else:
            self.error = _failure(attempts[-1].error)
        self.ended.give()

    def _attempt(self) -> Attempt:
        query = self._query
        process = query._executors.pick()
        attempt = Attempt(process)
        process.is_busy = True
        query._scheduler.spawn(
            process,
            lambda: attempt.run(
                query._plan, self._slot, lambda: query._rows(self._ranges), self._wake
            ),
        )
        return attempt

    def _wait(self, attempts: list[Attempt], seconds: float) -> Attempt | None:
        """The first that ends, of those that have not failed yet."""
        scheduler = self._query._scheduler
        deadline = scheduler.now + seconds
        while scheduler.now < deadline:
            for attempt in attempts:
                if attempt.done.is_given and attempt.reports is not None:
                    return attempt
            if attempts[-1].done.is_given:
                return attempts[-1]
            scheduler.wait(attempts[-1].done, min(deadline - scheduler.now, 5.0))
        return None


def _failure(error: Exception | None) -> StreamsError:
    """What `headrace.spark.failures` makes of the last attempt's end."""
    if isinstance(error, RetryLater):
        return BrokerError(str(error), retriable=True)
    if error is None:
        return StreamsError("A Python worker of Spark's died, and so did those that tried again.")
    failure = StreamsError(f"Spark's query failed: {error!r}")
    failure.__cause__ = error
    return failure


def _columns(entries: Iterable[Entry]) -> Columns:
    found = list(entries)
    headers = [list(entry.headers) for entry in found]
    return Columns(
        [entry.offset for entry in found],
        [entry.timestamp for entry in found],
        [entry.key for entry in found],
        [entry.value for entry in found],
        headers if any(headers) else None,
    )
