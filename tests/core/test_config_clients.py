"""Settings of Kafka's clients, of internal topics and of Spark."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace.core.client_settings import CLIENT_SETTINGS, NO_EFFECT, REFUSED
from headrace.core.config import StreamsConfig
from headrace.core.errors import ConfigError
from headrace.core.known_keys import is_secret
from headrace.core.settings import SETTINGS
from headrace.kafka.client_keys import LIBRDKAFKA_NAMES, LIBRDKAFKA_ONLY, SECURITY

SECRET = "hunter2"


def test_client_settings_are_given_as_java_writes_them() -> None:
    config = StreamsConfig(
        {
            "bootstrap.servers": ["a:1", "b:2"],
            "security.protocol": "ssl",
            "client.id": "shop",
            "request.timeout.ms": timedelta(seconds=5),
            "check.crcs": False,
            "ssl.enabled.protocols": ["TLSv1.2", "TLSv1.3"],
            "consumer.fetch.min.bytes": 10,
            "restore.consumer.fetch.min.bytes": 20,
            "producer.linger.ms": 0,
            "admin.client.id": "shop-admin",
            "topic.retention.ms": -1,
            "spark.master": "local[2]",
            "commit.interval.ms": 50,
            "session.timeout.ms": 1,
        }
    )
    assert config.client_settings() == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SSL",
        "client.id": "shop",
        "request.timeout.ms": "5000",
        "check.crcs": "false",
        "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    }
    assert config.client_settings("consumer") == {"fetch.min.bytes": "10"}
    assert config.client_settings("restore.consumer") == {"fetch.min.bytes": "20"}
    assert config.client_settings("main.consumer") == {}
    assert config.client_settings("producer") == {"linger.ms": "0"}
    assert config.client_settings("admin") == {"client.id": "shop-admin"}
    assert config.topic_settings() == {"retention.ms": "-1"}
    assert config.spark_settings() == {"spark.master": "local[2]"}


def test_nothing_is_passed_on_that_was_not_given() -> None:
    config = StreamsConfig()
    assert config.client_settings() == config.topic_settings() == config.spark_settings() == {}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("consumer.fetch.min.byte", r"Did you mean 'consumer\.fetch\.min\.bytes'"),
        ("producer.fetch.min.bytes", "fetch.min.bytes is a setting of the consumer"),
        ("restore.consumer.linger.ms", "linger.ms is a setting of the producer"),
        ("admin.retry.backof.ms", r"Did you mean 'admin\.retry\.backoff\.ms'"),
        ("sasl.mechansim", r"Did you mean 'sasl\.mechanism'"),
        ("topic.retention", r"Did you mean 'topic\.retention\.ms'"),
        ("consumer.commit.interval.ms", "Unknown setting"),
        ("producer.partitioner.class", "Give a sink a partitioner"),
        ("config.providers", "can't be set"),
    ],
)
def test_wrong_keys_of_clients(key: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        StreamsConfig({key: "x"})


def test_what_the_clients_translate_is_known_here() -> None:
    names = LIBRDKAFKA_NAMES.keys() | LIBRDKAFKA_ONLY | SECURITY
    assert names - (CLIENT_SETTINGS.keys() | SETTINGS.keys()) == set()
    assert not CLIENT_SETTINGS.keys() & (NO_EFFECT.keys() | REFUSED.keys() | SETTINGS.keys())


@pytest.mark.parametrize(
    "key",
    [
        "sasl.password",
        "sasl.jaas.config",
        "ssl.key.password",
        "ssl.keystore.key",
        "ssl.key.pem",
        "consumer.sasl.oauthbearer.client.secret",
        "admin.ssl.truststore.password",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.ssl.keyPassword",
    ],
)
def test_secrets_are_never_shown(key: str) -> None:
    config = StreamsConfig({key: SECRET, "application.id": "shop"})
    assert SECRET not in repr(config)
    assert SECRET not in str(config)
    assert SECRET not in str(config.shown())
    assert config.shown()[key] == "****"
    assert config[key] == SECRET


def test_what_is_no_secret_is_shown() -> None:
    assert [key for key in CLIENT_SETTINGS if is_secret(key)] == [
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.password",
        "sasl.jaas.config",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.client.secret",
        "sasl.password",
    ]
    assert [key for key in SETTINGS if is_secret(key)] == ["server.token"]
    assert not is_secret("sasl.oauthbearer.token.endpoint.url")
    assert not is_secret("ssl.key.location")
    config = StreamsConfig(
        {
            "application.id": "shop",
            "default.key.serde": "string",
            "processing.exception.handler": "log_and_continue",
            "sasl.username": "ann",
        }
    )
    assert repr(config) == (
        "StreamsConfig({'application.id': shop, 'default.key.serde': Serde, "
        "'processing.exception.handler': log_and_continue, 'sasl.username': ann})"
    )
    assert config.shown()["ensure.explicit.internal.resource.naming"] == "false"
    assert config.shown()["num.stream.threads"] == "None"
