"""Reads a whole topic, for people who want to see what is in it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from headrace.core.record import NO_HEADERS, ConsumerRecord, TopicPartition
from headrace.kafka.errors import RETRIABLE, Complaints, client_options, translated
from headrace.kafka.settings import ClientSettings

_BATCH = 500
_FETCH_WAIT_MS = 100
"""Records come at once all the same; only that there are none is heard of later."""


class TopicTail:
    """Reads partitions from given offsets on. It commits nothing, and joins no group."""

    def __init__(
        self,
        settings: ClientSettings,
        offsets: Mapping[TopicPartition, int],
        isolation_level: str = "read_committed",
    ) -> None:
        self._timeout_s = settings.task_timeout_ms / 1000
        self._complaints = Complaints()
        self._consumer = Consumer(
            settings.consumer("main", _FETCH_WAIT_MS, **{"isolation.level": isolation_level}),
            **client_options(self._complaints),
        )
        self._consumer.assign(
            [ClientPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        )
        self._complained_since: float | None = None
        self._ends: dict[TopicPartition, int] = {}
        self.ended: set[TopicPartition] = set()
        """The partitions of which the end was seen, once."""
        self.positions = dict(offsets)
        """The offset from which each partition is read next. Marks of transactions, which aren't
        records, are passed when the end behind them is seen."""

    def poll(self, timeout_s: float) -> list[ConsumerRecord]:
        """The next records; none if none come in time. BrokerError if Kafka can't be reached for
        `task.timeout.ms`."""
        first = self._consumer.poll(timeout_s)
        if first is None:
            self._check_patience()
            return []
        messages: list[Any] = [first, *self._consumer.consume(_BATCH - 1, 0)]
        for message in messages:
            if message.error() is not None:
                self._hear(message)
        records = [
            ConsumerRecord(
                message.topic(),
                message.partition(),
                message.offset(),
                message.timestamp()[1],
                message.key(),
                message.value(),
                message.headers() or NO_HEADERS,
            )
            for message in messages
            if message.error() is None
        ]
        for record in records:
            self.positions[TopicPartition(record.topic, record.partition)] = record.offset + 1
        for partition, end in self._ends.items():
            self.positions[partition] = max(end, self.positions[partition])
        self._ends.clear()
        if records:
            self._complaints.last = self._complained_since = None
        return records

    def close(self) -> None:
        self._consumer.close()

    def _hear(self, report: Any) -> None:
        error = report.error()
        if error.code() == KafkaError._PARTITION_EOF:
            partition = TopicPartition(report.topic(), report.partition())
            self.ended.add(partition)
            self._ends[partition] = report.offset()
            return
        self._complaints(error)
        if error.code() not in RETRIABLE or self._complaints.hopeless:
            raise translated(error, "Could not read", complaints=self._complaints)

    def _check_patience(self) -> None:
        complaint = self._complaints.last
        if complaint is None:
            return
        now = time.monotonic()
        if self._complained_since is None:
            self._complained_since = now
        if self._complaints.hopeless or now - self._complained_since > self._timeout_s:
            raise translated(complaint, "Could not read")
