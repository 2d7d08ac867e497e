"""What is measured, and which metrics are made of it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from headrace.metrics.level import RecordingLevel


class Scope(NamedTuple):
    """What a group of metrics is of.

    `tags` begin with what the report of a task says (client, thread, task); the others come with
    each measurement.
    """

    word: str
    """As in the names for Prometheus."""
    group: str
    tags: tuple[str, ...]


CLIENT = Scope("client", "stream-metrics", ("client-id",))
CONSUMER = Scope("consumer", "consumer-fetch-manager-metrics", ("client-id", "topic", "partition"))
THREAD = Scope("thread", "stream-thread-metrics", ("thread-id",))
STATE_UPDATER = Scope("state_updater", "stream-state-updater-metrics", ("thread-id",))
TASK = Scope("task", "stream-task-metrics", ("thread-id", "task-id"))
NODE = Scope(
    "processor_node", "stream-processor-node-metrics", ("thread-id", "task-id", "processor-node-id")
)
TOPIC = Scope(
    "topic", "stream-topic-metrics", ("thread-id", "task-id", "processor-node-id", "topic")
)
STORE = Scope("state", "stream-state-metrics", ("thread-id", "task-id", "store-scope", "store"))
"""A store's last two tags become one, as in Kafka Streams: `rocksdb-window-state-id`, say, with the
name of the store."""
CACHE = Scope(
    "record_cache", "stream-record-cache-metrics", ("thread-id", "task-id", "record-cache-id")
)

SCOPES = (CLIENT, CONSUMER, THREAD, STATE_UPDATER, TASK, NODE, TOPIC, STORE, CACHE)


class Stat(Enum):
    """What is made of measurements: over the last samples, or since the start."""

    RATE = "how many a second"
    TOTAL = "how many since the start"
    SUM = "their sum since the start"
    AVG = "average"
    MIN = "smallest"
    MAX = "largest"
    RATIO = "the share of time that they took, if they are nanoseconds"
    VALUE = "the last one"


class Metric(NamedTuple):
    """One number that is made of a sensor's measurements."""

    name: str
    stat: Stat
    description: str


class Sensor(NamedTuple):
    """Something that is measured. `key` names it in reports."""

    key: str
    scope: Scope
    level: RecordingLevel
    metrics: tuple[Metric, ...]
    divisor: int = 1
    """Measurements are divided by this for AVG, MIN and MAX: 1,000,000 makes milliseconds of
    nanoseconds."""
