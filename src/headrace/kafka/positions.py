"""Where the application is in its input, and how far that goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
)
from confluent_kafka import TopicPartition as ClientPartition

from headrace.core.record import TopicPartition
from headrace.kafka.errors import Complaints, error_of, made, tried
from headrace.kafka.metadata import decode, encode
from headrace.kafka.port import Position
from headrace.kafka.settings import ClientSettings

_PERHAPS_ELSEWHERE = frozenset(
    {
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._UNKNOWN_PARTITION,
    }
)


class _Asking:
    """A consumer that only asks. Passing errors are tried again for `task.timeout.ms`."""

    def __init__(
        self,
        settings: ClientSettings,
        isolation_level: str,
        timeout_s: float | None,
        **overrides: str,
    ) -> None:
        self._timeout_s = settings.timeout_s(timeout_s)
        self._is_interrupted = settings.is_interrupted
        self._complaints = Complaints()
        config = settings.consumer(**{"isolation.level": isolation_level}, **overrides)
        self._consumer = made(Consumer, config, self._complaints)

    def close(self) -> None:
        self._consumer.close()

    def _offsets(
        self, partitions: Iterable[TopicPartition], spec: int
    ) -> dict[TopicPartition, int]:
        asked = [ClientPartition(topic, number, spec) for topic, number in partitions]
        if not asked:
            return {}
        found = self._tried(
            lambda timeout: self._consumer.offsets_for_times(asked, timeout=timeout),
            "Could not read the offsets of " + ", ".join(sorted({part.topic for part in asked})),
        )
        return {TopicPartition(part.topic, part.partition): part.offset for part in found}

    def _tried(
        self, call: Callable[[float], list[ClientPartition]], what: str
    ) -> list[ClientPartition]:
        return tried(
            lambda timeout: self._asked(call, timeout),
            what,
            deadline=time.monotonic() + self._timeout_s,
            complaints=self._complaints,
            serve=lambda: self._consumer.poll(0),
            is_interrupted=self._is_interrupted,
        )

    def _asked(
        self, call: Callable[[float], list[ClientPartition]], timeout: float
    ) -> list[ClientPartition]:
        try:
            return _checked(call(timeout))
        except KafkaException as exception:
            if error_of(exception).code() not in _PERHAPS_ELSEWHERE:
                raise
            # When brokers went or came, the client may just not know it yet: by itself it would
            # wait for a leader that is gone as long as metadata may be old, a quarter of an hour.
            self._consumer.list_topics(timeout=timeout)
            return _checked(call(timeout))


class GroupReader(_Asking):
    """Reads the committed positions of the application's group, and the bounds of partitions.

    It never joins the group.
    """

    def __init__(self, settings: ClientSettings, *, timeout_s: float | None = None) -> None:
        # With read_committed, positions that a transaction is about to change are waited for.
        super().__init__(settings, "read_committed", timeout_s)

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position]:
        """The committed positions; partitions that have none are left out."""
        asked = [ClientPartition(topic, number) for topic, number in partitions]
        if not asked:
            return {}
        found = self._tried(
            lambda timeout: self._consumer.committed(asked, timeout=timeout),
            "Could not read the committed positions",
        )
        return {
            TopicPartition(part.topic, part.partition): Position(
                part.offset, *decode(_metadata(part))
            )
            for part in found
            if part.offset != OFFSET_INVALID
        }

    def commit(self, positions: Mapping[TopicPartition, Position]) -> None:
        """Commit positions outside of any transaction."""
        if not positions:
            return
        offsets = client_positions(positions)
        self._tried(
            lambda timeout: self._consumer.commit(offsets=offsets, asynchronous=False) or [],
            "Could not commit the positions",
        )

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last record that may be read (of transactions: committed ones)."""
        return self._offsets(partitions, OFFSET_END)

    def first_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset of the oldest record that is still there."""
        return self._offsets(partitions, OFFSET_BEGINNING)

    def offsets_at(
        self, partitions: Iterable[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, int]:
        """The offset of the first record that is not older; without one, the end."""
        found = self._offsets(partitions, max(0, timestamp_ms))
        beyond = [partition for partition, offset in found.items() if offset == OFFSET_END]
        return found | self.end_offsets(beyond)

    def wait_until_reachable(self, timeout_s: float) -> bool:
        """Whether the cluster and the group's coordinator answer in that time."""
        deadline = time.monotonic() + timeout_s
        while True:
            remaining = deadline - time.monotonic()
            try:
                self._consumer.list_topics(timeout=max(0.1, min(5.0, remaining)))
                self._consumer.committed(
                    [ClientPartition("none", 0)], timeout=max(0.1, min(5.0, remaining))
                )
                return True
            except KafkaException:
                if time.monotonic() >= deadline or self._is_interrupted():
                    return False
                time.sleep(0.1)

    def group_metadata(self) -> Any:
        """What a transaction needs to know of the group."""
        return self._consumer.consumer_group_metadata()


class LogBounds(_Asking):
    """Asks for the bounds of logs, with what belongs to open transactions.

    A transaction is committed a moment before its markers are in the logs. Until they are, its
    records are beyond what counts as committed; so a changelog must be read to the end of its log.
    """

    def __init__(self, settings: ClientSettings, *, timeout_s: float | None = None) -> None:
        super().__init__(settings, "read_uncommitted", timeout_s)

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(partitions, OFFSET_END)

    def begin(self, partition: TopicPartition) -> int:
        return self._offsets([partition], OFFSET_BEGINNING)[partition]


def client_positions(positions: Mapping[TopicPartition, Position]) -> list[ClientPartition]:
    """Positions as the client wants them, with their metadata encoded."""
    return [
        ClientPartition(topic, number, offset, encode(partition_time, metadata))
        for (topic, number), (offset, partition_time, metadata) in positions.items()
    ]


def _metadata(part: ClientPartition) -> str:
    try:
        return part.metadata or ""
    except UnicodeDecodeError as error:
        # confluent-kafka reads on behind the end of the text (see `decode`).
        return bytes(error.object[: error.start]).decode()


def _checked(found: list[ClientPartition]) -> list[ClientPartition]:
    for partition in found:
        if partition.error is not None:
            raise KafkaException(partition.error)
    return found
