"""The server's parts over a real Kafka."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from headrace.core.errors import FencedError, SerializationError
from headrace.core.record import ProducerRecord, TopicPartition
from headrace.kafka.admin import Admin
from headrace.kafka.lease import Lease
from headrace.kafka.port import TopicSpec
from headrace.kafka.positions import GroupReader
from headrace.kafka.record_writer import RecordWriter
from headrace.kafka.settings import ClientSettings
from headrace.kafka.shared_log import SharedLog, Turn
from headrace.kafka.topic_tail import TopicTail
from headrace.ksql.commands import Command, Overtaken
from headrace.ksql.configuration import service_id, streams_settings
from headrace.sql.topics import TopicInfo

_LOG = logging.getLogger("headrace.ksql")
_LEADER_S = 2.0


def client_settings(server: Mapping[str, Any]) -> ClientSettings:
    """What the server's own clients are made with."""
    name = {"application.id": f"_confluent-ksql-{service_id(server)}"}
    return ClientSettings({**streams_settings(server), **name})


def command_topic(service: str) -> str:
    return f"_confluent-ksql-{service}_command_topic"


def runner_group(service: str) -> str:
    """The group whose member with the command topic runs the queries."""
    return f"_confluent-ksql-{service}_runner"


class KafkaCluster:
    """A cluster of brokers."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._admin = Admin(settings)
        self._writer = RecordWriter(settings)
        self._bounds = GroupReader(settings)
        self._lock = threading.Lock()
        self.topics = KafkaTopics(self._admin)

    @cached_property
    def id(self) -> str:
        return self._admin.cluster_id()

    def produce(self, record: ProducerRecord) -> None:
        self._writer.write(record)

    def begins(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        partitions = self._partitions(topics)
        with self._lock:
            return self._bounds.first_offsets(partitions)

    def ends(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        partitions = self._partitions(topics)
        with self._lock:
            return self._bounds.end_offsets(partitions)

    def read(self, offsets: Mapping[TopicPartition, int]) -> TopicTail:
        return TopicTail(self._settings, offsets)

    def close(self) -> None:
        self._writer.close()
        self._bounds.close()
        self._admin.close()

    def _partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        return [
            TopicPartition(topic.name, number)
            for topic in self._admin.describe(topics).values()
            for number in range(topic.partitions)
        ]


class KafkaTopics:
    """The topics of brokers."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def find(self, name: str) -> TopicInfo | None:
        found = self._admin.describe([name]).get(name)
        if found is None:
            return None
        return TopicInfo(found.name, found.partitions, found.replication_factor)

    def create(self, topic: TopicInfo) -> None:
        self._admin.create([TopicSpec(topic.name, topic.partitions, topic.replicas, topic.config)])

    def delete(self, name: str) -> None:
        self._admin.delete([name])

    def __iter__(self) -> Iterator[TopicInfo]:
        for found in self._admin.describe(self._admin.list_topics()).values():
            yield TopicInfo(found.name, found.partitions, found.replication_factor)


class KafkaCommandLog:
    """The command topic."""

    def __init__(self, settings: ClientSettings, service: str) -> None:
        topic = command_topic(service)
        self._log = SharedLog(settings, topic, f"_confluent-ksql-{service}")

    @contextmanager
    def writing(self) -> Iterator[_Writer]:
        try:
            with self._log.turn() as turn:
                yield _Writer(turn)
        except FencedError as error:
            raise Overtaken from error

    def end(self) -> int:
        return self._log.end()

    def read(self, offset: int, timeout_s: float) -> tuple[list[tuple[int, Command]], int]:
        """In order, from the beginning: `offset` is where the last read has ended."""
        records, position = self._log.read(timeout_s)
        found = []
        for at, value in records:
            try:
                found.append((at, Command.from_bytes(value)))
            except SerializationError:
                # All servers see the same, and go on with the next.
                _LOG.exception("Command %d of the command topic is damaged", at)
        return found, max(offset, position)

    def close(self) -> None:
        self._log.close()


class _Writer:
    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    @property
    def end(self) -> int:
        return self._turn.end

    def append(self, command: Command) -> int:
        return self._turn.append(command.to_bytes())


class KafkaLeadership:
    """The server that runs the queries is the one that has a lease."""

    def __init__(self, settings: ClientSettings, service: str, url: str) -> None:
        topic = command_topic(service)
        self._lease = Lease(settings, runner_group(service), topic, url)
        self._known: tuple[float, str | None] = (0.0, None)

    def start(self, changed: Callable[[bool], None]) -> None:
        self._lease.start(changed)

    def leader(self) -> str | None:
        """It is asked for every few seconds only: that takes a while."""
        until, leader = self._known
        now = time.monotonic()
        if now >= until:
            leader = self._lease.holder()
            self._known = (now + (_LEADER_S if leader else 0.0), leader)
        return leader

    def close(self) -> None:
        self._lease.close()
