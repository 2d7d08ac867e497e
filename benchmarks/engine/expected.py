"""What must come out: a benchmark of a wrong result is worth nothing."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import orjson
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from .load import purchases
from .topologies import WINDOW

_WINDOW_MS = int(WINDOW.total_seconds() * 1000)


class Output(NamedTuple):
    records: int
    last: Mapping[bytes, bytes]
    """The last value of each key."""


def check(mode: str, records: int, keys: int, output: Output) -> None:
    """Raises AssertionError if this isn't what the mode makes of the benchmark's records."""
    if mode in _COUNTS:
        expected: Counter[bytes] = Counter(_COUNTS[mode](records, keys))
        counts = {key: struct.unpack(">q", value)[0] for key, value in output.last.items()}
        wrong = sum(counts.get(key) != count for key, count in expected.items())
        assert not wrong, f"{mode}: {wrong} of {len(expected)} counts are wrong"
        assert len(counts) == len(expected), f"{mode}: counts of keys that aren't there"
    else:
        number = records
        if mode == "map":
            number = sum(orjson.loads(p.value)["amount"] > 5 for p in purchases(records, keys))
        assert output.records == number, f"{mode}: {output.records} records, not {number}"


def read(servers: str, topic: str) -> Output:
    """All that is committed in a topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "benchmark-check",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    records = 0
    last: dict[bytes, bytes] = {}
    ended: set[int] = set()
    while len(ended) < len(partitions):
        for message in consumer.consume(10_000, 1.0):
            error = message.error()
            if error is not None:
                if error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                ended.add(message.partition() or 0)
            else:
                records += 1
                key, value = message.key(), message.value()
                assert key is not None
                assert value is not None
                last[key] = value
    consumer.close()
    return Output(records, last)


def _keys(records: int, keys: int) -> Iterator[bytes]:
    return (purchase.key for purchase in purchases(records, keys))


def _windows(records: int, keys: int) -> Iterator[bytes]:
    for key, _, timestamp in purchases(records, keys):
        yield b"%b@%d" % (key, timestamp - timestamp % _WINDOW_MS)


def _users(records: int, keys: int) -> Iterator[bytes]:
    for purchase in purchases(records, keys):
        yield orjson.loads(purchase.value)["user"].encode()


_COUNTS: dict[str, Callable[[int, int], Iterator[bytes]]] = {
    "count": _keys,
    "window": _windows,
    "regroup": _users,
}
