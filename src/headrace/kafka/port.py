"""The port to Kafka: all that engine and application ask of it.

`Clients` has the real clients behind it; the simulation of the tests has a model of Kafka.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from headrace.core.errors import BrokerError, StreamsError
from headrace.core.record import ConsumerRecord, Header, TopicPartition
from headrace.kafka.metadata import UNKNOWN_TIME

_NO_METADATA: Mapping[str, int] = {}

Outgoing = tuple[str, int | None, bytes | None, bytes | None, int | None, Sequence[Header]]
"""topic, partition (None: by the key), key, value, timestamp (None: now), headers"""

Logged = tuple[bytes | None, bytes | None, int, Sequence[Header]]
"""key, value, timestamp, headers"""


class Position(NamedTuple):
    """The next offset to read, and what is committed with it."""

    offset: int
    partition_time: int = UNKNOWN_TIME
    metadata: Mapping[str, int] = _NO_METADATA


class TopicInfo(NamedTuple):
    """A topic that exists. The id tells it from an earlier one of the same name."""

    name: str
    partitions: int
    topic_id: str
    replication_factor: int


class TopicSpec(NamedTuple):
    """A topic to create. A replication factor of -1 is the brokers' default."""

    name: str
    partitions: int
    replication_factor: int = -1
    config: Mapping[str, str] = {}


class RecordRejected(StreamsError):
    """A record that Kafka will never take. Nothing is wrong with the ones before it.

    `index` is its place in what was to be sent; -1: it was found out only after sending.
    """

    def __init__(
        self, message: str, *, topic: str, key: bytes | None, size: int, index: int
    ) -> None:
        super().__init__(message)
        self.topic = topic
        self.key = key
        self.size = size
        self.index = index


class OffsetGone(StreamsError):
    """The log doesn't have the offset that should be read: it was deleted, or never written."""


class Topics(Protocol):
    """Topics and groups: what there is, and to create and delete them."""

    def list_topics(self) -> dict[str, int]: ...
    def describe(self, topics: Iterable[str]) -> dict[str, TopicInfo]: ...
    def check_rights(self, topics: Mapping[str, Collection[str]]) -> None: ...
    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str | None]]: ...
    def create(self, topics: Iterable[TopicSpec]) -> set[str]: ...
    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> None: ...
    def group_members(self, group: str) -> list[str]: ...
    def check_group_is_free(self, group: str) -> None: ...
    def close(self) -> None: ...


class Positions(Protocol):
    """The committed positions of a group, and the bounds of partitions."""

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position]: ...
    def commit(self, positions: Mapping[TopicPartition, Position]) -> None: ...
    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]: ...
    def first_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]: ...
    def offsets_at(
        self, partitions: Iterable[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, int]: ...
    def wait_until_reachable(self, timeout_s: float) -> bool: ...
    def group_metadata(self) -> Any: ...
    def close(self) -> None: ...


class Changelogs(Protocol):
    """Reads changelogs to their end: the records of committed transactions only."""

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]: ...
    def read(
        self, partition: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[list[Logged], int]]: ...
    def records(
        self, partition: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[list[ConsumerRecord], int]]: ...
    def close(self) -> None: ...


class Records(Protocol):
    """Reads a partition piece by piece."""

    def fetch(
        self,
        partition: TopicPartition,
        offset: int,
        max_records: int,
        timeout_s: float,
        max_bytes: int = ...,
    ) -> list[ConsumerRecord]: ...
    def close(self) -> None: ...


class SlotProducer(Protocol):
    """Sends the records of a slot, and commits them with its positions."""

    usable: bool
    """False: make a new one."""

    def open(self) -> None: ...
    def send(self, outbox: Sequence[Outgoing]) -> None: ...
    def commit(self, group_metadata: Any, positions: Mapping[TopicPartition, Position]) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class Lease(Protocol):
    """A place among the instances of an application, kept as long as its process lives. One of them
    holds the lease: it is the next to run the application."""

    def is_held(self) -> bool:
        """Raises StreamsError if it can't be had."""
        ...

    def close(self) -> None:
        """Leave, so that another can have it."""
        ...


class Kafka(Protocol):
    """What a process of an application has of Kafka."""

    @property
    def admin(self) -> Topics: ...
    @property
    def group(self) -> Positions:
        """Of the application's own group."""
        ...

    @property
    def changelogs(self) -> Changelogs: ...
    @property
    def reader(self) -> Records: ...

    def producer(self, slot: int) -> SlotProducer:
        """A fresh one, by the application's guarantee. Who asks for it closes it."""
        ...

    def producer_named(self, name: str) -> SlotProducer:
        """A fresh one with transactions, whatever the guarantee: its transactional id is
        `<application.id>-<name>`. Who asks for it closes it."""
        ...

    def lease(self, instance: str) -> Lease:
        """Join the group of the application's instances, as a member of this name. Who asks for it
        closes it."""
        ...

    def wait_for_kafka(self, error: StreamsError) -> BrokerError | None:
        """Wait for Kafka to answer after a passing error: None, or what to tell if it doesn't
        within task.timeout.ms."""
        ...

    def close(self) -> None:
        """Let go of all clients; those that are asked for again are made anew."""
        ...
