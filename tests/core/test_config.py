from __future__ import annotations

import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import handlers, serdes, timestamps
from headrace.core import settings
from headrace.core.config import StreamsConfig
from headrace.core.errors import ConfigError
from headrace.core.setting_checks import OPTIMIZATIONS
from headrace.core.settings import NO_EFFECT, RENAMED, SETTINGS


def test_defaults() -> None:
    config = StreamsConfig()
    assert config["statestore.cache.max.bytes"] == 10 * 1024 * 1024
    assert config["max.task.idle.ms"] == 0
    assert config["max.batch.records"] == 500_000
    assert config["commit.interval.ms"] == 100
    assert config["num.stream.threads"] is None
    assert config.application_id == "app"
    assert len(config) == len(SETTINGS)
    assert set(config) == set(SETTINGS)


def test_every_default_passes_its_own_check() -> None:
    assert dict(StreamsConfig(dict(StreamsConfig()))) == dict(StreamsConfig())


def test_every_setting_is_documented() -> None:
    assert [key for key, setting in SETTINGS.items() if not setting.doc.endswith(".")] == []
    assert all(reason.endswith(".") for reason in NO_EFFECT.values())
    assert set(RENAMED.values()) <= set(SETTINGS)
    assert not set(NO_EFFECT) & set(SETTINGS)


def test_every_setting_is_read_somewhere() -> None:
    package = Path(settings.__file__).parents[1]
    code = "".join(
        path.read_text() for path in package.rglob("*.py") if path != Path(settings.__file__)
    )
    assert [key for key in SETTINGS if f'"{key}"' not in code] == []


def test_given_settings_are_told_from_defaults() -> None:
    config = StreamsConfig({"max.task.idle.ms": 0})
    assert config.is_given("max.task.idle.ms")
    assert not config.is_given("application.id")
    assert config.given() == {"max.task.idle.ms": 0}
    assert StreamsConfig(config).given() == {"max.task.idle.ms": 0}


def test_settings_that_must_be_given() -> None:
    config = StreamsConfig({"application.id": "shop"})
    config.require("application.id")
    with pytest.raises(ConfigError, match=r"bootstrap_servers=… .*HEADRACE_BOOTSTRAP_SERVERS"):
        config.require("application.id", "bootstrap.servers")


def test_unknown_setting_suggests_the_close_one() -> None:
    with pytest.raises(ConfigError, match=r"'max\.task\.idle\.m'.*mean 'max\.task\.idle\.ms'"):
        StreamsConfig({"max.task.idle.m": 5})
    with pytest.raises(ConfigError, match=r"Unknown setting 'zzz'\.$"):
        StreamsConfig({"zzz": 5})


@pytest.mark.parametrize("given", ["application.id=shop", 7, ["application.id"]])
def test_settings_must_be_a_mapping_of_text(given: Any) -> None:
    with pytest.raises(ConfigError, match="dict of names and values"):
        StreamsConfig(given)
    with pytest.raises(ConfigError, match="dict of names and values"):
        StreamsConfig.load(given, environ={})


def test_the_names_of_settings_must_be_text() -> None:
    wrong: Any = {5: "x"}
    with pytest.raises(ConfigError, match="names of settings are text, not 5"):
        StreamsConfig(wrong)


def test_text_is_read_as_the_type_of_the_setting() -> None:
    config = StreamsConfig(
        {"max.task.idle.ms": "250", "ensure.explicit.internal.resource.naming": "TRUE"}
    )
    assert config["max.task.idle.ms"] == 250
    assert config["ensure.explicit.internal.resource.naming"] is True


def test_python_values_are_read_as_the_type_of_the_setting() -> None:
    config = StreamsConfig(
        {
            "commit.interval.ms": timedelta(seconds=2),
            "windowstore.changelog.additional.retention.ms": timedelta(days=1),
            "bootstrap.servers": ["a:9092", "b:9092"],
            "topology.optimization": ("merge.repartition.topics",),
            "state.dir": Path("/var/lib/shop"),
        }
    )
    assert config["commit.interval.ms"] == 2000
    assert config["windowstore.changelog.additional.retention.ms"] == 86_400_000
    assert config["bootstrap.servers"] == "a:9092,b:9092"
    assert config.optimizations == {"merge.repartition.topics"}
    assert config["state.dir"] == "/var/lib/shop"


def test_words_may_be_written_as_kafka_writes_them() -> None:
    config = StreamsConfig(
        {
            "security.protocol": "sasl_ssl",
            "dsl.store.format": "HEADERS",
            "dsl.store.suppliers.class": "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers"
            "$InMemoryDslStoreSuppliers",
        }
    )
    assert config["security.protocol"] == "SASL_SSL"
    assert config["dsl.store.format"] == "headers"
    assert config["dsl.store.suppliers.class"] == "in_memory"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("max.task.idle.ms", "soon", "whole number"),
        ("max.task.idle.ms", 1.5, "type int or timedelta"),
        ("max.task.idle.ms", True, "type int"),
        ("max.batch.records", timedelta(seconds=1), "type int,"),
        ("max.batch.records", 0, "at least 1"),
        ("statestore.cache.max.bytes", -1, "at least 0"),
        ("ensure.explicit.internal.resource.naming", "maybe", "type bool"),
        ("processing.guarantee", "exactly_once", "one of"),
        ("topology.optimization", "bogus", "must be 'none', 'all'"),
        ("topology.optimization", 3, "type list"),
        ("application.id", 7, "type str"),
        ("application.id", "my shop", "letters, digits"),
        ("application.id", "", "letters, digits"),
        ("bootstrap.servers", "localhost", "host:port"),
        ("bootstrap.servers", "localhost:9092,", "host:port"),
        ("bootstrap.servers", "localhost:90920", "host:port"),
        ("replication.factor", 0, "positive"),
        ("num.stream.threads", 0, "at least 1"),
        ("security.protocol", "TLS", "one of"),
        ("default.key.serde", 5, "must be a serde"),
        ("default.key.serde", serdes.string, r"must be a serde, such as serdes.string\(\)"),
        ("processing.exception.handler", 5, "must be a function"),
        ("default.key.serde", "text", "must be a serde.*'module:attribute' or string or json"),
        ("__step.observer__", "observe", "must be 'module:function', but"),
        ("default.key.serde", "observe:", "must be 'module:attribute', but"),
        ("default.key.serde", "no_such_module:serde", "no module 'no_such_module'"),
        ("default.key.serde", "headrace.serdes:strong", "has no 'strong'"),
    ],
)
def test_wrong_values_say_what_is_allowed(key: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        StreamsConfig({key: value})
    assert key in str(caught.value)
    assert repr(value) in str(caught.value)


def test_a_reference_to_a_module_that_fails_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_for_test.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="raised ZeroDivisionError: division by zero") as caught:
        StreamsConfig({"default.key.serde": "broken_for_test:serde"})
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("server", ["localhost:9092", "[::1]:9092", "SSL://kafka.example:443"])
def test_addresses_of_servers(server: str) -> None:
    assert StreamsConfig({"bootstrap.servers": server})["bootstrap.servers"] == server


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("none", frozenset()),
        ("all", frozenset(OPTIMIZATIONS)),
        (
            "merge.repartition.topics, single.store.self.join",
            frozenset({"merge.repartition.topics", "single.store.self.join"}),
        ),
    ],
)
def test_optimizations(value: str, expected: frozenset[str]) -> None:
    assert StreamsConfig({"topology.optimization": value}).optimizations == expected


@pytest.mark.parametrize(
    "name",
    [
        "long",
        "headrace.serdes:long",
        "LongSerde",
        "org.apache.kafka.common.serialization.Serdes$LongSerde",
        "org.apache.kafka.common.serialization.Serdes.LongSerde",
    ],
)
def test_serdes_by_name(name: str) -> None:
    serde = StreamsConfig({"default.value.serde": name})["default.value.serde"]
    assert serde.serialize(1) == serdes.long().serialize(1)


def test_functions_by_name() -> None:
    config = StreamsConfig(
        {
            "deserialization.exception.handler": "log_and_continue",
            "processing.exception.handler": "org.apache.kafka.streams.errors."
            "LogAndContinueProcessingExceptionHandler",
            "default.production.exception.handler": "headrace:handlers.log_and_continue",
            "default.timestamp.extractor": "WallclockTimestampExtractor",
        }
    )
    assert config["deserialization.exception.handler"] is handlers.log_and_continue
    assert config["processing.exception.handler"] is handlers.log_and_continue
    assert config["production.exception.handler"] is handlers.log_and_continue
    assert config["default.timestamp.extractor"] is timestamps.wall_clock


def test_every_name_of_a_value_means_something() -> None:
    for setting in SETTINGS.values():
        for name in setting.names:
            StreamsConfig({setting.key: name})


def test_deprecated_names_mean_the_new_ones() -> None:
    config = StreamsConfig({"cache.max.bytes.buffering": 5, "default.dsl.store": "rocksDB"})
    assert config["statestore.cache.max.bytes"] == 5
    assert config["dsl.store.suppliers.class"] == "persistent"
    assert config.is_given("statestore.cache.max.bytes")
    both = {"cache.max.bytes.buffering": 5, "statestore.cache.max.bytes": 7}
    assert StreamsConfig(both)["statestore.cache.max.bytes"] == 7


def test_settings_of_java_that_do_nothing_are_accepted_and_listed() -> None:
    config = StreamsConfig(
        {
            "poll.ms": 5,
            "client.tag.zone": "eu",
            "consumer.session.timeout.ms": 1,
            "group.protocol": "streams",
            "application.id": "shop",
        }
    )
    idle = config.without_effect()
    assert sorted(idle) == [
        "client.tag.zone",
        "consumer.session.timeout.ms",
        "group.protocol",
        "poll.ms",
    ]
    assert idle["poll.ms"] == "Spark polls."


def test_a_configuration_can_be_pickled() -> None:
    config = StreamsConfig({"application.id": "shop", "consumer.fetch.min.bytes": 7})
    again = pickle.loads(pickle.dumps(config))
    assert again == config
    assert again.given() == config.given()
