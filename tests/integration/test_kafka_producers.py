"""Producers against a real Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.core.errors import BrokerError, FencedError, MissingTopicError
from headrace.core.record import TopicPartition
from headrace.embedded import EmbeddedKafka
from headrace.kafka.port import Outgoing, Position, RecordRejected
from headrace.kafka.positions import GroupReader
from headrace.kafka.producer import PlainProducer, TransactionalProducer
from headrace.kafka.settings import ClientSettings
from headrace.serde.murmur2 import partition_for
from tests.kafka.cluster import records, settings, values


def record(topic: str, value: bytes, key: bytes | None = b"k") -> Outgoing:
    return topic, None, key, value, 1000, ()


class Application:
    """A name, its clients, and topics."""

    def __init__(self, kafka: EmbeddedKafka, name: str, **given: Any) -> None:
        self.kafka = kafka
        self.name = name
        self.settings = settings(kafka, name, **given)
        self.group = GroupReader(self.settings)
        self._opened: list[TransactionalProducer | PlainProducer] = []

    def topic(self, partitions: int = 1, **config: object) -> str:
        name = f"{self.name}-topic-{len(self._opened)}-{time.monotonic_ns()}"
        self.kafka.create_topic(name, partitions, **config)
        return name

    def producer(
        self, transactional_id: str = "0", given: ClientSettings | None = None
    ) -> TransactionalProducer:
        producer = TransactionalProducer(
            given or self.settings, f"{self.name}-{transactional_id}", timeout_s=30
        )
        self._opened.append(producer)
        producer.open()
        return producer

    def plain(self, given: ClientSettings | None = None) -> PlainProducer:
        producer = PlainProducer(given or self.settings, self.group, timeout_s=30)
        self._opened.append(producer)
        producer.open()
        return producer

    def commit(
        self,
        producer: TransactionalProducer | PlainProducer,
        positions: dict[TopicPartition, Position] | None = None,
    ) -> None:
        producer.commit(self.group.group_metadata(), positions or {})

    def close(self) -> None:
        for producer in self._opened:
            producer.close()
        self.group.close()


@pytest.fixture
def app(embedded_kafka: EmbeddedKafka, topic_name: Callable[[], str]) -> Iterator[Application]:
    application = Application(embedded_kafka, topic_name())
    yield application
    application.close()


# Transactions


def test_a_commit_shows_records_and_positions(app: Application) -> None:
    topic = app.topic(2)
    before = time.time_ns() // 1_000_000
    producer = app.producer()
    headers = (("a", b"1"), ("a", None), ("b", b""))
    producer.send(
        [
            (topic, 0, b"k", b"v", 1_700_000_000_000, headers),
            (topic, 1, None, b"no key", 5, ()),
            (topic, 1, b"", None, None, ()),
            (topic, 1, b"k", b"zero", 0, ()),
        ]
    )
    part = TopicPartition(topic, 1)
    app.commit(producer, {part: Position(7, 1234, {"x": -1, "größe": 2**40})})
    first, *others = records(app.kafka, topic, 2)
    assert first[2:] == (b"k", b"v", 1_700_000_000_000, list(headers))
    assert [(found.key, found.value) for found in others] == [
        (None, b"no key"),
        (b"", None),
        (b"k", b"zero"),
    ]
    assert others[0].timestamp == 5
    assert before <= others[1].timestamp <= before + 60_000
    # librdkafka can't send 0.
    assert others[2].timestamp == 1
    assert app.group.committed([part, TopicPartition(topic, 0)]) == {
        part: Position(7, 1234, {"x": -1, "größe": 2**40})
    }


def test_many_commits_by_one_producer(app: Application) -> None:
    topic = app.topic()
    part = TopicPartition(topic, 0)
    producer = app.producer()
    for number in range(5):
        producer.send([record(topic, b"%d" % number)])
        app.commit(producer, {part: Position(number)})
        assert app.group.committed([part]) == {part: Position(number)}
    assert values(app.kafka, topic) == [b"0", b"1", b"2", b"3", b"4"]


def test_an_abort_shows_nothing_and_the_producer_goes_on(app: Application) -> None:
    topic = app.topic()
    producer = app.producer()
    producer.send([record(topic, b"aborted") for _ in range(1000)])
    producer.abort()
    producer.abort()
    producer.send([record(topic, b"committed")])
    app.commit(producer)
    assert producer.usable
    assert values(app.kafka, topic) == [b"committed"]


def test_positions_alone_and_nothing_at_all_can_be_committed(app: Application) -> None:
    part = TopicPartition(app.topic(), 0)
    producer = app.producer()
    producer.send([])
    app.commit(producer)
    app.commit(producer, {part: Position(3)})
    assert app.group.committed([part]) == {part: Position(3)}


def test_records_go_where_java_sends_them(app: Application) -> None:
    topic = app.topic(7)
    producer = app.producer()
    keys = [b"key-%d" % number for number in range(200)] + [b"", "größe".encode()]
    producer.send([record(topic, b"v", key) for key in keys])
    app.commit(producer)
    found = {each.key: each.partition for each in records(app.kafka, topic, 7)}
    assert found == {key: partition_for(key, 7) for key in keys}


def test_a_queue_that_is_full_is_waited_for(app: Application) -> None:
    topic = app.topic()
    given = settings(
        app.kafka, app.name, producer_queue_buffering_max_messages=100, producer_linger_ms=1
    )
    producer = app.producer(given=given)
    producer.send([record(topic, b"%d" % number) for number in range(5000)])
    app.commit(producer)
    assert values(app.kafka, topic) == [b"%d" % number for number in range(5000)]


# Fencing


def test_the_next_producer_of_the_same_id_fences(app: Application) -> None:
    topic = app.topic()
    part = TopicPartition(topic, 0)
    first = app.producer()
    first.send([record(topic, b"before")])
    app.commit(first)
    first.send([record(topic, b"never")])
    second = app.producer()
    with pytest.raises(FencedError, match="took over"):
        app.commit(first, {part: Position(9)})
    assert not first.usable
    with pytest.raises(BrokerError, match="can't be used any more"):
        first.send([record(topic, b"never")])
    first.abort()
    second.send([record(topic, b"after")])
    app.commit(second, {part: Position(1)})
    assert values(app.kafka, topic) == [b"before", b"after"]
    assert app.group.committed([part])[part].offset == 1


def test_a_fenced_producer_may_find_out_while_it_sends(app: Application) -> None:
    topic = app.topic()
    first = app.producer()
    first.send([record(topic, b"never")])
    app.producer()

    def send_until_it_fails() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            first.send([record(topic, b"never")])
            time.sleep(0.01)

    with pytest.raises(FencedError, match="took over"):
        send_until_it_fails()
    assert not first.usable
    assert values(app.kafka, topic) == []


def test_other_ids_are_left_alone(app: Application) -> None:
    topic = app.topic()
    first, second = app.producer("0"), app.producer("1")
    first.send([record(topic, b"0")])
    second.send([record(topic, b"1")])
    app.commit(second)
    app.commit(first)
    assert sorted(values(app.kafka, topic), key=str) == [b"0", b"1"]


# Records that can't be sent


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_record_that_is_too_large_is_named_and_can_be_left_out(
    app: Application, exactly_once: bool
) -> None:
    topic = app.topic()
    producer = app.producer() if exactly_once else app.plain()
    outbox = [record(topic, b"a"), record(topic, bytes(2_000_000), b"big"), record(topic, b"c")]
    with pytest.raises(
        RecordRejected, match=r"2000003 bytes with key b'big' is too large"
    ) as rejected:
        producer.send(outbox)
    error = rejected.value
    assert (error.topic, error.key, error.size, error.index) == (topic, b"big", 2_000_003, 1)
    producer.send(outbox[error.index + 1 :])
    app.commit(producer)
    assert values(app.kafka, topic) == [b"a", b"c"]


def test_a_record_that_the_topic_does_not_take_undoes_the_commit(app: Application) -> None:
    topic = app.topic(max_message_bytes=10_000)
    part = TopicPartition(topic, 0)
    producer = app.producer()
    producer.send([record(topic, b"small")])
    app.commit(producer, {part: Position(1)})
    big = b"".join(b"%d" % (n * n) for n in range(20_000))
    producer.send([record(topic, b"also small"), record(topic, big, b"big")])
    with pytest.raises(RecordRejected, match="is too large for topic") as rejected:
        app.commit(producer, {part: Position(2)})
    error = rejected.value
    assert (error.topic, error.key, error.index) == (topic, b"big", -1)
    assert app.group.committed([part])[part].offset == 1
    assert values(app.kafka, topic) == [b"small"]
    assert not producer.usable
    successor = app.producer()
    successor.send([record(topic, b"next")])
    app.commit(successor)
    assert values(app.kafka, topic) == [b"small", b"next"]


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_topic_that_is_not_there(app: Application, exactly_once: bool) -> None:
    given = settings(app.kafka, app.name, producer_topic_metadata_propagation_max_ms=500)
    producer = app.producer(given=given) if exactly_once else app.plain(given)
    missing = f"{app.name}-missing"
    producer.send([record(missing, b"v")])
    with pytest.raises(MissingTopicError, match=f"send a record to {missing}"):
        app.commit(producer)
    assert producer.usable is not exactly_once


def test_a_partition_that_is_not_there(app: Application) -> None:
    topic = app.topic()
    producer = app.producer()
    producer.send([(topic, 0, b"k", b"v", 1, ())])
    app.commit(producer)
    with pytest.raises(MissingTopicError, match=topic):
        producer.send([(topic, 5, b"k", b"v", 1, ())])
    assert not producer.usable
    assert values(app.kafka, topic) == [b"v"]


# Without transactions


def test_at_least_once_commits_after_everything_has_arrived(app: Application) -> None:
    topic = app.topic()
    part = TopicPartition(topic, 0)
    producer = app.plain()
    producer.send([(topic, None, b"k", b"%d" % n, None, ()) for n in range(1000)])
    app.commit(producer, {part: Position(5, 6, {"x": 7})})
    assert values(app.kafka, topic) == [b"%d" % n for n in range(1000)]
    assert app.group.committed([part]) == {part: Position(5, 6, {"x": 7})}


def test_at_least_once_without_failures_goes_on_after_an_abort(app: Application) -> None:
    topic = app.topic()
    producer = app.plain()
    producer.send([record(topic, b"maybe")])
    producer.abort()
    producer.send([record(topic, b"sure")])
    app.commit(producer)
    assert values(app.kafka, topic)[-1] == b"sure"


def test_closing_twice_does_no_harm(app: Application) -> None:
    for producer in (app.producer(), app.plain()):
        producer.close()
        producer.close()
        assert not producer.usable
