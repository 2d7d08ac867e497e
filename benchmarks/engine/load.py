"""The records of the benchmark: JSON purchases, 5 ms apart, and a profile for each key.

    python -m benchmarks.engine.load SERVERS TOPIC RECORDS [KEYS] [PARTITIONS]

The same numbers give the same records, so that what an engine makes of them can be checked.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import orjson
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

FIRST_TIMESTAMP = 1_700_000_000_000
_INTERVAL_MS = 5
_VALUES = 20_000
"""So many different values are made, and used in turn: making them costs more than sending."""


class Purchase(NamedTuple):
    key: bytes
    value: bytes
    timestamp: int


def users_topic(topic: str) -> str:
    """Where the profiles are that belong to the purchases of a topic."""
    return f"{topic}-users"


def purchases(records: int, keys: int) -> Iterator[Purchase]:
    chance = random.Random(1)
    values = [_value(chance, keys) for _ in range(_VALUES)]
    for number in range(records):
        yield Purchase(
            b"u%d" % chance.randrange(keys),
            values[number % _VALUES],
            FIRST_TIMESTAMP + number * _INTERVAL_MS,
        )


def profiles(keys: int) -> Iterator[Purchase]:
    for number in range(keys):
        profile = orjson.dumps({"name": f"user {number}", "tier": number % 5})
        yield Purchase(b"u%d" % number, profile, FIRST_TIMESTAMP - 1_000_000)


def load(servers: str, topic: str, records: int, keys: int, partitions: int = 4) -> None:
    """Make the two topics and fill them."""
    create_topics(servers, {topic: partitions, users_topic(topic): partitions})
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": 50,
            "batch.size": 1_000_000,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 1_000_000,
            "partitioner": "murmur2_random",
        }
    )
    _send(producer, users_topic(topic), profiles(keys))
    _send(producer, topic, purchases(records, keys))


def create_topics(servers: str, partitions: dict[str, int]) -> None:
    """Topics that keep what they get, unless they are there: the timestamps of records are old."""
    topics = [
        NewTopic(name, count, 1, config={"retention.ms": "-1"})
        for name, count in partitions.items()
    ]
    admin = AdminClient({"bootstrap.servers": servers})
    known = admin.list_topics(timeout=30).topics
    new = [topic for topic in topics if topic.topic not in known]
    for done in admin.create_topics(new).values() if new else ():
        done.result()


def _value(chance: random.Random, keys: int) -> bytes:
    return orjson.dumps(
        {
            "user": f"u{chance.randrange(keys)}",
            "amount": round(chance.random() * 100, 2),
            "dept": chance.choice(["coffee", "electronics", "books"]),
            "zip": str(chance.randrange(10000, 99999)),
        }
    )


def _send(producer: Producer, topic: str, records: Iterator[Purchase]) -> None:
    for number, (key, value, timestamp) in enumerate(records):
        while True:
            try:
                producer.produce(topic, value, key, timestamp=timestamp)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def main() -> None:
    servers, topic, records, *rest = sys.argv[1:]
    keys, partitions = map(int, [*rest, "20000", "4"][:2] if len(rest) < 2 else rest)
    began = time.monotonic()
    load(servers, topic, int(records), keys, partitions)
    print(f"{records} records in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
