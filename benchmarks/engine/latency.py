"""How long a record takes through an engine that runs: from its timestamp to a reader of committed
records."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from confluent_kafka import Consumer, Producer

_PURCHASE = b'{"user":"u1","amount":50.0,"dept":"books","zip":"12345"}'
_KEYS = 500
_PATIENCE_S = 5
"""So long after the last record was sent, others are still waited for."""


class Latency(NamedTuple):
    sent: int
    seen: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


def measure(servers: str, source: str, sink: str, *, seconds: float, rate: int) -> Latency:
    """Send `rate` purchases a second to `source`, and read `sink`."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"latency-{time.time()}",
            "isolation.level": "read_committed",
            "auto.offset.reset": "latest",
            "fetch.wait.max.ms": 5,
        }
    )
    consumer.subscribe([sink])
    consumer.poll(3)
    ends = time.time() + seconds
    latencies: list[float] = []
    reader = threading.Thread(target=_read, args=(consumer, latencies, ends + _PATIENCE_S))
    reader.start()
    sent = _send(servers, source, ends, rate)
    reader.join()
    consumer.close()
    return summary(sent, latencies)


def summary(sent: int, latencies: Sequence[float]) -> Latency:
    """Percentiles. The first fifth is left out: the engine may still be warming up."""
    if not latencies:
        raise RuntimeError(f"{sent} records were sent, and none came out")
    steady = sorted(latencies[len(latencies) // 5 :])
    p50, p95, p99 = (steady[int(len(steady) * share)] for share in (0.5, 0.95, 0.99))
    return Latency(sent, len(latencies), p50, p95, p99, steady[-1])


def _send(servers: str, source: str, ends: float, rate: int) -> int:
    producer = Producer(
        {"bootstrap.servers": servers, "linger.ms": 0, "partitioner": "murmur2_random"}
    )
    began, sent = time.time(), 0
    while time.time() < ends:
        now = int(time.time() * 1000)
        producer.produce(source, _PURCHASE, b"u%d" % (sent % _KEYS), timestamp=now)
        producer.poll(0)
        sent += 1
        time.sleep(max(0, began + sent / rate - time.time()))
    producer.flush()
    return sent


def _read(consumer: Consumer, latencies: list[float], ends: float) -> None:
    while time.time() < ends:
        for message in consumer.consume(1000, 0.05):
            if message.error() is None:
                latencies.append(time.time() * 1000 - message.timestamp()[1])
