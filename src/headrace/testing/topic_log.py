"""Topics as lists: what the test driver has in place of Kafka."""

from __future__ import annotations

from collections import defaultdict

from headrace.core.record import ConsumerRecord, Headers, ProducerRecord, TopicPartition


class TopicLog:
    """All records ever written, by partition."""

    def __init__(self) -> None:
        self._partitions: defaultdict[TopicPartition, list[ConsumerRecord]] = defaultdict(list)

    def append(self, record: ProducerRecord, partition: TopicPartition) -> ConsumerRecord:
        """Write a record to `partition`, whose name may be a pattern that the topic matches."""
        records = self._partitions[partition]
        written = ConsumerRecord(
            record.topic,
            partition.partition,
            len(records),
            -1 if record.timestamp is None else record.timestamp,
            record.key,
            record.value,
            Headers(record.headers),
        )
        records.append(written)
        return written

    def read(self, partition: TopicPartition, position: int = 0) -> list[ConsumerRecord]:
        """The records of a partition from an offset on."""
        return self._partitions[partition][position:]
