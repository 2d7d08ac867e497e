"""One set of settings for librdkafka and for Spark's client."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from headrace.core.client_settings import CLIENT_SETTINGS
from headrace.core.errors import ConfigError
from headrace.core.settings import SETTINGS
from headrace.kafka.client_keys import LIBRDKAFKA_NAMES, LIBRDKAFKA_ONLY, SECURITY
from headrace.kafka.durations import iso_duration
from headrace.kafka.settings import ClientSettings
from headrace.topology.nodes import AutoOffsetReset

BASE = {"application.id": "shop", "bootstrap.servers": "a:1,b:2"}


def settings(given: dict[str, Any] | None = None) -> ClientSettings:
    return ClientSettings(BASE | (given or {}))


def test_every_translated_key_is_one_that_may_be_given() -> None:
    known = CLIENT_SETTINGS.keys() | SETTINGS.keys()
    assert (LIBRDKAFKA_NAMES.keys() | LIBRDKAFKA_ONLY | SECURITY) - known == set()


def test_the_defaults_are_ones_that_librdkafka_takes() -> None:
    given = settings()
    Consumer(given.consumer()).close()
    Producer(given.producer(**{"transactional.id": "shop-0"}))
    Producer(given.producer())
    AdminClient(given.admin())


def test_everything_that_is_translated_is_taken_by_librdkafka() -> None:
    given = settings(
        {
            "metadata.max.age.ms": 60_000,
            "request.timeout.ms": 20_000,
            "receive.buffer.bytes": -1,
            "send.buffer.bytes": 65536,
            "connections.max.idle.ms": 540_000,
            "client.dns.lookup": "use_all_dns_ips",
            "reconnect.backoff.ms": 50,
            "socket.connection.setup.timeout.ms": 10_000,
            "metadata.recovery.strategy": "rebootstrap",
            "retries": 10,
            "statistics.interval.ms": 0,
            "consumer.fetch.max.wait.ms": 5,
            "consumer.fetch.min.bytes": 1,
            "consumer.fetch.max.bytes": 1_000_000,
            "consumer.check.crcs": True,
            "consumer.max.poll.records": 100,
            "consumer.client.rack": "r1",
            "producer.acks": "all",
            "producer.batch.size": 16384,
            "producer.linger.ms": 5,
            "producer.max.request.size": 2_000_000,
            "producer.max.in.flight.requests.per.connection": 3,
            "producer.compression.type": "gzip",
            "producer.compression.gzip.level": 3,
            "producer.buffer.memory": 33_554_432,
            "producer.delivery.timeout.ms": 120_000,
            "producer.max.block.ms": 1,
        }
    )
    consumer = given.consumer()
    assert consumer["topic.metadata.refresh.interval.ms"] == "60000"
    assert consumer["socket.timeout.ms"] == "20000"
    assert consumer["socket.receive.buffer.bytes"] == "0"
    assert consumer["fetch.wait.max.ms"] == "5"
    assert "retries" not in consumer
    Consumer(consumer).close()
    producer = given.producer(**{"transactional.id": "shop-0"})
    assert producer["message.max.bytes"] == "2000000"
    assert producer["compression.level"] == "3"
    assert producer["queue.buffering.max.kbytes"] == "32768"
    assert producer["retries"] == "10"
    Producer(producer)
    AdminClient(given.admin())
    spark = given.spark()
    assert spark["kafka.max.poll.records"] == "100"
    assert spark["kafka.fetch.max.wait.ms"] == "5"
    assert not {"kafka.statistics.interval.ms", "kafka.linger.ms", "kafka.acks"} & spark.keys()


def test_a_prefix_goes_before_the_general_setting() -> None:
    given = settings(
        {
            "request.timeout.ms": 1000,
            "consumer.request.timeout.ms": 2000,
            "restore.consumer.request.timeout.ms": 3000,
            "producer.request.timeout.ms": 4000,
            "admin.request.timeout.ms": 5000,
            "main.consumer.fetch.min.bytes": 7,
            "consumer.bootstrap.servers": "elsewhere:1",
        }
    )
    found = [
        given.consumer()["socket.timeout.ms"],
        given.consumer("restore")["socket.timeout.ms"],
        given.consumer("global")["socket.timeout.ms"],
        given.producer()["socket.timeout.ms"],
        given.admin()["socket.timeout.ms"],
        given.spark()["kafka.request.timeout.ms"],
    ]
    assert found == ["2000", "3000", "2000", "4000", "5000", "2000"]
    # Java refuses less for a call than for a request.
    slow = settings({"request.timeout.ms": 30_000}).java()
    assert slow["request.timeout.ms"] == slow["default.api.timeout.ms"] == "30000"
    assert given.consumer()["fetch.min.bytes"] == given.spark()["kafka.fetch.min.bytes"] == "7"
    assert "fetch.min.bytes" not in given.consumer("restore")
    # As in Kafka Streams, which cluster it is can't differ.
    assert given.consumer()["bootstrap.servers"] == "a:1,b:2"


def test_what_is_asked_for_by_our_own_code_goes_before_everything() -> None:
    given = settings({"consumer.isolation.level": "read_committed"})
    assert given.consumer(**{"isolation.level": "read_uncommitted", "x": "y"})["x"] == "y"
    assert given.consumer()["isolation.level"] == "read_committed"


def test_what_is_read_depends_on_the_guarantee() -> None:
    exactly = {"processing.guarantee": "exactly_once_v2"}
    at_least = {"processing.guarantee": "at_least_once"}
    assert settings(at_least).consumer()["isolation.level"] == "read_uncommitted"
    assert settings(at_least).consumer("restore")["isolation.level"] == "read_committed"
    once = settings(exactly | {"consumer.isolation.level": "read_uncommitted"})
    assert once.consumer()["isolation.level"] == "read_committed"
    assert once.spark()["kafka.isolation.level"] == "read_committed"


def test_nothing_in_a_transaction_takes_longer_than_the_transaction() -> None:
    given = settings(
        {
            "producer.transaction.timeout.ms": 30_000,
            "producer.delivery.timeout.ms": 120_000,
            "producer.request.timeout.ms": 90_000,
            "producer.enable.idempotence": False,
        }
    )
    told = given.producer(**{"transactional.id": "shop-0"})
    assert (told["delivery.timeout.ms"], told["socket.timeout.ms"]) == ("30000", "30000")
    assert told["enable.idempotence"] == "true"
    Producer(told)
    plain = given.producer()
    assert (plain["delivery.timeout.ms"], plain["enable.idempotence"]) == ("120000", "false")


def test_clients_are_named_after_the_application() -> None:
    assert settings().producer()["client.id"] == "shop-producer"
    assert settings().consumer("restore")["client.id"] == "shop-restore-consumer"
    assert settings({"client.id": "till"}).admin()["client.id"] == "till-admin"
    assert "kafka.client.id" not in settings({"client.id": "till"}).spark()
    assert settings().consumer()["group.id"] == "shop"


def test_what_must_be_given() -> None:
    with pytest.raises(ConfigError, match=r"bootstrap\.servers must be given"):
        ClientSettings({"application.id": "shop"})
    with pytest.raises(ConfigError, match=r"application\.id must be given"):
        ClientSettings({"bootstrap.servers": "a:1"})


def test_an_unknown_setting_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'producer\.linger\.ms'"):
        settings({"producer.lingr.ms": 1})


def test_settings_can_be_sent_to_other_machines() -> None:
    given = settings({"consumer.fetch.min.bytes": 7})
    again = pickle.loads(pickle.dumps(given))
    assert again.consumer() == given.consumer()
    assert again.spark() == given.spark()


def test_secrets_are_not_shown() -> None:
    given = settings(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ann",
            "sasl.password": "hunter2",
            "producer.sasl.password": "hunter3",
        }
    )
    assert "hunter" not in repr(given)
    assert "'producer.sasl.password': '****'" in repr(given)
    assert "ann" in repr(given)


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        (None, AutoOffsetReset.earliest()),
        ("earliest", AutoOffsetReset.earliest()),
        ("latest", AutoOffsetReset.latest()),
        ("none", AutoOffsetReset.none()),
        ("by_duration:PT1H", AutoOffsetReset.by_duration(timedelta(hours=1))),
    ],
)
def test_offset_resets(text: str | None, policy: AutoOffsetReset) -> None:
    given = settings({} if text is None else {"consumer.auto.offset.reset": text})
    assert given.offset_reset() == policy
    # Neither client is told: we say ourselves where to begin.
    assert given.consumer()["auto.offset.reset"] == "error"
    assert "kafka.auto.offset.reset" not in given.spark()


@pytest.mark.parametrize(
    "text", ["first", "by_duration", "by_duration:1h", "by_duration:-PT1H", "latest:PT1H"]
)
def test_wrong_offset_resets(text: str) -> None:
    with pytest.raises((ConfigError, ValueError), match=r"offset"):
        settings({"auto.offset.reset": text})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT20.345S", 20.345),
        ("PT15M", 900),
        ("PT10H", 36000),
        ("P2D", 172800),
        ("P2DT3H4M", 183840),
        ("PT-6H+3M", -21420),
        ("-PT6H", -21600),
        ("-PT-6H+3M", 21420),
        ("pt1s", 1),
        ("P", None),
        ("PT", None),
        ("P1DT", None),
        ("1H", None),
        ("", None),
    ],
)
def test_durations_are_read_as_java_reads_them(text: str, seconds: float | None) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert iso_duration(text) == expected


@pytest.mark.parametrize(("partitions", "megabytes"), [(1, 8), (16, 8), (64, 2), (1000, 1)])
def test_the_more_partitions_the_less_is_fetched_of_each(partitions: int, megabytes: int) -> None:
    found = settings({}).java(partitions)["max.partition.fetch.bytes"]
    assert int(found) == megabytes * 1024 * 1024
    given = settings({"max.partition.fetch.bytes": 5000}).java(partitions)
    assert given["max.partition.fetch.bytes"] == "5000"
