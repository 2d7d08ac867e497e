"""Settings, and properties of WITH clauses."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.sql.errors import SqlError
from headrace.sql.metastore import TimestampColumn, WindowInfo, WindowKind
from headrace.sql.properties import CREATE, CREATE_AS, SourceProperties
from headrace.sql.settings import Settings
from headrace.sql.syntax.ast import CreateSource
from headrace.sql.syntax.parser import parse_one


def properties(text: str, known: frozenset[str] = CREATE) -> SourceProperties:
    statement = parse_one(f"CREATE STREAM s (a INT) WITH ({text});")
    assert isinstance(statement, CreateSource)
    return SourceProperties.read(statement.properties, known)


def test_properties() -> None:
    read = properties(
        "kafka_topic='t', partitions='3', wrap_single_value='FALSE', timestamp='`x`', "
        "timestamp_format='yyyy', window_type='hopping', window_size='10 minutes'"
    )
    assert read.text("KAFKA_TOPIC") == "t"
    assert read.number("PARTITIONS") == 3
    assert read.wrap_single_value is False
    assert read.timestamp == TimestampColumn("x", "yyyy")
    assert read.window == WindowInfo(WindowKind.HOPPING, 600_000)


def test_formats_are_inherited_with_their_delimiter() -> None:
    parent = properties("format='delimited', value_delimiter=';'").format("VALUE", None)
    assert properties("kafka_topic='t'").format("VALUE", parent).get("delimiter") == ";"
    assert properties("value_format='json'").format("VALUE", parent).get("delimiter") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("window_type='SESSION', window_size='1 DAY'", "should not be set for SESSION windows"),
        ("window_type='TUMBLING'", "TUMBLING windows require 'WINDOW_SIZE'"),
        ("window_type='TUMBLING', window_size='x'", "Invalid duration: 'x'"),
        ("window_type='x'", "String must be one of"),
        ("partitions=0", "Value must be at least 1"),
        ("partitions='x'", "Not a number"),
        ("kafka_topic='../x'", "Names of topics"),
        ("wrap_single_value='maybe'", "Expected value to be either true or false"),
        ("format='JSON', key_format='JSON'", "Cannot supply both 'KEY_FORMAT' and 'FORMAT'"),
        ("value_delimiter='ab'", "Configuration VALUE_DELIMITER is invalid"),
        ("query_id='x'", "Invalid config variable(s)"),
    ],
)
def test_properties_that_cant_be(text: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        print(properties(text).window)
    assert message in raised.value.message


def test_windows_are_not_for_results_of_queries() -> None:
    with pytest.raises(SqlError, match="Invalid config"):
        properties("window_type='SESSION'", CREATE_AS)


def test_a_session_goes_before_the_server() -> None:
    settings = Settings({"auto.offset.reset": "latest", "ksql.streams.acks": "all"})
    settings.override("auto.offset.reset", "earliest")
    assert settings["auto.offset.reset"] == "earliest"
    assert settings.over({"auto.offset.reset": "none"})["auto.offset.reset"] == "none"
    assert settings.streams()["acks"] == "all"
    settings.reset("auto.offset.reset")
    assert settings["auto.offset.reset"] == "latest"


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.servers",
        "ksql.streams.bootstrap.servers",
        "ksql.streams.deserialization.exception.handler",
        "ksql.service.id",
        "spark.jars",
        "ssl.keystore.location",
    ],
)
def test_sessions_cant_set_what_is_the_servers(name: str) -> None:
    settings = Settings({})
    with pytest.raises(SqlError, match="Not recognizable"):
        settings.override(name, "x")


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("False", False), (True, True), (None, False)]
)
def test_flags(value: Any, expected: bool) -> None:
    assert Settings({"ksql.x": value}).flag("ksql.x", True) is expected
