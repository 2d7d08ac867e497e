"""Changelogs as they are: with markers, aborted transactions, gaps, and beginnings that move."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any, cast

import pytest
from confluent_kafka import Producer

from headrace.core.errors import BrokerError
from headrace.core.record import TopicPartition
from headrace.embedded import EmbeddedKafka
from headrace.kafka.admin import Admin
from headrace.kafka.changelog import ChangelogReader, PartitionReader
from headrace.kafka.port import OffsetGone
from headrace.kafka.producer import TransactionalProducer
from headrace.kafka.settings import ClientSettings
from tests.kafka.cluster import settings


class Log:
    """A changelog, and those who write and read it."""

    def __init__(self, kafka: EmbeddedKafka, name: str) -> None:
        self.settings = settings(kafka, name)
        self.part = TopicPartition(f"{name}-changelog", 0)
        kafka.create_topic(self.part.topic, cleanup_policy="compact,delete")
        self.reader = ChangelogReader(self.settings, timeout_s=30)
        self.producer = TransactionalProducer(self.settings, f"{name}-0")
        self.producer.open()

    def write(self, *values: bytes) -> None:
        # As of now, as markers are: a marker that is a week younger than the records before it
        # would begin a segment, and the broker could compact theirs while it is read.
        now = int(time.time() * 1000)
        self.producer.send([(*self.part, value[:1], value, now, ()) for value in values])
        self.producer._producer.flush()

    # The markers of transactions come a moment later; to read the log is to wait for them.

    def commit(self, *values: bytes) -> None:
        self.write(*values)
        self.producer.commit(None, {})
        self.read()

    def abort(self, *values: bytes) -> None:
        self.write(*values)
        self.producer.abort()
        self.read()

    def end(self) -> int:
        return self.reader.ends([self.part])[self.part]

    def read(self, start: int = 0, end: int | None = None) -> list[bytes | None]:
        end = self.end() if end is None else end
        found: list[bytes | None] = []
        at = start
        for records, after in self.reader.read(self.part, start, end):
            assert records
            assert at + len(records) <= after <= end
            at = after
            found += [value for _, value, _, _ in records]
        return found

    def close(self) -> None:
        self.producer.close()
        self.reader.close()


@pytest.fixture
def log(embedded_kafka: EmbeddedKafka, topic_name: Callable[[], str]) -> Iterator[Log]:
    with closing(Log(embedded_kafka, topic_name())) as changelog:
        yield changelog


def test_only_what_was_committed_and_all_of_it(log: Log) -> None:
    log.commit(b"a1", b"b1")
    log.abort(b"a2")
    log.commit(b"a3")
    log.abort(b"b2", b"b3")
    assert log.end() == 10
    assert log.read() == [b"a1", b"b1", b"a3"]
    assert log.read(1) == [b"b1", b"a3"]
    assert log.read(3) == [b"a3"]
    assert log.read(6) == log.read(10) == []
    assert log.read(0, 1) == [b"a1"]
    assert log.read(0, 6) == [b"a1", b"b1", b"a3"]


def test_records_have_their_own_offsets(log: Log) -> None:
    log.commit(b"a1", b"b1")
    log.abort(b"a2")
    log.commit(b"a3")
    found = [
        (record.offset, record.value)
        for records, _ in log.reader.records(log.part, 1, log.end())
        for record in records
    ]
    assert found == [(1, b"b1"), (5, b"a3")]


def test_many_records_come_in_large_lists(log: Log) -> None:
    values = [b"%d" % number for number in range(50_000)]
    log.commit(*values)
    assert log.read() == values
    sizes = [len(records) for records, _ in log.reader.read(log.part, 0, log.end())]
    assert len(sizes) < 50


def test_a_transaction_under_way_is_waited_for(log: Log) -> None:
    log.commit(b"a1")
    log.write(b"a2")
    commit = threading.Timer(0.5, log.producer.commit, [None, {}])
    commit.start()
    assert log.read() == [b"a1", b"a2"]
    commit.join()


def test_but_not_for_ever(log: Log) -> None:
    log.write(b"a1")
    with closing(ChangelogReader(log.settings, timeout_s=1)) as reader:
        with pytest.raises(BrokerError, match="nothing came for 1 s") as raised:
            list(reader.read(log.part, 0, log.end()))
        assert raised.value.retriable


def test_keys_timestamps_and_headers(embedded_kafka: EmbeddedKafka, log: Log) -> None:
    producer = Producer({"bootstrap.servers": embedded_kafka.bootstrap_servers})
    producer.produce(log.part.topic, None, b"deleted", timestamp=5)
    producer.produce(log.part.topic, b"", b"", timestamp=6, headers=[("h", b"1"), ("h", None)])
    producer.flush()
    ((records, end),) = log.reader.read(log.part, 0, log.end())
    assert records == [(b"deleted", None, 5, ()), (b"", b"", 6, [("h", b"1"), ("h", None)])]
    assert end == 2


def test_the_beginning_may_have_moved(log: Log) -> None:
    log.commit(b"a1", b"b1", b"c1")
    Admin(log.settings).delete_records({log.part: 2})
    assert log.read() == [b"c1"]
    with pytest.raises(OffsetGone, match=r"doesn't have .*-changelog-0@1"):
        log.read(1)
    Admin(log.settings).delete_records({log.part: log.end()})
    assert log.read() == []


def test_an_offset_that_never_was(log: Log) -> None:
    log.commit(b"a1")
    with pytest.raises(OffsetGone):
        log.read(50, 60)


def test_a_reader_that_stops_early_can_read_on(log: Log) -> None:
    log.commit(*[b"%d" % number for number in range(30_000)])
    iterator = log.reader.read(log.part, 0, log.end())
    first, after = next(iterator)
    cast(Generator[Any], iterator).close()
    assert log.read(after) == [b"%d" % number for number in range(len(first), 30_000)]


# Piece by piece


@pytest.fixture
def pieces(log: Log) -> Iterator[PartitionReader]:
    with closing(PartitionReader(log.settings)) as reader:
        yield reader


def test_piece_by_piece(log: Log, pieces: PartitionReader) -> None:
    log.commit(*[b"%d" % number for number in range(100)])

    def fetch(offset: int, count: int) -> list[int]:
        found = pieces.fetch(log.part, offset, count, 30)
        assert all(each[:2] == log.part for each in found)
        assert [each.value for each in found] == [b"%d" % each.offset for each in found]
        return [each.offset for each in found]

    assert fetch(0, 10) == list(range(10))
    assert fetch(10, 50) == list(range(10, 60))
    assert fetch(5, 3) == [5, 6, 7]
    assert fetch(90, 50) == list(range(90, 100))


def test_at_the_end_there_is_no_more_to_wait_for(log: Log, pieces: PartitionReader) -> None:
    log.commit(b"a1")
    started = time.monotonic()
    assert len(pieces.fetch(log.part, 0, 10, 30)) == 1
    assert pieces.fetch(log.part, 2, 10, 30) == []
    assert time.monotonic() - started < 15
    started = time.monotonic()
    pieces.fetch(log.part, 2, 10, 0.2)
    assert time.monotonic() - started < 5
    log.commit(b"a2")
    deadline = time.monotonic() + 30
    found = pieces.fetch(log.part, 2, 10, 1)
    while not found and time.monotonic() < deadline:
        found = pieces.fetch(log.part, 2, 10, 1)
    assert [each.value for each in found] == [b"a2"]


def test_several_partitions_in_turn(
    embedded_kafka: EmbeddedKafka, topic_name: Callable[[], str]
) -> None:
    topic = topic_name()
    embedded_kafka.create_topic(topic, 2)
    producer = Producer({"bootstrap.servers": embedded_kafka.bootstrap_servers})
    for number in range(20):
        producer.produce(topic, b"%d" % number, partition=number % 2)
    producer.flush()
    given: ClientSettings = settings(embedded_kafka, topic)
    with closing(PartitionReader(given, "global")) as reader:
        for start in (0, 5):
            for number in (0, 1):
                found = reader.fetch(TopicPartition(topic, number), start, 5, 30)
                assert [each.value for each in found] == [
                    b"%d" % (number + 2 * offset) for offset in range(start, start + 5)
                ]
