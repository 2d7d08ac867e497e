"""What the tests that run applications have in common."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from pyspark.sql import SparkSession

from headrace import Topology
from headrace.app.lifecycle import State
from headrace.app.streams import KafkaStreams
from headrace.embedded import EmbeddedKafka

PATIENCE_S = 180.0


class Cluster:
    """A Kafka and a Spark, with what a test does with them."""

    def __init__(self, kafka: EmbeddedKafka, spark: SparkSession, directory: Path) -> None:
        self.kafka = kafka
        self.spark = spark
        self.state_dir = directory / "state"
        self.client: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap_servers}

    def application(self, topology: Topology, application_id: str, **settings: Any) -> KafkaStreams:
        return KafkaStreams(
            topology,
            spark=self.spark,
            **{
                "application_id": application_id,
                "bootstrap_servers": self.kafka.bootstrap_servers,
                "state_dir": str(self.state_dir),
                "processing_guarantee": "exactly_once_v2",
                "num_stream_threads": 2,
                **settings,
            },
        )

    def send(
        self, topic: str, records: Iterable[tuple[Any, ...]], partition: int | None = None
    ) -> None:
        """Records are (key, value), and if need be a timestamp, and headers."""
        producer = Producer({**self.client, "partitioner": "murmur2_random"})
        for record in records:
            key, value, timestamp, headers = [*record, 0, None][:3] + [*record, None, None][3:4]
            number = -1 if partition is None else partition
            producer.produce(topic, value, key, number, timestamp=timestamp, headers=headers)
        producer.flush()
        producer.close()

    def read(self, topic: str, count: int, patience_s: float = PATIENCE_S) -> list[Any]:
        """The first messages of a topic, as far as they come in time; never less than `count` if
        they come at all, and more if more are there."""
        consumer = Consumer(
            {
                **self.client,
                "group.id": f"test-{time.monotonic_ns()}",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        found: list[Any] = []
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                found.append(message)
            elif len(found) >= count:
                break
        consumer.close()
        return found


def wait_until(
    condition: Callable[[], Any], what: str, streams: KafkaStreams | None = None
) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if streams is not None and streams.state is State.ERROR and streams.error is not None:
            raise streams.error
        if time.monotonic() > deadline:
            status = "" if streams is None else f": {streams.status()}"
            raise AssertionError(f"waited in vain for {what}{status}")
        time.sleep(0.05)


def close(streams: KafkaStreams) -> None:
    assert streams.close(timedelta(seconds=30))
    assert streams.error is None
