"""Reads partitions from an offset on: changelogs to their end, other topics piece by piece."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from headrace.core.errors import BrokerError
from headrace.core.record import NO_HEADERS, ConsumerRecord, TopicPartition
from headrace.kafka.errors import RETRIABLE, Complaints, error_of, made, translated
from headrace.kafka.port import Logged, OffsetGone
from headrace.kafka.positions import LogBounds
from headrace.kafka.settings import ClientSettings

_BATCH = 20_000
_POLL_S = 0.5
_FETCH_BYTES = 4 * 1024 * 1024
_FIRST = 4
"""So many records are looked at before it is guessed how many there may be in a fetch."""


class _Reader:
    """One consumer that is assigned one partition at a time."""

    def __init__(self, settings: ClientSettings, role: str, timeout_s: float | None) -> None:
        self._timeout_s = settings.timeout_s(timeout_s)
        self._complaints = Complaints()
        self._consumer = made(Consumer, settings.consumer(role), self._complaints)
        self._known: set[str] = set()

    def close(self) -> None:
        self._consumer.close()

    def _assign(self, partition: TopicPartition, offset: int) -> None:
        if partition.topic not in self._known:
            # Otherwise it asks for the leader of a new topic only after a second.
            self._known.update(self._consumer.list_topics(timeout=self._timeout_s).topics)
        self._consumer.assign([ClientPartition(partition.topic, partition.partition, offset)])

    def _consume(self, count: int, timeout: float) -> tuple[list[Any], Any]:
        """Messages, and the report that the end was reached, if it came."""
        try:
            # `consume` alone would wait for the whole count, even at the end of the partition.
            first = self._consumer.poll(timeout)
            if first is None:
                return [], None
            messages: list[Any] = [first]
            if count > 1:
                messages += self._consumer.consume(count - 1, 0)
        except KafkaException as exception:
            raise translated(error_of(exception), "Could not read") from exception
        reports = [message for message in messages if message.error() is not None]
        if len(reports) < len(messages):
            self._complaints.clear()
        if not reports:
            return messages, None
        end = None
        for report in reports:
            if report.error().code() == KafkaError._PARTITION_EOF:
                end = report
            else:
                self._check(report)
        return [message for message in messages if message.error() is None], end

    def _check(self, report: Any) -> None:
        error = report.error()
        where = f"{report.topic()}-{report.partition()}@{report.offset()}"
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise OffsetGone(f"The log doesn't have {where}: {error.str()}.")
        if error.code() not in RETRIABLE or self._complaints.hopeless:
            raise translated(error, f"Could not read {where}", complaints=self._complaints)
        self._complaints(error)

    def _timed_out(self, partition: TopicPartition, offset: int) -> BrokerError:
        reason = self._complaints.last
        return BrokerError(
            f"Could not read {partition} from offset {offset} on: nothing came for "
            f"{self._timeout_s:.0f} s. {reason.str() + '.' if reason else ''}".rstrip(),
            retriable=True,
        )


class ChangelogReader(_Reader):
    """Reads changelogs, to restore stores: the records of committed transactions only."""

    def __init__(self, settings: ClientSettings, *, timeout_s: float | None = None) -> None:
        super().__init__(settings, "restore", timeout_s)
        self._bounds = LogBounds(settings, timeout_s=timeout_s)

    def close(self) -> None:
        self._bounds.close()
        super().close()

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """How far changelogs must be read so that every commit until now is in."""
        return self._bounds.ends(partitions)

    def read(
        self, partition: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[list[Logged], int]]:
        """The records from offset `start` to before `end`, in large lists, each with the offset
        after it. A `start` of 0 is the beginning of the log, wherever that is now.

        `end` is that of `ends`; what a transaction has under way before it is waited for. Offsets
        without a record (of transaction markers, aborted or compacted records) are passed over.
        Raises OffsetGone if another `start` is not in the log any more, or never was.
        """
        for messages, offset in self._messages(partition, start, end):
            yield (
                [
                    (
                        message.key(),
                        message.value(),
                        message.timestamp()[1],
                        message.headers() or NO_HEADERS,
                    )
                    for message in messages
                ],
                offset,
            )

    def records(
        self, partition: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[list[ConsumerRecord], int]]:
        """As `read`, with the offset of each record: for who processes them."""
        for messages, offset in self._messages(partition, start, end):
            yield [_record(partition, message) for message in messages], offset

    def _messages(
        self, partition: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[list[Any], int]]:
        if start == 0:
            # librdkafka remembers for a while where the beginning was.
            start = self._bounds.begin(partition)
        if start >= end:
            return
        self._assign(partition, start)
        try:
            yield from self._consume_until(partition, start, end)
        finally:
            self._consumer.unassign()

    def _consume_until(
        self, partition: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[list[Any], int]]:
        position = start
        deadline = time.monotonic() + self._timeout_s
        while position < end:
            messages, report = self._consume(_BATCH, _POLL_S)
            if messages:
                position = messages[-1].offset() + 1
                if position > end:
                    messages = [message for message in messages if message.offset() < end]
            if report is not None:
                position = max(position, report.offset())
            if messages:
                deadline = time.monotonic() + self._timeout_s
                yield messages, min(position, end)
            elif time.monotonic() > deadline:
                raise self._timed_out(partition, position)


class PartitionReader(_Reader):
    """Reads a partition piece by piece; best from where it left off."""

    def __init__(
        self, settings: ClientSettings, role: str = "main", *, timeout_s: float | None = None
    ) -> None:
        super().__init__(settings, role, timeout_s)
        self._at: tuple[TopicPartition, int] | None = None

    def fetch(
        self,
        partition: TopicPartition,
        offset: int,
        max_records: int,
        timeout_s: float,
        max_bytes: int = _FETCH_BYTES,
    ) -> list[ConsumerRecord]:
        """At most `max_records` from `offset` on, and about `max_bytes`; fewer or none if no more
        come in time."""
        if self._at != (partition, offset):
            self._assign(partition, offset)
        self._at = None
        messages: list[Any] = []
        deadline = time.monotonic() + timeout_s
        size = 0
        while len(messages) < max_records and size < max_bytes:
            count = (max_bytes - size) * len(messages) // size if size else _FIRST
            more, report = self._consume(
                min(max_records - len(messages), max(1, count)),
                max(0.0, deadline - time.monotonic()),
            )
            messages += more
            size += sum(map(len, more))
            if report is not None or time.monotonic() >= deadline:
                break
        # The end is told only once: to hear of it again, the partition must be assigned anew.
        if report is None:
            self._at = (partition, messages[-1].offset() + 1 if messages else offset)
        return [_record(partition, message) for message in messages]


def _record(partition: TopicPartition, message: Any) -> ConsumerRecord:
    return ConsumerRecord(
        *partition,
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        message.headers() or NO_HEADERS,
    )
