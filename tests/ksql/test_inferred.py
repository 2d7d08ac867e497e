"""Columns that statements leave to the schema registry."""

from __future__ import annotations

import json

import pytest

from headrace.ksql.commands import InMemoryCommandLog
from headrace.sql.formats import SchemaText

from .servers import TestServer


def avro(*fields: str) -> SchemaText:
    columns = [{"name": name, "type": ["null", "int"], "default": None} for name in fields]
    return SchemaText("AVRO", json.dumps({"type": "record", "name": "R", "fields": columns}))


def fields(server: TestServer, name: str) -> list[str]:
    (entity,) = server.run(f"DESCRIBE {name};")
    return [field["name"] for field in entity["sourceDescription"]["fields"]]


@pytest.mark.parametrize("by_id", [False, True])
def test_a_replay_has_the_columns_of_then(server: TestServer, by_id: bool) -> None:
    registry = server.registry
    schema_id = registry.register("t-value", avro("A", "B"))
    extra = f", value_schema_id={schema_id}" if by_id else ""
    server.run(
        "CREATE STREAM s (k INT KEY) WITH (kafka_topic='t', partitions=1, value_format='AVRO', "
        f"key_format='KAFKA'{extra});"
    )
    assert fields(server, "s") == ["K", "A", "B"]
    registry.register("t-value", avro("A", "B", "C"))
    again = TestServer(server.cluster, server.log, registry=registry)
    try:
        assert fields(again, "s") == ["K", "A", "B"]
    finally:
        again.close()


def test_tables_and_keys(server: TestServer) -> None:
    server.registry.register("t-key", avro("I"))
    server.registry.register("t-value", avro("A"))
    server.run("CREATE TABLE t WITH (kafka_topic='t', partitions=1, format='AVRO');")
    assert isinstance(server.log, InMemoryCommandLog)
    ((_, command),) = server.log.read(0, 0)[0]
    assert "PRIMARY KEY" in command.statement
    found = fields(server, "t")
    again = TestServer(server.cluster, server.log)
    try:
        assert fields(again, "t") == found
    finally:
        again.close()
