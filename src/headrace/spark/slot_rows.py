"""The rows of slots: what Spark reads for each, from Kafka and of wake-up calls.

(input, offset, timestamp, key, value, headers): `input` is the index in the plan's inputs. A
negative one is a call for the task of index -1 - `input`. Of a large record there is the offset
only, inverted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import orjson
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan
from headrace.kafka.settings import ClientSettings
from headrace.spark.exchange import slot_keys
from headrace.spark.wake_up_calls import WakeUpCalls

_LARGE = 8192
_IS_LARGE = f"""
    coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0) > {_LARGE}
    OR coalesce(octet_length(CAST(headers AS STRING)), 0) > {_LARGE}
"""
"""A batch of Arrow has a fixed number of rows, in Java and in Python, whatever their size. So large
records are only named in it, by an inverted offset, and read by the slot in their turn."""

_COLUMNS = (
    "input",
    "IF(is_large, ~offset, offset) AS offset",
    "unix_millis(timestamp) AS timestamp",
    "IF(is_large, NULL, key) AS key",
    "IF(is_large, NULL, value) AS value",
    "IF(is_large, NULL, headers) AS headers",
)
_CALL = (
    "-1 - value AS input",
    "0L AS offset",
    "0L AS timestamp",
    "CAST(NULL AS BINARY) AS key",
    "CAST(NULL AS BINARY) AS value",
    "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers",
)
_MOST_SOURCES = 16
"""Before each batch Spark asks Kafka for the ends of each source, one after the other."""


class SlotRows:
    """The rows of a plan from given positions on.

    Each slot has sources of its own, which Spark reads in one task: all rows of a task are there
    in every batch, and a slot without any isn't run. With many slots, sources are shared, and an
    exchange brings rows to the slot of their task.
    """

    def __init__(
        self, session: SparkSession, plan: Plan, positions: Mapping[TopicPartition, int]
    ) -> None:
        self._session = session
        self._plan = plan
        self._positions = positions
        self._calls: dict[int, WakeUpCalls] = {}

    @property
    def are_exchanged(self) -> bool:
        """Whether all slots are in `exchanged`; else each is in `of_slot`."""
        return self._plan.slots * len(self._plan.shares) > _MOST_SOURCES

    def of_slot(self, slot: int) -> DataFrame:
        return self._union(self._plan.inputs_of(slot), self._clock([slot])).coalesce(1)

    def exchanged(self) -> DataFrame:
        """The partition of a row is the slot of its task."""
        plan = self._plan
        keys = slot_keys(plan.slots)
        of_inputs = [keys[plan.slot_of[plan.task_of[part].id]] for part in plan.inputs]
        of_tasks = [keys[plan.slot_of[task.id]] for task in plan.tasks]
        slot = (
            f"IF(input < 0, array({_listed(of_tasks)})[-1 - input], "
            f"array({_listed(of_inputs)})[input])"
        )
        rows = self._union(plan.inputs, self._clock(range(plan.slots)))
        return rows.withColumn("slot", expr(slot)).repartition(plan.slots, "slot").drop("slot")

    def wake(self, tasks: Sequence[int]) -> None:
        """Have tasks, by their index in the plan, look at the wall clock."""
        plan = self._plan
        calls: dict[WakeUpCalls, list[int]] = {}
        for index in tasks:
            calls.setdefault(self._calls[plan.slot_of[plan.tasks[index].id]], []).append(index)
        for each, indices in calls.items():
            each.add(indices)

    def _clock(self, slots: Sequence[int]) -> list[DataFrame]:
        if not self._plan.may_punctuate:
            return []
        calls = WakeUpCalls(self._session)
        self._calls.update(dict.fromkeys(slots, calls))
        return [calls.rows().selectExpr(*_CALL)]

    def _union(self, partitions: Sequence[TopicPartition], clock: list[DataFrame]) -> DataFrame:
        wanted = set(partitions)
        sources = [
            self._source(parts, max(1, limit * len(parts) // len(group)))
            for group, limit in self._plan.shares
            if (parts := [part for part in group if part in wanted])
        ]
        return reduce(DataFrame.unionByName, [*sources, *clock])

    def _source(self, partitions: Sequence[TopicPartition], limit: int) -> DataFrame:
        source = self._session.readStream.format("kafka")
        options = {
            **ClientSettings(self._plan.config).spark(len(self._plan.inputs)),
            "includeHeaders": "true",
            "assign": orjson.dumps(_by_topic(partitions)).decode(),
            "startingOffsets": orjson.dumps(self._offsets(partitions)).decode(),
            "maxOffsetsPerTrigger": str(limit),
        }
        for key, value in options.items():
            source = source.option(key, value)
        return (
            source.load()
            .withColumn("input", expr(f"{self._first_input()} + partition"))
            .withColumn("is_large", expr(_IS_LARGE))
            .selectExpr(*_COLUMNS)
        )

    def _offsets(self, partitions: Sequence[TopicPartition]) -> dict[str, dict[str, int]]:
        offsets: dict[str, dict[str, int]] = {}
        for part in partitions:
            offsets.setdefault(part.topic, {})[str(part.partition)] = self._positions[part]
        return offsets

    def _first_input(self) -> str:
        """SQL for the index of the first partition of a row's topic."""
        first: dict[str, int] = {}
        for index, part in enumerate(self._plan.inputs):
            first.setdefault(part.topic, index - part.partition)
        cases = " ".join(f"WHEN '{topic}' THEN {index}" for topic, index in first.items())
        return f"CASE topic {cases} END"


def _by_topic(partitions: Sequence[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
