"""What a run left behind in Kafka."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Partition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from headrace.core.record import ConsumerRecord, TopicPartition

from .pipeline import Pipeline

Logs = Mapping[TopicPartition, Sequence[ConsumerRecord]]

_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Evidence:
    """Everything is as a consumer sees it that reads committed records only."""

    logs: Logs
    """The records of outputs and changelogs."""
    positions: Mapping[TopicPartition, int]
    """The group's committed positions in input and repartition topics."""
    unread: Mapping[TopicPartition, ConsumerRecord] = field(default_factory=dict)
    """The first record that the group has not read, where there is one."""
    undecided: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Where a transaction is open still: the offset of its first record."""


def gather(bootstrap_servers: str, pipeline: Pipeline) -> Evidence:
    written = [*pipeline.outputs, *pipeline.changelogs.values()]
    read = [*pipeline.inputs, *pipeline.repartitions]
    logs = read_committed(bootstrap_servers, partitions_of(pipeline, written))
    positions = committed(bootstrap_servers, pipeline, read)
    return Evidence(
        logs,
        positions,
        unread(bootstrap_servers, partitions_of(pipeline, read), positions),
        undecided(bootstrap_servers, partitions_of(pipeline, [*written, *read])),
    )


def partitions_of(pipeline: Pipeline, topics: Iterable[str]) -> list[TopicPartition]:
    return [TopicPartition(topic, n) for topic in topics for n in range(pipeline.partitions)]


def read_committed(
    bootstrap_servers: str,
    partitions: Sequence[TopicPartition],
    positions: Mapping[TopicPartition, int] | None = None,
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """All committed records of the partitions, from their beginnings or from `positions` on."""
    logs: defaultdict[TopicPartition, list[ConsumerRecord]] = defaultdict(list)
    settings = {"enable.partition.eof": True, "auto.offset.reset": "earliest"}
    with _consumer(bootstrap_servers, "chaos-reader", **settings) as consumer:
        starts = positions or {}
        consumer.assign([Partition(*one, starts.get(one, 0)) for one in partitions])
        at_end: set[TopicPartition] = set()
        deadline = time.monotonic() + _TIMEOUT_S
        while len(at_end) < len(partitions):
            # It waits for so many messages, or so long: a longer time would be spent at the end.
            messages = consumer.consume(10_000, 0.1)
            if messages:
                deadline = time.monotonic() + _TIMEOUT_S
            elif time.monotonic() > deadline:
                missing = sorted(set(partitions) - at_end)
                raise TimeoutError(f"No end of {missing[0]} was seen within {_TIMEOUT_S:.0f} s")
            for message in messages:
                record, error = _record(message), message.error()
                partition = TopicPartition(record.topic, record.partition)
                if error is None:
                    logs[partition].append(record)
                elif error.code() == KafkaError._PARTITION_EOF:
                    at_end.add(partition)
                else:
                    raise KafkaException(error)
    return {partition: logs[partition] for partition in partitions}


def committed(
    bootstrap_servers: str,
    pipeline: Pipeline,
    topics: Iterable[str],
    timeout_s: float = _TIMEOUT_S,
) -> dict[TopicPartition, int]:
    """The committed positions of the application; those that it has none of are left out."""
    asked = [Partition(*one) for one in partitions_of(pipeline, topics)]
    deadline = time.monotonic() + timeout_s
    with _consumer(bootstrap_servers, pipeline.application_id) as consumer:
        while True:
            try:
                found = consumer.committed(asked, timeout=timeout_s)
                break
            except KafkaException:
                # The coordinator of the group may be only just starting.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
    return {TopicPartition(p.topic, p.partition): p.offset for p in found if p.offset >= 0}


def unread(
    bootstrap_servers: str,
    partitions: Sequence[TopicPartition],
    positions: Mapping[TopicPartition, int],
) -> dict[TopicPartition, ConsumerRecord]:
    # Not a comparison with the end of the log: the marks of transactions stand there too.
    tails = read_committed(bootstrap_servers, partitions, positions)
    return {partition: records[0] for partition, records in tails.items() if records}


def undecided(bootstrap_servers: str, partitions: Sequence[TopicPartition]) -> dict[Any, int]:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    latest: Any = OffsetSpec
    asked = {Partition(*one): latest.latest() for one in partitions}
    stable, all_ = (
        {
            TopicPartition(one.topic, one.partition): found.result(_TIMEOUT_S).offset
            for one, found in admin.list_offsets(dict(asked), isolation_level=level).items()
        }
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
    )
    return {one: offset for one, offset in stable.items() if offset < all_[one]}


def _record(message: Any) -> ConsumerRecord:
    return ConsumerRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )


@contextmanager
def _consumer(bootstrap_servers: str, group: str, **settings: Any) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "check.crcs": True,
            **settings,
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()
