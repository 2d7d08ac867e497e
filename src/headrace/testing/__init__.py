"""Testing topologies, with no Kafka and no Spark."""

from headrace.testing.driver import TopologyTestDriver
from headrace.testing.topics import TestInputTopic, TestOutputTopic

__all__ = ["TestInputTopic", "TestOutputTopic", "TopologyTestDriver"]
