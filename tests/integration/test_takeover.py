"""An application goes from Kafka Streams to Headrace and back, and nobody can tell from its output.

The state directory of Headrace is kept all the while, so that it is out of date after each run of
Kafka Streams. That one always begins with an empty directory.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer
from confluent_kafka import TopicPartition as ClientPartition

from headrace import StateRestoreListener
from headrace.core.record import TopicPartition
from headrace.kafka.jars import STREAMS, resolve
from headrace.kafka.java import find_java, java_home
from headrace.testing import TopologyTestDriver
from tests.integration.applications import Cluster, close
from tests.integration.takeover.topology import STORES, takeover
from tests.tools import JAVA_COMPILER

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

APPLICATION = Path(__file__).parent / "takeover" / "TakeoverApp.java"
PARTITIONS = 2
RECORDS = 1_000
"""In each of the three parts."""
PATIENCE_S = 120.0

Sent = tuple[bytes, bytes, int]
ByKey = dict[bytes, list[tuple[bytes | None, int]]]
"""Values and timestamps, in order."""


class Part(NamedTuple):
    """What one engine is given, and how many records are in the output when it is done."""

    records: list[Sent]
    output_total: int


class Expected(NamedTuple):
    parts: list[Part]
    output: ByKey


def parts() -> Iterator[list[Sent]]:
    """Ten minutes of frequent and rare keys; some records come late, or too late.

    A value belongs to one key, so that the order of a value's records is that of the input, also
    behind the repartition topic. Each part begins with records that are not late, for all keys:
    Kafka Streams forgets how late it was when it is closed (ADR 2). All is of late, as brokers
    delete the old records of a window's changelog.
    """
    chance = random.Random(4)
    keys = [f"key-{i}" for i in range(24)]
    weights = [1 / (1 + i) for i in range(len(keys))]
    hour = 3_600_000
    now = (int(time.time() * 1000) // hour - 1) * hour
    for _ in range(3):
        part: list[Sent] = []
        for i in range(RECORDS):
            now += chance.randrange(400)
            begins = i < len(keys)
            key = keys[i] if begins else chance.choices(keys, weights)[0]
            late = chance.randrange(90_000) if not begins and chance.random() < 0.04 else 0
            value = f"{key}: {chance.randrange(3)}"
            part.append((key.encode(), value.encode(), now - late))
        yield part


@pytest.fixture(scope="module")
def expected() -> Expected:
    """What the test driver makes of the same records."""
    given: list[Part] = []
    output: list[tuple[bytes, bytes | None, int]] = []
    config = {"statestore.cache.max.bytes": 0}
    with TopologyTestDriver(takeover("in", "out"), config, partitions=PARTITIONS) as driver:
        for part in parts():
            for key, value, timestamp in part:
                driver.pipe("in", key, value, timestamp)
            while (record := driver.next_output("out")) is not None:
                assert record.key is not None
                assert record.timestamp is not None
                output.append((record.key, record.value, record.timestamp))
            given.append(Part(part, len(output)))
    return Expected(given, by_key(output))


def by_key(records: Iterable[tuple[bytes, bytes | None, int]]) -> ByKey:
    found: ByKey = defaultdict(list)
    for key, value, timestamp in records:
        found[key].append((value, timestamp))
    return dict(found)


def test_the_records_have_all_that_can_go_wrong(expected: Expected) -> None:
    kinds = Counter(
        None if value is None else value.split(b"=")[0]
        for values in expected.output.values()
        for value, _ in values
    )
    assert kinds[b"count"] == kinds[b"value"] == 3 * RECORDS
    assert kinds[b"minute"] < 3 * RECORDS  # some are too late
    assert kinds[None] > 100  # sessions that were extended or merged
    # Minutes and sessions go on from one part to the next.
    for before, after in zip(expected.parts, expected.parts[1:], strict=False):
        last = max(timestamp for _, _, timestamp in before.records)
        first = after.records[0][2]
        assert first - last < 20_000
        assert first // 60_000 == last // 60_000


# The engines


class Output:
    """The output topic as it grows; only what is committed."""

    def __init__(self, servers: str, topic: str) -> None:
        self.records: list[tuple[bytes, bytes | None, int]] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "unused",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self._consumer.assign(
            [ClientPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
        )

    def wait_for(self, count: int, is_running: Callable[[], bool]) -> None:
        """Wait until so many records are there, but not if they stop coming."""
        deadline = time.monotonic() + PATIENCE_S
        while len(self.records) < count and is_running():
            messages = self._consumer.consume(10_000, timeout=0.2)
            for message in messages:
                assert message.error() is None
                key = message.key()
                assert key is not None
                self.records.append((key, message.value(), message.timestamp()[1]))
            if messages:
                deadline = time.monotonic() + PATIENCE_S
            assert time.monotonic() < deadline, f"{len(self.records)} records, not {count}"

    def close(self) -> None:
        self._consumer.close()


class Restored(StateRestoreListener):
    def __init__(self) -> None:
        self.records: Counter[str] = Counter()

    def on_restore_end(self, partition: TopicPartition, store: str, records: int) -> None:
        self.records[store] += records


class Takeover:
    """One application, with an engine of each kind that can run it."""

    def __init__(self, cluster: Cluster, name: str, classes: Sequence[Path], work: Path) -> None:
        self.source, self.target = f"{name}.in", f"{name}.out"
        self._cluster = cluster
        self._name = name
        self._class_path = os.pathsep.join(map(str, classes))
        self._work = work
        self.topology = takeover(self.source, self.target)
        for topic in (self.source, self.target):
            cluster.kafka.create_topic(topic, PARTITIONS)
        self.output = Output(cluster.kafka.bootstrap_servers, self.target)

    def java(self, part: Part) -> None:
        self._cluster.send(self.source, part.records)
        command: list[str | Path] = [
            *(find_java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("-cp", self._class_path, "TakeoverApp", self._cluster.kafka.bootstrap_servers),
            *(self._name, self.source, self.target),
            self._work / f"java-{time.monotonic_ns()}",
        ]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Java tells what it takes from there.
            env={name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"},
            text=True,
        ) as process:
            try:
                self.output.wait_for(part.output_total, lambda: process.poll() is None)
                said, errors = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
        assert (process.returncode, errors) == (0, "")
        assert said == str(self.topology.describe())

    def headrace(self, part: Part) -> Counter[str]:
        """How many records of each store it had to restore."""
        self._cluster.send(self.source, part.records)
        restored = Restored()
        streams = self._cluster.application(self.topology, self._name, statestore_cache_max_bytes=0)
        streams.set_global_state_restore_listener(restored)
        with streams:
            self.output.wait_for(part.output_total, lambda: streams.error is None)
        close(streams)
        return restored.records


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The class path of TakeoverApp."""
    home = java_home(find_java())
    compiler = home / "bin" / "javac"
    if not compiler.exists():
        JAVA_COMPILER.is_missing(f"There is none in {home}")
    jars = resolve(STREAMS)
    target = tmp_path_factory.mktemp("classes")
    class_path = os.pathsep.join(map(str, jars))
    subprocess.run([compiler, "-cp", class_path, "-d", target, APPLICATION], check=True)
    return [target, *jars]


@pytest.fixture
def application(
    classes: list[Path], cluster: Cluster, tmp_path: Path, name: str
) -> Iterator[Takeover]:
    application = Takeover(cluster, name, classes, tmp_path)
    yield application
    application.output.close()


# The law


def test_java_alone(application: Takeover, expected: Expected) -> None:
    everything = [record for part in expected.parts for record in part.records]
    application.java(Part(everything, expected.parts[-1].output_total))
    assert by_key(application.output.records) == expected.output


def test_java_headrace_java(application: Takeover, expected: Expected) -> None:
    first, second, third = expected.parts
    application.java(first)
    restored = application.headrace(second)
    application.java(third)
    assert by_key(application.output.records) == expected.output
    assert restored.keys() == set(STORES)
    assert restored["counts"] == restored["values"] == RECORDS


def test_headrace_java_headrace(application: Takeover, expected: Expected) -> None:
    first, second, third = expected.parts
    assert application.headrace(first).total() == 0
    application.java(second)
    restored = application.headrace(third)
    assert by_key(application.output.records) == expected.output
    # What Kafka Streams did is missing in the local state.
    assert restored.keys() == set(STORES)
    assert restored["counts"] == restored["values"] == RECORDS
