"""Memory: large records, and many of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace import StreamsBuilder, serdes
from tests.integration.applications import Cluster, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = serdes.string()
SIZE = 900_000
MOST = 400 * 1024 * 1024


def resident(_: bytes) -> str:
    """How much memory the process has that runs it."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return str(pages * os.sysconf("SC_PAGE_SIZE"))


@pytest.mark.parametrize("sources", [1, 2])
def test_large_records_take_little_memory(cluster: Cluster, name: str, sources: int) -> None:
    """Two sources: then records wait for each other."""
    topics = [f"{name}.in-{number}" for number in range(sources)]
    target = f"{name}.out"
    for topic in topics:
        cluster.kafka.create_topic(topic, 1)
        for first in range(0, 400 // sources, 50):
            values = [os.urandom(100) + bytes(SIZE) for _ in range(50)]
            cluster.send(topic, [(str(first + at).encode(), v) for at, v in enumerate(values)])
    cluster.send(topics[0], [(b"small", b"x"), (b"none", None), (b"large", bytes(SIZE))])
    cluster.kafka.create_topic(target, 1)
    builder = StreamsBuilder()
    merged = builder.stream(topics[0], key=TEXT, value=serdes.bytes_())
    for topic in topics[1:]:
        merged = merged.merge(builder.stream(topic, key=TEXT, value=serdes.bytes_()))
    merged.filter(
        lambda key, value: value is None or len(value) in (1, SIZE, SIZE + 100)
    ).map_values(resident).to(target, key=TEXT, value=TEXT)
    streams = cluster.application(builder.build(), name)
    with streams:
        wait_until(lambda: streams.status().lag == 0, "all to be read", streams)
    found = cluster.read(target, 403)
    assert len(found) == 403
    assert max(int(message.value()) for message in found) < MOST
