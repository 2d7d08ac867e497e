"""Rows and Confluent's own serializers read each other's data."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory

from headrace.kafka.schema_registry import HttpSchemaRegistry
from headrace.sql.formats import row_serde
from headrace.sql.formats.proto_schema import message_descriptor
from tests.kafka.test_schema_registry import registry as registry  # a fixture
from tests.sql.formats.rows import values_of

VALUE = SerializationContext("t", MessageField.VALUE)
NEW_YEAR = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
NEW_YEAR_MS = 1_577_836_800_000


@pytest.fixture
def client(registry: HttpSchemaRegistry) -> Any:
    with SchemaRegistryClient({"url": registry.url}) as client:
        yield client


def test_rows_of_avro_records(registry: HttpSchemaRegistry, client: Any) -> None:
    fields = {
        "a": "int",
        "b": ["null", "string"],
        "d": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
        "ts": {"type": "long", "logicalType": "timestamp-millis"},
        "m": {"type": "map", "values": "long"},
    }
    schema = {
        "type": "record",
        "name": "R",
        "namespace": "n",
        "fields": [{"name": name, "type": type} for name, type in fields.items()],
    }
    record = {"a": 1, "b": "x", "d": Decimal("1.10"), "ts": NEW_YEAR, "m": {"k": 5}}
    data = AvroSerializer(client, json.dumps(schema))(record, VALUE)
    rows = values_of("AVRO", "A INT, B STRING, D DECIMAL(5,2), TS TIMESTAMP, M MAP<STRING, BIGINT>")
    assert row_serde(rows, "t", registry).deserialize(data) == (
        1,
        "x",
        Decimal("1.10"),
        NEW_YEAR_MS,
        {"k": 5},
    )


def test_avro_records_of_rows(registry: HttpSchemaRegistry, client: Any) -> None:
    rows = values_of("AVRO", "A INT, D DECIMAL(5,2), TS TIMESTAMP, DT DATE, M MAP<STRING, INT>")
    data = row_serde(rows, "t", registry).serialize(
        (1, Decimal("-2.50"), NEW_YEAR_MS, 18262, {"k": None})
    )
    assert AvroDeserializer(client)(data, VALUE) == {
        "A": 1,
        "D": Decimal("-2.50"),
        "TS": NEW_YEAR,
        "DT": NEW_YEAR.date(),
        "M": [{"key": "k", "value": None}],
    }


def test_json(registry: HttpSchemaRegistry, client: Any) -> None:
    serde = row_serde(values_of("JSON_SR", "A INT, D DECIMAL(5,2), S STRING"), "t", registry)
    data = serde.serialize((1, Decimal("2.50"), None))
    latest = registry.latest("t-value")
    assert latest is not None
    read = JSONDeserializer(latest.schema.text, schema_registry_client=client)
    assert read(data, VALUE) == {"A": 1, "D": 2.5, "S": None}
    write = JSONSerializer(latest.schema.text, client)
    assert serde.deserialize(write({"A": 2, "D": 1.25, "S": "x"}, VALUE)) == (
        2,
        Decimal("1.25"),
        "x",
    )


def test_protobuf_messages_of_rows(registry: HttpSchemaRegistry, client: Any) -> None:
    serde = row_serde(values_of("PROTOBUF", "A INT, M MAP<STRING, BIGINT>"), "t", registry)
    data = serde.serialize((1, {"k": 5}))
    latest = registry.latest("t-value")
    assert latest is not None
    descriptor = message_descriptor(latest.schema, registry, None)
    message_class = message_factory.GetMessageClass(descriptor)
    read = ProtobufDeserializer(message_class, {"use.deprecated.format": False})
    message = read(data, VALUE)
    assert (message.A, dict(message.M)) == (1, {"k": 5})
