"""Positions as Kafka Streams reads them, for when it takes over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from headrace.core.record import TopicPartition
from headrace.kafka.metadata import encode
from headrace.kafka.port import Position
from headrace.kafka.settings import ClientSettings

_SETTINGS = {
    "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
    "value.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
    "max.block.ms": "10000",
}


def write_positions(
    session: SparkSession,
    settings: ClientSettings,
    application_id: str,
    positions: Callable[[], Mapping[TopicPartition, Position]],
) -> None:
    """Commit the positions once more, by Java's own client.

    confluent-kafka ends the metadata of a position with a zero byte; Kafka Streams then reads
    nothing of it. `positions` is called when no earlier run can commit any more; if a later one
    takes over after that, this commit fails. Raises whatever goes wrong in Java.
    """
    java: Any = session._jvm
    assert java is not None
    kafka = java.org.apache.kafka
    config = java.java.util.HashMap()
    for key, value in (settings.java() | _SETTINGS).items():
        config.put(key, value)
    config.put("transactional.id", f"{application_id}-0")
    producer = kafka.clients.producer.KafkaProducer(config)
    try:
        producer.initTransactions()
        offsets = java.java.util.HashMap()
        for (topic, partition), position in positions().items():
            offset, time, metadata = position
            offsets.put(
                kafka.common.TopicPartition(topic, partition),
                kafka.clients.consumer.OffsetAndMetadata(offset, encode(time, metadata)),
            )
        producer.beginTransaction()
        group = kafka.clients.consumer.ConsumerGroupMetadata(application_id)
        producer.sendOffsetsToTransaction(offsets, group)
        producer.commitTransaction()
    finally:
        producer.close(java.java.time.Duration.ofSeconds(1))
