"""For tests with a real Kafka: settings, and what is in a topic as another client sees it."""

from __future__ import annotations

from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from headrace.embedded import EmbeddedKafka
from headrace.kafka.settings import ClientSettings


class Found(NamedTuple):
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: list[tuple[str, Any]] | None


def settings(kafka: EmbeddedKafka, application: str, **more: Any) -> ClientSettings:
    """With exactly-once, if nothing else is said."""
    given = {key.replace("_", "."): value for key, value in more.items()}
    return ClientSettings(
        {
            "application.id": application,
            "processing.guarantee": "exactly_once_v2",
            "task.timeout.ms": 30_000,
            **kafka.client_settings(),
            **given,
        }
    )


def records(
    kafka: EmbeddedKafka, topic: str, partitions: int = 1, isolation: str = "read_committed"
) -> list[Found]:
    """All records of a topic, by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "tests",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for n in range(partitions)])
    found: list[Found] = []
    ended: set[int] = set()
    while len(ended) < partitions:
        message: Any = consumer.poll(30)
        assert message is not None, f"no end of {topic} within 30 s"
        error = message.error()
        if error is None:
            found.append(
                Found(
                    message.partition(),
                    message.offset(),
                    message.key(),
                    message.value(),
                    message.timestamp()[1],
                    message.headers(),
                )
            )
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
        else:
            raise KafkaException(error)
    consumer.close()
    return sorted(found, key=lambda record: record[:2])


def values(kafka: EmbeddedKafka, topic: str, partitions: int = 1) -> list[bytes | None]:
    return [record.value for record in records(kafka, topic, partitions)]
