"""A log that several write, on the brokers that librdkafka has for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import Producer

from headrace.core.errors import FencedError
from headrace.core.record import ProducerRecord, TopicPartition
from headrace.kafka import shared_log
from headrace.kafka.record_writer import RecordWriter
from headrace.kafka.settings import ClientSettings
from headrace.kafka.shared_log import SharedLog
from headrace.kafka.topic_tail import TopicTail


class NoAdmin:
    """These brokers make topics by themselves, and only so."""

    def __init__(self, settings: Any) -> None:
        pass

    def create(self, topics: Any) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    for topic in ("log", "other"):
        producer.list_topics(topic, timeout=10)
    yield f"{broker.host}:{broker.port}"
    producer.flush(1)  # the brokers live as long as it does


@pytest.fixture
def settings(brokers: str) -> ClientSettings:
    return ClientSettings(
        {"bootstrap.servers": brokers, "application.id": "app", "task.timeout.ms": 10_000}
    )


def read_all(log: SharedLog) -> list[tuple[int, bytes]]:
    found, position = log.read(0.1)
    while position < log.end():
        more, position = log.read(0.1)
        found += more
    return found


def test_what_is_written_in_turns_is_read_by_all(
    settings: ClientSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_log, "Admin", NoAdmin)
    with ExitStack() as stack:
        one, other = (SharedLog(settings, "log", "writer") for _ in range(2))
        stack.callback(one.close)
        stack.callback(other.close)
        written = []
        for log, value in ((one, b"a"), (other, b"b"), (other, b"c")):
            with log.turn() as turn:
                assert turn.end == log.end()
                written.append((turn.append(value), value))
        with pytest.raises(ValueError, match="changed my mind"), other.turn() as turn:
            raise ValueError("I changed my mind")
        assert read_all(one) == written
        assert read_all(other) == written


def test_who_lost_the_turn_begins_anew(
    settings: ClientSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_log, "Admin", NoAdmin)
    log = SharedLog(settings, "other", "loser")
    try:
        with pytest.raises(FencedError), log.turn() as turn:
            raise FencedError("another took over")
        with log.turn() as turn:
            offset = turn.append(b"after all")
        assert (offset, b"after all") in read_all(log)
    finally:
        log.close()


def test_single_records_are_written(settings: ClientSettings) -> None:
    writer = RecordWriter(settings)
    writer.write(ProducerRecord("single", 0, b"key", b"value", 5, (("h", b"1"),)))
    writer.close()
    partition = TopicPartition("single", 0)
    tail = TopicTail(settings, {partition: 0})
    try:
        records: list[Any] = []
        while not records:
            records = tail.poll(0.5)
        (record,) = records
        assert (record.key, record.value, record.timestamp) == (b"key", b"value", 5)
        assert list(record.headers) == [("h", b"1")]
        assert tail.positions == {partition: 1}
    finally:
        tail.close()
