"""Positions and the bounds of partitions, of a real Kafka."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ClientPartition

from headrace import AutoOffsetReset, StreamsBuilder, serdes
from headrace.core.config import StreamsConfig
from headrace.core.errors import BrokerError, MissingTopicError
from headrace.core.record import TopicPartition
from headrace.embedded import EmbeddedKafka
from headrace.kafka.admin import Admin
from headrace.kafka.clients import Clients
from headrace.kafka.port import Position
from headrace.kafka.positions import GroupReader, LogBounds, client_positions
from headrace.kafka.producer import PlainProducer, TransactionalProducer
from headrace.kafka.resets import lost_positions, starting_offsets
from headrace.kafka.settings import ClientSettings
from tests.kafka.cluster import settings

TEXT = serdes.string()


@pytest.fixture
def given(embedded_kafka: EmbeddedKafka, topic_name: Callable[[], str]) -> ClientSettings:
    return settings(embedded_kafka, topic_name())


@pytest.fixture
def group(given: ClientSettings) -> Iterator[GroupReader]:
    with closing(GroupReader(given)) as reader:
        yield reader


@pytest.fixture
def topic(embedded_kafka: EmbeddedKafka, topic_name: Callable[[], str]) -> str:
    """With two partitions. The first has the records 0 to 9, one for each second."""
    name = topic_name()
    embedded_kafka.create_topic(name, 2)
    producer = Producer({"bootstrap.servers": embedded_kafka.bootstrap_servers})
    for number in range(10):
        producer.produce(name, b"%d" % number, partition=0, timestamp=(number + 1) * 1000)
    producer.flush()
    return name


def test_positions_with_their_metadata(group: GroupReader, topic: str) -> None:
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert group.committed([first, second]) == {}
    assert group.committed([]) == {}
    position = Position(3, 99, {"größe": -5, "x": 2**62})
    group.commit({first: position})
    group.commit({})
    assert group.committed([first, second]) == {first: position}


def test_metadata_of_others_is_ignored(
    embedded_kafka: EmbeddedKafka, given: ClientSettings, group: GroupReader, topic: str
) -> None:
    part = TopicPartition(topic, 0)
    consumer = Consumer(given.consumer())
    offset = ClientPartition(topic, 0, 4, "not ours")
    consumer.commit(offsets=[offset], asynchronous=False)
    consumer.close()
    assert group.committed([part]) == {part: Position(4)}


def test_a_position_that_is_about_to_change_is_waited_for(
    given: ClientSettings, group: GroupReader, topic: str
) -> None:
    part = TopicPartition(topic, 0)
    group.commit({part: Position(1)})
    producer = Producer(given.producer(**{"transactional.id": given.application_id}))
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.send_offsets_to_transaction(
        client_positions({part: Position(2)}), group.group_metadata(), 30
    )
    committed = threading.Timer(0.5, producer.commit_transaction, [30])
    committed.start()
    assert group.committed([part]) == {part: Position(2)}
    committed.join()


def test_bounds_of_partitions(group: GroupReader, topic: str) -> None:
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert group.end_offsets([first, second]) == {first: 10, second: 0}
    assert group.first_offsets([first, second]) == {first: 0, second: 0}
    assert group.offsets_at([first, second], 4500) == {first: 4, second: 0}
    assert group.offsets_at([first], 5000) == {first: 4}
    assert group.offsets_at([first], 10_001) == {first: 10}
    assert group.offsets_at([first], -5) == {first: 0}
    assert group.end_offsets([]) == group.first_offsets([]) == group.offsets_at([], 5) == {}


def test_an_open_transaction_is_beyond_the_end(
    given: ClientSettings, group: GroupReader, topic: str
) -> None:
    part = TopicPartition(topic, 0)
    producer = TransactionalProducer(given, f"{given.application_id}-0")
    producer.open()
    producer.send([(topic, 0, b"k", b"v", 1, ())])
    producer._producer.flush()
    with closing(LogBounds(given)) as log:
        assert log.ends([part]) == {part: 11}
        assert group.end_offsets([part]) == {part: 10}
        producer.commit(group.group_metadata(), {})
        # The marker comes a moment after the commit.
        deadline = time.monotonic() + 30
        while group.end_offsets([part])[part] == 10 and time.monotonic() < deadline:
            assert log.ends([part])[part] in (11, 12)
        assert log.ends([part]) == group.end_offsets([part]) == {part: 12}
    producer.close()


def test_a_topic_that_is_not_there(given: ClientSettings) -> None:
    missing = TopicPartition(f"{given.application_id}-missing", 0)
    with (
        closing(GroupReader(given, timeout_s=5)) as group,
        pytest.raises(MissingTopicError, match="missing"),
    ):
        group.end_offsets([missing])


def test_nobody_answers() -> None:
    given = ClientSettings({"application.id": "app", "bootstrap.servers": "127.0.0.1:9"})
    with closing(GroupReader(given, timeout_s=1)) as group:
        assert not group.wait_until_reachable(0.5)
        started = time.monotonic()
        with pytest.raises(BrokerError, match="Connection refused") as raised:
            group.committed([TopicPartition("a", 0)])
        assert raised.value.retriable
        assert time.monotonic() - started < 10


def test_somebody_answers(group: GroupReader) -> None:
    assert group.wait_until_reachable(30)


def test_a_group_with_members_is_in_use(
    embedded_kafka: EmbeddedKafka, given: ClientSettings, group: GroupReader, topic: str
) -> None:
    part = TopicPartition(topic, 0)
    member = Consumer(
        {
            "bootstrap.servers": embedded_kafka.bootstrap_servers,
            "group.id": given.application_id,
            "client.id": "the-java-application",
        }
    )
    member.subscribe([topic])
    deadline = time.monotonic() + 30
    while not member.assignment() and time.monotonic() < deadline:
        member.poll(0.1)
    admin = Admin(given)
    assert admin.group_members(given.application_id) == ["the-java-application"]
    with pytest.raises(BrokerError, match=r"in use by the-java-application\. Stop"):
        admin.check_group_is_free(given.application_id)
    producer = PlainProducer(given, group)
    producer.open()
    with pytest.raises(BrokerError, match="Stop the other application") as raised:
        producer.commit(None, {part: Position(1)})
    assert not raised.value.retriable
    member.close()
    admin.check_group_is_free(given.application_id)
    producer.commit(None, {part: Position(1)})
    assert group.committed([part]) == {part: Position(1)}
    producer.close()


def test_where_to_begin(embedded_kafka: EmbeddedKafka, group: GroupReader, topic: str) -> None:
    part = TopicPartition(topic, 0)
    policies = {
        AutoOffsetReset.earliest(): 0,
        AutoOffsetReset.latest(): 10,
        AutoOffsetReset.by_duration(timedelta(seconds=time.time() - 4.1)): 4,
        AutoOffsetReset.by_duration(timedelta(hours=1)): 10,
    }
    config = StreamsConfig(
        {"application.id": "app", "bootstrap.servers": embedded_kafka.bootstrap_servers}
    )
    for policy, offset in policies.items():
        builder = StreamsBuilder()
        builder.stream(topic, key=TEXT, value=TEXT, offset_reset=policy).to("out")
        assert starting_offsets(builder.build(), config, [part], group) == {part: offset}


def test_positions_that_were_deleted(given: ClientSettings, group: GroupReader, topic: str) -> None:
    part = TopicPartition(topic, 0)
    Admin(given).delete_records({part: 5})
    assert group.first_offsets([part]) == {part: 5}
    with closing(Clients(given)) as kafka:

        def is_lost(offset: int) -> bool:
            return bool(lost_positions(kafka, {part: Position(offset)}, [part], ()))

        assert [is_lost(offset) for offset in (4, 5, 10, 11)] == [True, False, False, True]
        producer = kafka.producer(0)
        producer.open()
        producer.send([(topic, 0, b"k", b"v", None, ())])
        deadline = time.monotonic() + 30
        while kafka.changelogs.ends([part])[part] == 10 and time.monotonic() < deadline:
            producer.send([(topic, 0, b"k", b"v", None, ())])
            time.sleep(0.1)
        # Records of an open transaction are read with at_least_once.
        assert group.end_offsets([part]) == {part: 10}
        assert not is_lost(11)
        producer.abort()
        producer.close()
