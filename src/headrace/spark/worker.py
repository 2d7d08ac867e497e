"""What Spark runs in its Python workers: a slot's rows in, reports out."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from headrace.core.clock import SystemClock
from headrace.core.record import TopicPartition
from headrace.engine.batch import Batch, Row
from headrace.engine.chunk import Chunk, Piece
from headrace.engine.rehearsal import rehearse
from headrace.engine.report import TaskReport
from headrace.engine.worker import Worker
from headrace.kafka.port import Kafka
from headrace.runtime.columns import Columns
from headrace.spark.events import EventSender
from headrace.spark.workers import Setting, Workers

SlotFunction = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]

_LEFT_ROWS_S = 3.0

_workers = Workers()


def run_slot(
    setting: Setting, slot: int | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run one slot of one batch: the given one, or that of the partition's number."""
    worker = _workers.of(setting)
    if slot is None:
        context = TaskContext.get()
        assert context is not None
        slot = context.partitionId()
    left = iter(batches)
    reports = Batch(worker, slot).run(_rows(left, worker))
    # Spark doesn't use a worker again that has left rows; but there may be very many.
    deadline = time.monotonic() + _LEFT_ROWS_S
    while time.monotonic() < deadline and next(left, None) is not None:
        pass
    yield _batch(reports)


def warm_up(setting: Setting, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Bring the tasks of a slot up to date before the first batch."""
    worker = _workers.of(setting)
    for batch in batches:
        for slot in batch.column(0).to_pylist():
            tasks = [task.id for task in worker.plan.tasks if worker.plan.slot_of[task.id] == slot]
            yield _batch(Batch(worker, slot).run(tasks))


def rehearse_plan(setting: Setting, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """See whether the plan can be run, before anything depends on it."""
    for _ in batches:
        name = f"{socket.gethostname()}:{os.getpid()}"
        listener = EventSender(*setting.events)
        yield _batch(rehearse(setting.load_plan(), name, listener, SystemClock()))


def stay(application: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Have the process busy for a moment, and the application's worker not given up."""
    _workers.keep(application)
    yield from batches


def _rows(batches: Iterable[pa.RecordBatch], worker: Worker) -> Iterator[Row]:
    """The rows by runs of one input; after the last, the tasks that are to look at the clock."""
    plan = worker.plan
    woken: set[int] = set()
    for batch in batches:
        runs = pc.run_end_encode(batch.column(0))
        start = 0
        for end, source in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            if source < 0:
                woken.add(-1 - source)
            else:
                part = plan.inputs[source]
                yield part, _chunk(batch.slice(start, end - start), worker.kafka, part)
            start = end
    for index in sorted(woken):
        yield plan.tasks[index].id


def _chunk(batch: pa.RecordBatch, kafka: Kafka, partition: TopicPartition) -> Chunk:
    offsets = batch.column(1)
    first, last = (_offset(offsets[at].as_py()) for at in (0, -1))
    load = partial(_pieces, batch, kafka, partition)
    return Chunk(first, last, len(offsets), batch.nbytes, load)


def _offset(number: int) -> int:
    """Of a large record, whose keys and values are left in Kafka, it is inverted."""
    return number if number >= 0 else ~number


def _pieces(batch: pa.RecordBatch, kafka: Kafka, partition: TopicPartition) -> Iterator[Piece]:
    values = batch.column(4)
    offsets = batch.column(1).to_pylist() if values.null_count else ()
    large = [at for at, number in enumerate(offsets) if number < 0]
    if not large:
        yield _columns(batch), batch.nbytes
        return
    # Those between them are read with them: to seek takes longer.
    first, last = large[0], large[-1]
    if first:
        yield from _pieces(batch.slice(0, first), kafka, partition)
    yield from Chunk.in_kafka(
        kafka.reader, partition, ~offsets[first], ~offsets[last], last - first + 1
    ).load()
    if last + 1 < len(offsets):
        yield from _pieces(batch.slice(last + 1), kafka, partition)


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
