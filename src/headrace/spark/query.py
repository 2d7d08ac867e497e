"""A plan as one Structured Streaming query."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial, reduce
from typing import Any

import orjson
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.streaming.query import StreamingQuery

from headrace.core.config import StreamsConfig
from headrace.core.errors import StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport
from headrace.kafka.settings import ClientSettings
from headrace.spark.exchange import slot_keys
from headrace.spark.failures import failure_of
from headrace.spark.shipment import shipment
from headrace.spark.worker import Setting, SlotFunction, run_slot, warm_up

OnBatch = Callable[[list[TaskReport], float], bool]
"""`on_batch(reports, milliseconds)` says whether to go on."""


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
        self, session: SparkSession, plan: Plan, events: tuple[str, int, str], on_batch: OnBatch
    ) -> None:
        self._session = session
        self._plan = plan
        self._on_batch = on_batch
        setting = Setting(shipment(plan), plan.run, events, has_nodes(session, plan.config))
        self._run_slot: SlotFunction = partial(run_slot, setting)
        self._warm_up: SlotFunction = partial(warm_up, setting)
        self._ended = threading.Event()
        self._checkpoint: str | None = None
        self._query: StreamingQuery | None = None

    def warm_up(self) -> list[TaskReport]:
        """Have all tasks bring their state up to date, each slot in one Spark task."""
        slots = self._session.range(0, self._plan.slots, 1, self._plan.slots)
        try:
            return _reports(slots.mapInArrow(self._warm_up, "report binary"))
        except Exception as error:
            raise failure_of(str(error)) from None

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        rows = self._rows(positions)
        if self._plan.needs_exchange:
            slots = rows.repartition(self._plan.slots, "slot").drop("slot")
        else:
            slots = rows.drop("slot").coalesce(self._plan.slots)
        interval = self._plan.config["commit.interval.ms"]
        self._checkpoint = tempfile.mkdtemp(prefix="headrace-")
        self._query = (
            slots.mapInArrow(self._run_slot, "report binary")
            .writeStream.foreachBatch(self._batch)
            .trigger(processingTime=f"{interval} milliseconds")
            .option("checkpointLocation", f"file:{self._checkpoint}")
            .start()
        )

    @property
    def is_idle(self) -> bool:
        return self._query is None or not self._query.status["isTriggerActive"]

    def wait(self, timeout_s: float) -> bool:
        """Whether the query has ended."""
        if self._query is None or self._ended.wait(timeout_s):
            return True
        return not self._query.isActive

    def completed(self) -> dict[TopicPartition, int]:
        """Up to where Spark has read in batches that are complete: no batch will read before it."""
        progress = None if self._query is None else self._query.lastProgress
        ends: dict[TopicPartition, int] = {}
        for source in progress.sources if progress is not None else ():
            form = orjson.loads(source.endOffset or "null")
            if isinstance(form, dict):
                for topic, offsets in form.items():
                    for number, offset in offsets.items():
                        ends[TopicPartition(topic, int(number))] = offset
        return ends

    def failure(self) -> StreamsError:
        """Why the query has ended."""
        error = None if self._query is None else self._query.exception()
        return failure_of("it ended by itself" if error is None else str(error))

    def stop(self) -> None:
        if self._query is not None:
            # In the middle of a batch, Spark may fail over the interruption. It has stopped all the
            # same, and there is a better reason to tell than that.
            with suppress(Exception):
                self._query.stop()
            self._query = None
        if self._checkpoint is not None:
            shutil.rmtree(self._checkpoint, ignore_errors=True)
            self._checkpoint = None

    # Rows

    def _rows(self, positions: Mapping[TopicPartition, int]) -> DataFrame:
        """(slot, input, offset, timestamp, key, value, headers); `input` is the index in the
        plan's inputs."""
        keys = slot_keys(self._plan.slots)
        slot_of_input = [
            keys[self._plan.slot_of[self._plan.task_of[part].id]] for part in self._plan.inputs
        ]
        slots = ", ".join(map(str, slot_of_input))
        streams = [
            self._source(parts, limit, positions)
            .withColumn("input", expr(f"{self._first_input()} + partition"))
            .selectExpr(
                f"array({slots})[input] AS slot",
                "input",
                "offset",
                "unix_millis(timestamp) AS timestamp",
                "key",
                "value",
                "headers",
            )
            for parts, limit in self._plan.shares
        ]
        if self._plan.may_punctuate:
            streams.append(self._ticks(keys))
        return reduce(DataFrame.unionByName, streams)

    def _source(
        self,
        partitions: tuple[TopicPartition, ...],
        limit: int,
        positions: Mapping[TopicPartition, int],
    ) -> DataFrame:
        source = self._session.readStream.format("kafka")
        options = {
            **ClientSettings(self._plan.config).spark(),
            "includeHeaders": "true",
            "assign": orjson.dumps(_by_topic(partitions)).decode(),
            "startingOffsets": orjson.dumps(_offsets(partitions, positions)).decode(),
            "maxOffsetsPerTrigger": str(limit),
        }
        for key, value in options.items():
            source = source.option(key, value)
        return source.load()

    def _first_input(self) -> str:
        """SQL for the index of the first partition of a row's topic."""
        first: dict[str, int] = {}
        for index, part in enumerate(self._plan.inputs):
            first.setdefault(part.topic, index - part.partition)
        cases = " ".join(f"WHEN '{topic}' THEN {index}" for topic, index in first.items())
        return f"CASE topic {cases} END"

    def _ticks(self, keys: list[int]) -> DataFrame:
        """A row for every slot, every second, so that the clock is looked at without input."""
        every = ", ".join(map(str, keys))
        return (
            self._session.readStream.format("rate")
            .option("rowsPerSecond", 1)
            .option("numPartitions", 1)
            .load()
            .selectExpr(
                f"explode(array({every})) AS slot",
                "-1 AS input",
                "0L AS offset",
                "0L AS timestamp",
                "CAST(NULL AS BINARY) AS key",
                "CAST(NULL AS BINARY) AS value",
                "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers",
            )
        )

    def _batch(self, reports: DataFrame, number: int) -> None:
        began = time.perf_counter()
        found = _reports(reports)
        if not self._on_batch(found, (time.perf_counter() - began) * 1000):
            self._ended.set()
            raise _End


def has_nodes(session: SparkSession, config: StreamsConfig) -> bool:
    """Whether other hosts than the driver's have state that somebody wants to read or copy."""
    wanted = config["application.server"] is not None or config["num.standby.replicas"] > 0
    return wanted and not str(session.sparkContext.master).startswith("local")


def _reports(rows: DataFrame) -> list[TaskReport]:
    return [TaskReport.from_json(bytes(row[0])) for row in rows.collect()]


def _by_topic(partitions: tuple[TopicPartition, ...]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


def _offsets(
    partitions: tuple[TopicPartition, ...], positions: Mapping[TopicPartition, int]
) -> dict[str, dict[str, int]]:
    offsets: dict[str, dict[str, Any]] = {}
    for part in partitions:
        offsets.setdefault(part.topic, {})[str(part.partition)] = positions[part]
    return offsets
