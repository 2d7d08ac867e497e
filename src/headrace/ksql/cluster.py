"""Kafka, as far as the server needs it: topics, and records in and out of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from headrace.core.record import ConsumerRecord, ProducerRecord, TopicPartition
from headrace.sql.topics import Topics


class Reader(Protocol):
    """Reads partitions from given offsets on."""

    def poll(self, timeout_s: float) -> list[ConsumerRecord]:
        """The next records, in the order of their offsets; none if none come in time."""
        ...

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The offset from which each partition is read next."""
        ...

    def close(self) -> None: ...


class Cluster(Protocol):
    """A Kafka cluster."""

    @property
    def id(self) -> str:
        """Its name for itself."""
        ...

    @property
    def topics(self) -> Topics:
        """The topics that there are; to create and delete some."""
        ...

    def produce(self, record: ProducerRecord) -> None:
        """Write a record. Returns when it is safe; raises HeadraceError if it can't be written."""
        ...

    def begins(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        """The offset of the first record of each partition."""
        ...

    def ends(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        """The offset after the last record of each partition."""
        ...

    def read(self, offsets: Mapping[TopicPartition, int]) -> Reader:
        """Begin to read."""
        ...

    def close(self) -> None: ...
