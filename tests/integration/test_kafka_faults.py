"""What the clients do when Kafka is away, hangs, compacts, or doesn't let them in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from headrace.core.errors import BrokerError, FencedError
from headrace.core.record import TopicPartition
from headrace.embedded import EmbeddedKafka
from headrace.kafka.admin import Admin
from headrace.kafka.changelog import ChangelogReader
from headrace.kafka.port import Position
from headrace.kafka.positions import GroupReader
from headrace.kafka.producer import PlainProducer, TransactionalProducer
from headrace.kafka.settings import ClientSettings
from tests.kafka.cluster import settings, values


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedKafka]:
    """One of our own, as it gets stopped; which is quick to compact and to abort."""
    properties = {
        "log.cleaner.backoff.ms": 100,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 200,
    }
    with EmbeddedKafka(properties=properties) as cluster:
        yield cluster


@pytest.fixture
def given(kafka: EmbeddedKafka, topic_name: Callable[[], str]) -> ClientSettings:
    return settings(kafka, topic_name())


@pytest.fixture
def topic(kafka: EmbeddedKafka, given: ClientSettings) -> str:
    kafka.create_topic(given.application_id)
    return given.application_id


def outgoing(topic: str, value: bytes) -> Any:
    return topic, 0, b"k", value, 1, ()


def test_everything_waits_for_a_broker_that_comes_back(
    kafka: EmbeddedKafka, given: ClientSettings, topic: str
) -> None:
    part = TopicPartition(topic, 0)
    with closing(GroupReader(given, timeout_s=60)) as group:
        group.commit({part: Position(0)})
        producer = TransactionalProducer(given, f"{topic}-0", timeout_s=60)
        producer.open()
        producer.send([outgoing(topic, b"before")])
        kafka.kill_broker(1)
        assert not group.wait_until_reachable(0.5)
        restart = threading.Timer(0.5, kafka.start_broker, [1])
        restart.start()
        assert group.end_offsets([part])[part] in (0, 1)
        producer.send([outgoing(topic, b"while")])
        producer.commit(group.group_metadata(), {part: Position(1)})
        restart.join()
        assert group.wait_until_reachable(60)
        producer.send([outgoing(topic, b"after")])
        producer.commit(group.group_metadata(), {part: Position(2)})
        assert values(kafka, topic) == [b"before", b"while", b"after"]
        assert group.committed([part]) == {part: Position(2)}
        producer.close()


def test_a_commit_gives_up_on_a_broker_that_stays_away(
    kafka: EmbeddedKafka, given: ClientSettings, topic: str
) -> None:
    """librdkafka alone would wait until it comes back, or for ever."""
    part = TopicPartition(topic, 0)
    with closing(GroupReader(given, timeout_s=60)) as group:
        group.commit({part: Position(0)})
        metadata = group.group_metadata()
        lost = TransactionalProducer(given, f"{topic}-0", timeout_s=2)
        lost.open()
        lost.send([outgoing(topic, b"lost")])
        kafka.stop_broker(1)
        try:
            with pytest.raises(BrokerError, match="the positions of a commit") as raised:
                lost.commit(metadata, {part: Position(1)})
        finally:
            kafka.start_broker(1)
        assert raised.value.retriable
        assert not lost.usable
        lost.close()
        producer = TransactionalProducer(given, f"{topic}-0", timeout_s=60)
        producer.open()
        producer.send([outgoing(topic, b"again")])
        producer.commit(metadata, {part: Position(1)})
        assert values(kafka, topic) == [b"again"]
        assert group.committed([part]) == {part: Position(1)}
        producer.close()


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_broker_that_hangs_for_too_long(
    kafka: EmbeddedKafka, given: ClientSettings, topic: str, exactly_once: bool
) -> None:
    with closing(GroupReader(given)) as group:
        producer: TransactionalProducer | PlainProducer
        if exactly_once:
            producer = TransactionalProducer(given, f"{topic}-0", timeout_s=1)
        else:
            producer = PlainProducer(given, group, timeout_s=1)
        producer.open()
        producer.send([outgoing(topic, b"lost?")])
        kafka.pause_broker(1)
        started = time.monotonic()
        try:
            with pytest.raises(BrokerError) as raised:
                producer.commit(group.group_metadata(), {})
        finally:
            kafka.resume_broker(1)
        assert raised.value.retriable
        # Nobody knows the outcome: this one must not be used any more.
        assert not producer.usable
        assert time.monotonic() - started < 30
        producer.close()
        assert time.monotonic() - started < 30
        if exactly_once:
            with_same_id = TransactionalProducer(given, f"{topic}-0", timeout_s=60)
            with_same_id.open()
            with_same_id.send([outgoing(topic, b"next")])
            with_same_id.commit(group.group_metadata(), {})
            with_same_id.close()
            assert values(kafka, topic)[-1] == b"next"


def test_a_transaction_that_takes_too_long_is_fenced(
    kafka: EmbeddedKafka, given: ClientSettings, topic: str
) -> None:
    short = settings(kafka, topic, producer_transaction_timeout_ms=1000)
    producer = TransactionalProducer(short, f"{topic}-0")
    producer.open()
    producer.send([outgoing(topic, b"too late")])
    producer._producer.flush()
    time.sleep(3)
    with closing(GroupReader(given)) as group, pytest.raises(FencedError):
        producer.commit(group.group_metadata(), {TopicPartition(topic, 0): Position(1)})
    assert not producer.usable
    producer.close()
    assert values(kafka, topic) == []


def test_a_changelog_with_gaps(
    kafka: EmbeddedKafka, given: ClientSettings, topic_name: Callable[[], str]
) -> None:
    changelog = topic_name()
    kafka.create_topic(
        changelog,
        cleanup_policy="compact",
        segment_ms=100,
        min_cleanable_dirty_ratio=0.01,
        delete_retention_ms=0,
    )
    part = TopicPartition(changelog, 0)
    with closing(ChangelogReader(given, timeout_s=30)) as reader:
        producer = TransactionalProducer(given, f"{changelog}-0")
        producer.open()
        count = 0
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for _ in range(5):
                count += 1
                outbox = [(changelog, 0, b"%d" % key, b"%d" % count, 1, ()) for key in range(20)]
                producer.send(outbox)
                producer.commit(None, {})
            producer.send([(changelog, 0, b"0", b"aborted", 1, ())])
            producer._producer.flush()
            producer.abort()
            time.sleep(0.3)
            end = reader.ends([part])[part]
            found = [record for batch, _ in reader.read(part, 0, end) for record in batch]
            # What is left is the latest of each key, whatever is gone.
            assert {key: value for key, value, _, _ in found} == {
                b"%d" % key: b"%d" % count for key in range(20)
            }
            if len(found) < 20 * count:
                break
        assert len(found) < 20 * count, "nothing was compacted"
        producer.close()


def test_nobody_there() -> None:
    given = ClientSettings({"application.id": "app", "bootstrap.servers": "127.0.0.1:9"})
    for attempt in (
        lambda: TransactionalProducer(given, "app-0", timeout_s=1).open(),
        lambda: Admin(given, timeout_s=1).list_topics(),
        lambda: Admin(given, timeout_s=1).describe(["a"]),
    ):
        started = time.monotonic()
        with pytest.raises(BrokerError, match="Connection refused") as raised:
            attempt()
        assert raised.value.retriable
        assert time.monotonic() - started < 15


# Who may come in


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(security="SASL_SSL", users={"ann": 'se"cr\\et'}) as cluster:
        yield cluster


def login(guarded: EmbeddedKafka, name: str, **changed: str) -> ClientSettings:
    return ClientSettings(
        {
            "application.id": name,
            **guarded.client_settings(),
            **{key.replace("_", "."): value for key, value in changed.items()},
        }
    )


def test_user_password_and_certificate(
    guarded: EmbeddedKafka, topic_name: Callable[[], str]
) -> None:
    topic = topic_name()
    guarded.create_topic(topic)
    part = TopicPartition(topic, 0)
    given = login(guarded, topic)
    with closing(GroupReader(given)) as group:
        producer = TransactionalProducer(given, f"{topic}-0")
        producer.open()
        producer.send([outgoing(topic, b"v")])
        producer.commit(group.group_metadata(), {part: Position(1)})
        producer.close()
        assert group.committed([part]) == {part: Position(1)}
    with closing(ChangelogReader(given)) as reader:
        end = reader.ends([part])[part]
        ((found, _),) = reader.read(part, 0, end)
        assert found == [(b"k", b"v", 1, ())]


def test_a_wrong_password_is_an_error_at_once(guarded: EmbeddedKafka) -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    login_line = f'{module} required username="ann" password="hunter2";'
    given = login(guarded, "app", sasl_jaas_config=login_line)
    for attempt in (
        lambda: TransactionalProducer(given, "app-0", timeout_s=60).open(),
        lambda: Admin(given, timeout_s=60).list_topics(),
        lambda: Admin(given, timeout_s=60).describe(["a"]),
        lambda: GroupReader(given, timeout_s=60).committed([TopicPartition("a", 0)]),
    ):
        started = time.monotonic()
        with pytest.raises(BrokerError, match=r"Check security\.protocol, sasl\.user") as raised:
            attempt()
        assert not raised.value.retriable
        assert "hunter2" not in str(raised.value)
        assert time.monotonic() - started < 30


def test_a_wrong_protocol_is_a_broker_that_does_not_answer(guarded: EmbeddedKafka) -> None:
    given = login(guarded, "app", security_protocol="SASL_PLAINTEXT")
    with pytest.raises(BrokerError, match="Could not list the topics"):
        Admin(given, timeout_s=2).list_topics()


def test_a_certificate_that_is_not_known(guarded: EmbeddedKafka) -> None:
    given = ClientSettings(
        {
            "application.id": "app",
            "bootstrap.servers": guarded.bootstrap_servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ann",
            "sasl.password": 'se"cr\\et',
        }
    )
    with pytest.raises(BrokerError, match="certificates") as raised:
        Admin(given, timeout_s=20).list_topics()
    assert not raised.value.retriable
