"""Testing topologies, with no Kafka and no Spark."""

from headrace.runtime.stores import (
    KeyValueStore,
    SessionStore,
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    VersionedKeyValueStore,
    WindowStore,
)
from headrace.testing.driver import TopologyTestDriver
from headrace.testing.topics import TestInputTopic, TestOutputTopic

__all__ = [
    "KeyValueStore",
    "SessionStore",
    "TestInputTopic",
    "TestOutputTopic",
    "TimestampedKeyValueStore",
    "TimestampedWindowStore",
    "TopologyTestDriver",
    "VersionedKeyValueStore",
    "WindowStore",
]
