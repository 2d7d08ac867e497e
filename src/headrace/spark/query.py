"""A plan as one Structured Streaming query."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial, reduce

import orjson
from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.core.errors import StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport
from headrace.engine.slot_runner import OnBatch
from headrace.spark.events import Address
from headrace.spark.failures import failure_of
from headrace.spark.session import is_local
from headrace.spark.shipment import shipment
from headrace.spark.slot_rows import SlotRows
from headrace.spark.worker import SlotFunction, rehearse_plan, run_slot, stay, warm_up
from headrace.spark.workers import Setting

_KEEP_EVERY_S = 40.0
"""Spark ends its Python processes when none of them had anything to do for a minute."""


class _End(Exception):
    """Ends a query from within: Spark has no other way to stop between two batches."""


def _is_no_end(record: logging.LogRecord) -> bool:
    return record.exc_info is None or record.exc_info[0] is not _End


logging.getLogger("py4j.clientserver").addFilter(_is_no_end)


class SlotQuery:
    """Runs a plan's slots batch after batch.

    `on_batch` gets the reports of each batch, and may end the query. What was committed is
    in Kafka, so that a query always begins at `positions`: Spark's own checkpoint is thrown away.
    """

    def __init__(
        self,
        session: SparkSession,
        plan: Plan,
        events: Address,
        node_program: str | None,
        on_batch: OnBatch,
    ) -> None:
        self._session = session
        self._plan = plan
        self._on_batch = on_batch
        if is_local(session):
            node_program = None  # the driver serves the state of its own host
        setting = Setting(
            plan.config.application_id, shipment(plan), plan.run, events, node_program
        )
        self._setting = setting
        self._warm_up: SlotFunction = partial(warm_up, setting)
        self._rehearse: SlotFunction = partial(rehearse_plan, setting)
        self._tag = f"headrace-{plan.run}"
        self._warmed_up: Future[list[TaskReport]] | None = None
        self._ended = threading.Event()
        self._rows: SlotRows | None = None
        self._index_of = {str(task.id): index for index, task in enumerate(plan.tasks)}
        self._wake_at_ms: dict[str, int] = {}
        """When tasks want to look at the wall clock next."""
        self._worked_at = time.monotonic()
        self._is_stopped = False
        self._checkpoint: str | None = None
        self._query: StreamingQuery | None = None

    def warm_up(self, *, rehearsal: bool = False) -> None:
        """Each slot in one Spark task, in a thread of its own: `stop` can end it."""
        function, slots = self._warm_up, self._plan.slots
        if rehearsal:
            function, slots = self._rehearse, 1

        def run() -> None:
            self._session.sparkContext.addJobTag(self._tag)
            numbers = self._session.range(0, slots, 1, slots)
            try:
                warmed_up.set_result(_reports(numbers.mapInArrow(function, "report binary")))
            except Exception as error:
                warmed_up.set_exception(failure_of(str(error)))

        warmed_up: Future[list[TaskReport]] = Future()
        self._warmed_up = warmed_up
        InheritableThread(target=run, name="headrace-warm-up", daemon=True).start()

    def warmed_up(self, timeout_s: float) -> list[TaskReport] | None:
        assert self._warmed_up is not None
        try:
            reports = self._warmed_up.result(timeout_s)
        except TimeoutError:
            return None
        self._note_wake_ups(reports)
        return reports

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        self._rows = rows = SlotRows(self._session, self._plan, positions)
        if rows.are_exchanged:
            reports = self._reports_of(rows.exchanged(), None)
        else:
            slots = range(self._plan.slots)
            reports = reduce(
                DataFrame.union, [self._reports_of(rows.of_slot(slot), slot) for slot in slots]
            )
        interval = self._plan.config["commit.interval.ms"]
        self._checkpoint = tempfile.mkdtemp(prefix="headrace-")
        self._query = query = (
            reports.writeStream.foreachBatch(self._batch)
            .trigger(processingTime=f"{interval} milliseconds")
            .option("checkpointLocation", f"file:{self._checkpoint}")
            .start()
        )
        awaiting = threading.Thread(target=self._await_end, args=(query,), daemon=True)
        awaiting.start()

    def _reports_of(self, rows: DataFrame, slot: int | None) -> DataFrame:
        return rows.mapInArrow(partial(run_slot, self._setting, slot), "report binary")

    @property
    def is_idle(self) -> bool:
        return self._query is None or not self._query.status["isTriggerActive"]

    def wait(self, timeout_s: float) -> bool:
        """Whether the query has ended. Tasks that are due by then are woken."""
        self._wake_up()
        if time.monotonic() - self._worked_at > _KEEP_EVERY_S and self.is_idle:
            self._worked_at = time.monotonic()
            InheritableThread(target=self._keep_workers, name="headrace-keep", daemon=True).start()
        return self._query is None or self._ended.wait(timeout_s)

    def completed(self) -> dict[TopicPartition, int]:
        """Up to where Spark has read in batches that are complete: no batch will read before it."""
        # PySpark's own `lastProgress` asks Java for everything in it, in hundreds of calls.
        progress = None if self._query is None else self._query._jsq.lastProgress()
        ends: dict[TopicPartition, int] = {}
        for source in progress.sources() if progress is not None else ():
            end = source.endOffset()
            # That of wake-up calls is a number; before its first, a source has none.
            if end is None or not end.startswith("{"):
                continue
            for topic, offsets in orjson.loads(end).items():
                for number, offset in offsets.items():
                    ends[TopicPartition(topic, int(number))] = offset
        return ends

    def failure(self) -> StreamsError:
        """Why the query has ended."""
        error = None if self._query is None else self._query.exception()
        return failure_of("it ended by itself" if error is None else str(error))

    def stop(self) -> None:
        self._is_stopped = True
        if self._warmed_up is not None and not self._warmed_up.done():
            with suppress(Exception):  # of a Java process that is gone
                self._session.sparkContext.cancelJobsWithTag(self._tag)
        if self._query is not None:
            # In the middle of a batch, Spark may fail over the interruption. It has stopped all the
            # same, and there is a better reason to tell than that.
            with suppress(Exception):
                self._query.stop()
            self._query = None
        if self._checkpoint is not None:
            shutil.rmtree(self._checkpoint, ignore_errors=True)
            self._checkpoint = None

    def _await_end(self, query: StreamingQuery) -> None:
        """In a thread of its own: Java is not asked again and again while nothing happens."""
        with suppress(Exception):  # `failure` has it, or Java is gone
            query.awaitTermination()
        self._ended.set()

    # Batches

    def _batch(self, reports: DataFrame, number: int) -> None:
        began = time.perf_counter()
        try:
            found = _reports(reports)
        except Exception:
            if self._is_stopped:  # in the middle of the batch: nobody needs to read of that
                raise _End from None
            raise
        self._note_wake_ups(found)
        self._worked_at = time.monotonic()
        if not self._on_batch(found, (time.perf_counter() - began) * 1000):
            self._ended.set()
            raise _End

    def _keep_workers(self) -> None:
        """Give the Python processes something to do: tasks that are in their memory stay there."""
        slots, function = self._plan.slots, partial(stay, self._setting.application)
        with suppress(Exception):  # of a session that ends meanwhile
            self._session.range(0, slots, 1, slots).mapInArrow(function, "id long").collect()

    def _note_wake_ups(self, reports: list[TaskReport]) -> None:
        for report in reports:
            if report.wake_at_ms is not None:
                self._wake_at_ms[report.task] = report.wake_at_ms

    def _wake_up(self) -> None:
        if self._rows is None:
            return
        now_ms = time.time() * 1000
        due = [task for task, at_ms in list(self._wake_at_ms.items()) if at_ms <= now_ms]
        if due:
            for task in due:
                del self._wake_at_ms[task]
            self._rows.wake([self._index_of[task] for task in due])


def _reports(rows: DataFrame) -> list[TaskReport]:
    return [TaskReport.from_json(bytes(row[0])) for row in rows.collect()]
