"""What Spark runs in its Python workers: a slot's rows in, reports out."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from headrace.core.record import TaskId, TopicPartition
from headrace.engine.chunk import Chunk
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport
from headrace.engine.thread import StreamThread, Worker
from headrace.runtime.columns import Columns
from headrace.spark.events import EventSender
from headrace.spark.node import NodeKeeper

SlotFunction = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]

_worker: Worker | None = None
_keeper: NodeKeeper | None = None


class Setting(NamedTuple):
    """What a worker is told: the plan as bytes and its run, whom to tell of events, and whether
    each host has a node that serves its state."""

    plan: bytes
    run: int
    events: tuple[str, int, str]
    has_nodes: bool


def run_slot(setting: Setting, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run one slot of one batch. A row whose input is negative is a tick of the clock."""
    worker = _worker_of(setting)
    context = TaskContext.get()
    assert context is not None
    slot = context.partitionId()
    ticks = _Ticks()
    thread = StreamThread(worker, slot)
    reports = thread.run(
        _rows(batches, worker.plan.inputs, ticks), _Woken(worker.plan, slot, ticks)
    )
    yield _batch(reports)


def warm_up(setting: Setting, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Bring the tasks of a slot up to date before the first batch."""
    worker = _worker_of(setting)
    for batch in batches:
        for slot in batch.column(0).to_pylist():
            tasks = [task.id for task in worker.plan.tasks if worker.plan.slot_of[task.id] == slot]
            yield _batch(StreamThread(worker, slot).run((), tasks))


def _worker_of(setting: Setting) -> Worker:
    global _worker, _keeper
    if _worker is None or _worker.plan.run != setting.run:
        if _worker is not None:
            _worker.close()
        _worker = Worker(pickle.loads(setting.plan), EventSender(*setting.events))
        _keeper = None
        if setting.has_nodes:
            _keeper = NodeKeeper(_worker.directory, setting.plan, setting.events)
            _worker.node = _keeper.name
    if _keeper is not None:
        _keeper.look()
    return _worker


class _Ticks:
    """Whether the clock has ticked in this batch."""

    seen = False


class _Woken:
    """The tasks that look at the clock, which is known when all rows are read."""

    def __init__(self, plan: Plan, slot: int, ticks: _Ticks) -> None:
        self._plan = plan
        self._slot = slot
        self._ticks = ticks

    def __iter__(self) -> Iterator[TaskId]:
        if self._ticks.seen:
            for task in self._plan.tasks:
                if self._plan.slot_of[task.id] == self._slot:
                    yield task.id


def _rows(
    batches: Iterable[pa.RecordBatch], inputs: tuple[TopicPartition, ...], ticks: _Ticks
) -> Iterator[tuple[TopicPartition, Chunk]]:
    """The rows by runs of one input."""
    for batch in batches:
        runs = pc.run_end_encode(batch.column(0))
        start = 0
        for end, source in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            if source < 0:
                ticks.seen = True
            else:
                yield inputs[source], _chunk(batch.slice(start, end - start))
            start = end


def _chunk(batch: pa.RecordBatch) -> Chunk:
    offsets = batch.column(1)
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    return Chunk(first, last, len(offsets), partial(_columns, batch))


def _columns(batch: pa.RecordBatch) -> Columns:
    _, offsets, timestamps, keys, values, headers = batch.columns
    return Columns(
        offsets.to_pylist(),
        timestamps.to_pylist(),
        keys.to_pylist(),
        values.to_pylist(),
        None
        if headers.null_count == len(headers)
        else [
            [(header["key"], header["value"]) for header in row or ()]
            for row in headers.to_pylist()
        ],
    )


def _batch(reports: Iterable[TaskReport]) -> pa.RecordBatch:
    column = pa.array([report.to_json() for report in reports], pa.binary())
    return pa.RecordBatch.from_arrays([column], ["report"])
