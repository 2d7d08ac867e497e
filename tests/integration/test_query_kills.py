"""Readers while workers are killed: they see commits, whole ones, and never an older one than
before."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable

import pytest

from headrace import (
    KafkaStreams,
    RebalancingError,
    StoreNotAvailableError,
    StreamsBuilder,
    StreamThreadExceptionResponse,
    TopicPartition,
    serdes,
)
from headrace.query import KeyQuery, RangeQuery, StateQueryRequest, StateQueryResult
from tests.chaos.processes import Process, kill, of_session
from tests.integration.applications import Cluster, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = serdes.string()
KILLS = 50
PARTITIONS = 2
KEYS = 20


def test_reads_during_kills(cluster: Cluster, name: str) -> None:
    source = f"{name}.in"
    cluster.kafka.create_topic(source, PARTITIONS)
    builder = StreamsBuilder()
    grouped = builder.stream(source, key=TEXT, value=TEXT).group_by_key()
    grouped.count("counts")
    grouped.reduce(lambda before, value: value, "last")
    streams = cluster.application(builder.build(), name)
    # A batch whose workers are killed too often ends the query.
    streams.set_uncaught_exception_handler(
        lambda error: StreamThreadExceptionResponse.REPLACE_THREAD
    )
    with streams:
        input_ = Input(cluster, source)
        reader = Reader(streams, source)
        for helper in (input_, reader):
            helper.start()
        try:
            wait_until(lambda: reader.reads or reader.problem, "the first read", streams)
            killed = 0
            chance = random.Random(7)
            while killed < KILLS:
                time.sleep(chance.uniform(0.1, 0.6))
                workers = _workers()
                killed += bool(workers) and kill(chance.choice(workers).pid)
                assert reader.problem is None, reader.problem
        finally:
            for helper in (input_, reader):
                helper.stop()
        # Reports of batches that were committed may be lost: what counts is what can be read.
        wait_until(lambda: _counted(streams) >= input_.sent, "all to be counted", streams)
        assert _counted(streams) == input_.sent
    assert reader.problem is None, reader.problem
    assert reader.reads > KILLS
    assert reader.bounded > 0


class _Helper:
    """Does something again and again, in a thread."""

    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.problem: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(60)

    def _run(self) -> None:
        try:
            while not self._stopped.wait(0.02):
                self._step()
        except Exception as problem:
            self.problem = problem


class Input(_Helper):
    """Sends numbers, to one key after the other."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        super().__init__(self._send)
        self._cluster = cluster
        self._topic = topic
        self.sent = 0

    def _send(self) -> None:
        numbers = range(self.sent, self.sent + 20)
        records = [(b"k%d" % (n % KEYS), b"%d" % n) for n in numbers]
        self._cluster.send(self._topic, records)
        self.sent += len(records)


class Reader(_Helper):
    """Reads a partition as a whole: as many records must be counted as its position says."""

    def __init__(self, streams: KafkaStreams, topic: str) -> None:
        super().__init__(self._read)
        self._streams = streams
        self._topic = topic
        self._seen: dict[TopicPartition, int] = {}
        self.reads = self.bounded = 0

    def _read(self) -> None:
        try:
            counts = self._streams.query(StateQueryRequest("counts", RangeQuery()))
        except RebalancingError:
            return
        for number, result in counts.partition_results.items():
            if not result.is_success:
                continue
            part = TopicPartition(self._topic, number)
            position = result.position.get(part, -1)
            assert sum(count for _, count in result.get()) == position + 1
            assert position >= self._seen.get(part, -1)
            self._seen[part] = position
            self.reads += 1
        self._read_bounded()

    def _read_bounded(self) -> None:
        """Ask for what was seen already: it is answered, or said to be not there."""
        asked = StateQueryRequest("last", KeyQuery("k1"), position_bound=dict(self._seen))
        answered: StateQueryResult = self._streams.query(asked)
        for number, result in answered.partition_results.items():
            part = TopicPartition(self._topic, number)
            if result.is_success and part in self._seen:
                assert result.position[part] >= self._seen[part]
                self.bounded += 1


def _counted(streams: KafkaStreams) -> int:
    try:
        return sum(count for _, count in streams.store("counts").all())
    except (RebalancingError, StoreNotAvailableError):
        return -1


def _workers() -> list[Process]:
    """The Python workers of this process's own Spark."""
    found = {process.pid: process for process in of_session(os.getsid(0))}

    def descent(process: Process) -> list[Process]:
        line: list[Process] = []
        while (parent := found.get(process.parent)) is not None and len(line) < 9:
            line.append(parent)
            process = parent
        return line

    workers = []
    for process in found.values():
        line = descent(process)
        if len(line) >= 3 and line[1].name == "java" and line[2].pid == os.getpid():
            workers.append(process)
    return workers
