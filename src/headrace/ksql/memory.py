"""A cluster in this process, for tests and for trying things out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping

from headrace.core.record import ConsumerRecord, Headers, ProducerRecord, TopicPartition
from headrace.serde.murmur2 import partition_for
from headrace.sql.errors import SqlError
from headrace.sql.topics import InMemoryTopics, TopicInfo


class InMemoryCluster:
    """Topics as lists. Records without a key go to the partitions in turn."""

    id = "in-memory"

    def __init__(self, topics: InMemoryTopics | None = None) -> None:
        self.topics = _WatchedTopics(self, topics or InMemoryTopics())
        self.changed = threading.Condition()
        self._records: dict[TopicPartition, list[ConsumerRecord]] = {}
        self._turns = 0

    def produce(self, record: ProducerRecord) -> None:
        topic = self.topics.find(record.topic)
        if topic is None:
            raise SqlError(f"There is no topic {record.topic!r} to write to.")
        with self.changed:
            partition = record.partition
            if partition is None and record.key is not None:
                partition = partition_for(record.key, topic.partitions)
            elif partition is None:
                partition = self._turns % topic.partitions
                self._turns += 1
            records = self._records.setdefault(TopicPartition(record.topic, partition), [])
            timestamp = record.timestamp
            written = ConsumerRecord(
                record.topic,
                partition,
                len(records),
                int(time.time() * 1000) if timestamp is None else timestamp,
                record.key,
                record.value,
                Headers(record.headers),
            )
            records.append(written)
            self.changed.notify_all()

    def begins(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        return dict.fromkeys(self.ends(topics), 0)

    def ends(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        ends = {}
        with self.changed:
            for name in topics:
                topic = self.topics.find(name)
                for number in range(0 if topic is None else topic.partitions):
                    partition = TopicPartition(name, number)
                    ends[partition] = len(self._records.get(partition, ()))
        return ends

    def read(self, offsets: Mapping[TopicPartition, int]) -> _Reader:
        return _Reader(self, dict(offsets))

    def records(self, partition: TopicPartition, offset: int = 0) -> list[ConsumerRecord]:
        """What a partition has from an offset on."""
        return self._records.get(partition, [])[offset:]

    def close(self) -> None:
        """It stays, for the next server."""

    def forget(self, topic: str) -> None:
        """Drop the records of a topic that is deleted."""
        with self.changed:
            for partition in [each for each in self._records if each.topic == topic]:
                del self._records[partition]


class _Reader:
    def __init__(self, cluster: InMemoryCluster, positions: dict[TopicPartition, int]) -> None:
        self._cluster = cluster
        self.positions = positions
        self._closed = False

    def poll(self, timeout_s: float) -> list[ConsumerRecord]:
        found: list[ConsumerRecord] = []
        with self._cluster.changed:
            self._cluster.changed.wait_for(lambda: self._take(found) or self._closed, timeout_s)
        return found

    def _take(self, found: list[ConsumerRecord]) -> bool:
        for partition, position in self.positions.items():
            records = self._cluster.records(partition, position)
            found += records
            self.positions[partition] = position + len(records)
        return bool(found)

    def close(self) -> None:
        with self._cluster.changed:
            self._closed = True
            self._cluster.changed.notify_all()


class _WatchedTopics:
    """Topics whose records go with them."""

    def __init__(self, cluster: InMemoryCluster, topics: InMemoryTopics) -> None:
        self._cluster = cluster
        self._topics = topics

    def find(self, name: str) -> TopicInfo | None:
        return self._topics.find(name)

    def create(self, topic: TopicInfo) -> None:
        self._topics.create(topic)

    def delete(self, name: str) -> None:
        self._topics.delete(name)
        self._cluster.forget(name)

    def __iter__(self) -> Iterator[TopicInfo]:
        return iter(self._topics)
