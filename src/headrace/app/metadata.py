"""What an application tells of its parts."""

from __future__ import annotations

from typing import NamedTuple

from headrace.app.lifecycle import State
from headrace.core.record import TopicPartition


class HostInfo(NamedTuple):
    """Where an instance answers HTTP requests: the setting `application.server`."""

    host: str
    port: int


NO_HOST = HostInfo("unavailable", -1)
"""Of an instance that answers none."""


class StreamsMetadata(NamedTuple):
    """An instance of an application: which stores it has, and which input partitions it reads."""

    host: HostInfo
    stores: frozenset[str]
    partitions: frozenset[TopicPartition]
    standby_stores: frozenset[str] = frozenset()
    standby_partitions: frozenset[TopicPartition] = frozenset()


class KeyQueryMetadata(NamedTuple):
    """Where a key is. The partition of a global store, which is everywhere, is -1."""

    active_host: HostInfo
    standby_hosts: frozenset[HostInfo]
    partition: int


class LagInfo(NamedTuple):
    """How far a store has come in its changelog, where that ends, and how much is between."""

    current: int
    end: int
    lag: int


class TaskMetadata(NamedTuple):
    """A task and the partitions that it reads."""

    task_id: str
    partitions: tuple[TopicPartition, ...]


class ThreadMetadata(NamedTuple):
    """A slot, which is what Kafka Streams calls a thread."""

    name: str
    state: State
    tasks: tuple[TaskMetadata, ...]
