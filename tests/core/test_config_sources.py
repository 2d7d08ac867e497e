"""Settings from files, the environment and keywords."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headrace import handlers
from headrace.core.config import StreamsConfig
from headrace.core.errors import ConfigError

PROPERTIES = r"""
# the shop
! also a comment
application.id=shop
bootstrap.servers : a:9092,\
                    b:9092
commit.interval.ms 250
consumer.fetch.min.bytes = 7
sasl.jaas.config=org.apache.kafka.PlainLoginModule required username\="ann" \u0070assword="p\\w";
client.id=
default.key.serde = string
"""


def file(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_properties(tmp_path: Path) -> None:
    config = StreamsConfig.load(file=file(tmp_path, "shop.properties", PROPERTIES), environ={})
    given = config.given()
    assert given.pop("default.key.serde").serialize("x") == b"x"
    assert given == {
        "application.id": "shop",
        "bootstrap.servers": "a:9092,b:9092",
        "commit.interval.ms": 250,
        "consumer.fetch.min.bytes": "7",
        "sasl.jaas.config": 'org.apache.kafka.PlainLoginModule required username="ann" '
        'password="p\\w";',
        "client.id": "",
    }


def test_toml_in_all_its_ways(tmp_path: Path) -> None:
    text = """
        application.id = "shop"
        "bootstrap.servers" = ["a:1", "b:2"]
        [consumer]
        fetch.min.bytes = 7
        [commit.interval]
        ms = 250
        [spark.sql]
        "shuffle.partitions" = 3
        [ensure.explicit.internal.resource]
        naming = true
    """
    config = StreamsConfig.load(file=file(tmp_path, "shop.toml", text), environ={})
    assert config.given() == {
        "application.id": "shop",
        "bootstrap.servers": "a:1,b:2",
        "consumer.fetch.min.bytes": 7,
        "commit.interval.ms": 250,
        "spark.sql.shuffle.partitions": 3,
        "ensure.explicit.internal.resource.naming": True,
    }
    assert config.spark_settings() == {"spark.sql.shuffle.partitions": "3"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("shop.yaml", "", r"in \.properties or \.toml"),
        ("shop.toml", "application.id = 'x", "isn't TOML"),
        ("shop.toml", "max.batch.records = 0", r"at least 1.*comes from .*shop\.toml\.\)$"),
        ("shop.properties", "\n\nmax.batch.records=x", r"whole number.*shop\.properties, line 3"),
        ("shop.properties", "aplication.id=x", r"mean 'application\.id'.*properties, line 1"),
    ],
)
def test_wrong_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        StreamsConfig.load(file=file(tmp_path, name, text), environ={})


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"can't be read: .*No such file"):
        StreamsConfig.load(file=tmp_path / "shop.toml", environ={})


def test_variables() -> None:
    environ = {
        "HEADRACE_APPLICATION_ID": "shop",
        "HEADRACE_COMMIT_INTERVAL_MS": "250",
        "HEADRACE_CONSUMER_FETCH_MIN_BYTES": "7",
        "HEADRACE_RESTORE_CONSUMER_FETCH_MIN_BYTES": "8",
        "HEADRACE_SASL_PASSWORD": "pw",
        "HEADRACE_PRODUCER_CLIENT_ID": "p",
        "HEADRACE_TOPIC_RETENTION_MS": "-1",
        "HEADRACE_RACK_AWARE_ASSIGNMENT_TRAFFIC_COST": "1",
        "HEADRACE_CACHE_MAX_BYTES_BUFFERING": "9",
        "HEADRACE_SPARK_SQL_SHUFFLE_PARTITIONS": "3",
        "HEADRACE_CACHE": "/var/cache",
        "PATH": "/bin",
    }
    assert StreamsConfig.load(environ=environ).given() == {
        "application.id": "shop",
        "commit.interval.ms": 250,
        "consumer.fetch.min.bytes": "7",
        "restore.consumer.fetch.min.bytes": "8",
        "sasl.password": "pw",
        "producer.client.id": "p",
        "topic.retention.ms": "-1",
        "rack.aware.assignment.traffic_cost": "1",
        "statestore.cache.max.bytes": 9,
        "spark.sql.shuffle.partitions": "3",
    }


def test_unknown_variables_are_only_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headrace.config"):
        config = StreamsConfig.load(environ={"HEADRACE_PORT": "tcp://10.0.0.1:80"})
    assert config.given() == {}
    assert "HEADRACE_PORT is no setting" in caplog.text


def test_settings_without_effect_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headrace.config"):
        StreamsConfig.load({"poll.ms": 5}, environ={})
    assert "poll.ms has no effect: Spark polls." in caplog.text


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_APPLICATION_ID", "shop")
    assert StreamsConfig.load().application_id == "shop"
    assert StreamsConfig().application_id == "app"


def test_what_goes_before_what(tmp_path: Path) -> None:
    keys = ("task.timeout.ms", "commit.interval.ms", "max.task.idle.ms", "max.batch.records")
    path = file(tmp_path, "all.properties", "\n".join(f"{key}=1" for key in keys))
    config = StreamsConfig.load(
        {"max.task.idle.ms": 3, "max.batch.records": 3},
        file=path,
        environ={
            "HEADRACE_COMMIT_INTERVAL_MS": "2",
            "HEADRACE_MAX_TASK_IDLE_MS": "2",
            "HEADRACE_MAX_BATCH_RECORDS": "2",
        },
        max_batch_records=4,
    )
    assert [config[key] for key in keys] == [1, 2, 3, 4]
    assert [config.origin(key) for key in keys] == [
        f"{path}, line 1",
        "the variable HEADRACE_COMMIT_INTERVAL_MS",
        "the settings that were passed",
        "the keyword max_batch_records",
    ]


def test_a_configuration_can_be_the_mapping() -> None:
    config = StreamsConfig.load(StreamsConfig({"application.id": "shop"}), environ={})
    assert config.given() == {"application.id": "shop"}


def test_an_error_says_where_the_value_came_from() -> None:
    with pytest.raises(ConfigError, match=r"from the variable HEADRACE_MAX_BATCH_RECORDS\.\)"):
        StreamsConfig.load(environ={"HEADRACE_MAX_BATCH_RECORDS": "many"})
    with pytest.raises(ConfigError, match=r"from the keyword comit_interval_ms\.\)"):
        StreamsConfig.load(environ={}, comit_interval_ms=5)
    with pytest.raises(ConfigError, match=r"whole number.*the variable HEADRACE_CACHE_MAX"):
        StreamsConfig.load(environ={"HEADRACE_CACHE_MAX_BYTES_BUFFERING": "x"})


def test_objects_as_keywords() -> None:
    config = StreamsConfig.load(
        environ={}, processing_exception_handler=handlers.log_and_continue, state_dir="/data"
    )
    assert config["processing.exception.handler"] is handlers.log_and_continue
    assert config["state.dir"] == "/data"
