"""The undisturbed run: every record once, in order, by the test driver and without a cache."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache

from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.serde.murmur2 import partition_for
from headrace.testing import TopologyTestDriver

from .evidence import Logs
from .load import Load

_NEUTRAL = "fold"


def fold(load: Load) -> Logs:
    """All that is written, to internal topics too."""
    # The names of a run are its own, but everything else is the same for the same seed.
    neutral = replace(load, pipeline=replace(load.pipeline, application_id=_NEUTRAL))
    logs = {}
    for (topic, partition), records in _fold(neutral).items():
        topic = load.pipeline.application_id + topic.removeprefix(_NEUTRAL)
        logs[TopicPartition(topic, partition)] = [one._replace(topic=topic) for one in records]
    return logs


@lru_cache(maxsize=4)
def _fold(load: Load) -> Logs:
    pipeline = load.pipeline
    config = {"application.id": pipeline.application_id, "statestore.cache.max.bytes": 0}
    logs: defaultdict[TopicPartition, list[ConsumerRecord]] = defaultdict(list)
    with (
        _quiet(),
        TopologyTestDriver(
            pipeline.topology(), config, partitions=pipeline.partitions, wall_clock_start_ms=0
        ) as driver,
    ):
        for given in load.records:
            driver.pipe(
                given.topic, given.key, given.value, given.timestamp, partition=given.partition
            )
    for record in driver.take_output():
        assert record.timestamp is not None
        partition = record.partition
        if partition is None:
            partition = partition_for(record.key, pipeline.partitions)
        log = logs[TopicPartition(record.topic, partition)]
        log.append(
            ConsumerRecord(
                record.topic, partition, len(log), record.timestamp, record.key, record.value
            )
        )
    return dict(logs)


@contextmanager
def _quiet() -> Iterator[None]:
    """Late records are meant: no word about them."""
    logger = logging.getLogger("headrace")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
