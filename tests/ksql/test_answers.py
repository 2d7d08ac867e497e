"""SHOW, DESCRIBE, EXPLAIN, and what the server says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.ksql.errors import KsqlError

from .servers import CLICKS, COUNTS, TestServer


@pytest.fixture
def made(server: TestServer) -> TestServer:
    server.run(CLICKS + COUNTS)
    return server


def one(server: TestServer, sql: str) -> dict[str, Any]:
    (entity,) = server.run(sql)
    assert entity["statementText"] == sql
    assert entity["warnings"] == []
    return entity


def test_streams_and_tables(made: TestServer) -> None:
    assert one(made, "LIST STREAMS;")["streams"] == [
        {
            "type": "STREAM",
            "name": "CLICKS",
            "topic": "clicks",
            "keyFormat": "KAFKA",
            "valueFormat": "JSON",
            "isWindowed": False,
        }
    ]
    assert [table["name"] for table in one(made, "SHOW TABLES;")["tables"]] == ["COUNTS"]
    extended = one(made, "SHOW TABLES EXTENDED;")
    assert extended["@type"] == "source_descriptions"
    assert extended["sourceDescriptions"][0]["partitions"] == 2
    described = one(made, "DESCRIBE STREAMS;")["sourceDescriptions"]
    assert [source["name"] for source in described] == ["CLICKS"]


def test_a_source_is_described(made: TestServer) -> None:
    described = one(made, "DESCRIBE clicks;")["sourceDescription"]
    assert described["fields"] == [
        {
            "name": "NAME",
            "schema": {"type": "STRING", "fields": None, "memberSchema": None},
            "type": "KEY",
        },
        {"name": "PAGE", "schema": {"type": "INTEGER", "fields": None, "memberSchema": None}},
    ]
    assert [query["id"] for query in described["readQueries"]] == ["CTAS_COUNTS_1"]
    assert described["writeQueries"] == []
    assert described["sourceConstraints"] == ["COUNTS"]
    assert (described["partitions"], described["extended"]) == (0, False)
    assert described["statement"] == CLICKS

    extended = one(made, "DESCRIBE clicks EXTENDED;")["sourceDescription"]
    assert (extended["partitions"], extended["replication"]) == (2, 1)
    (summary,) = extended["queryOffsetSummaries"]
    assert summary["groupId"] == "_confluent-ksql-default_query_CTAS_COUNTS_1"
    assert len(summary["topicSummaries"][0]["offsets"]) == 2


def test_types_are_described(server: TestServer) -> None:
    server.run(
        "CREATE TYPE address AS STRUCT<street STRING, at ARRAY<DECIMAL(4, 1)>>;"
        "CREATE STREAM s (h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, w BYTES HEADER('w'), "
        "a address, m MAP<STRING, DOUBLE>) "
        "WITH (kafka_topic='s', partitions=1, value_format='JSON');"
    )
    a, m, h, w = one(server, "DESCRIBE s;")["sourceDescription"]["fields"]
    assert a["schema"]["type"] == "STRUCT"
    assert a["schema"]["fields"][1] == {
        "name": "AT",
        "schema": {
            "type": "ARRAY",
            "fields": None,
            "memberSchema": {
                "type": "DECIMAL",
                "fields": None,
                "memberSchema": None,
                "parameters": {"precision": 4, "scale": 1},
            },
        },
    }
    assert m["schema"]["memberSchema"]["type"] == "DOUBLE"
    assert (h["type"], w["type"], w["headerKey"]) == ("HEADER", "HEADER", "w")
    assert one(server, "SHOW TYPES;")["types"]["ADDRESS"] == a["schema"]


def test_what_there_is_not(server: TestServer) -> None:
    assert "Could not find STREAM/TABLE 'X'" in server.refused("DESCRIBE x;").message
    assert "Can't find any functions" in server.refused("DESCRIBE FUNCTION x;").message
    assert "Query with id:X does not exist" in server.refused("EXPLAIN x;").message


def test_queries_are_explained(made: TestServer) -> None:
    explained = one(made, "EXPLAIN CTAS_COUNTS_1;")["queryDescription"]
    assert (explained["state"], explained["sinks"]) == ("RUNNING", ["COUNTS"])
    assert "Sub-topology: 0" in explained["topology"]
    assert explained["ksqlHostQueryStatus"] == {"localhost:8088": "RUNNING"}
    (listed,) = one(made, "SHOW QUERIES EXTENDED;")["queryDescriptions"]
    assert listed == explained


@pytest.mark.parametrize(
    ("sql", "kind", "fields"),
    [
        ("SELECT page FROM clicks EMIT CHANGES;", "PUSH", ["PAGE"]),
        ("SELECT * FROM counts;", "PULL", ["NAME", "N"]),
        ("CREATE STREAM x AS SELECT * FROM clicks;", "PERSISTENT", ["NAME", "PAGE"]),
    ],
)
def test_statements_are_explained_and_leave_no_trace(
    made: TestServer, sql: str, kind: str, fields: list[str]
) -> None:
    explained = one(made, f"EXPLAIN {sql}")["queryDescription"]
    assert explained["queryType"] == kind
    assert [field["name"] for field in explained["fields"]] == fields
    assert len(one(made, "SHOW STREAMS;")["streams"]) == 1
    assert made.cluster.topics.find("X") is None
    assert made.log.end() == 2


def test_what_runs_no_query_is_not_explained(made: TestServer) -> None:
    assert "does not run a ksql query" in made.refused("EXPLAIN DROP TABLE counts;").message


def test_topics(made: TestServer) -> None:
    assert one(made, "SHOW TOPICS;")["topics"] == [
        {"name": "COUNTS", "replicaInfo": [1, 1]},
        {"name": "clicks", "replicaInfo": [1, 1]},
    ]
    extended = one(made, "SHOW ALL TOPICS EXTENDED;")
    assert extended["@type"] == "kafka_topics_extended"
    assert [topic["consumerCount"] for topic in extended["topics"]] == [0, 1]


def test_functions(server: TestServer) -> None:
    functions = one(server, "SHOW FUNCTIONS;")["functions"]
    assert {"name": "ABS", "type": "SCALAR", "category": "MATHEMATICAL"} in functions
    assert {"AGGREGATE", "SCALAR", "TABLE"} == {function["type"] for function in functions}
    described = one(server, "DESCRIBE FUNCTION abs;")
    assert described["name"] == "ABS"
    assert described["functions"][0]["argumentTypes"] == ["INT"]


def test_properties() -> None:
    server = TestServer(settings={"ksql.streams.sasl.password": "very secret"})
    try:
        (entity,) = server.run("SHOW PROPERTIES;", auto_offset_reset="latest")
    finally:
        server.close()
    shown = {each["name"]: each for each in entity["properties"]}
    assert shown["auto.offset.reset"] == {
        "name": "auto.offset.reset",
        "scope": "KAFKA STREAMS",
        "value": "latest",
        "editable": True,
        "level": "SESSION",
    }
    assert not shown["ksql.service.id"]["editable"]
    assert entity["overwrittenProperties"] == ["auto.offset.reset"]
    assert "very secret" not in str(entity)


def test_the_server_tells_of_itself(made: TestServer) -> None:
    server = made.server
    info = server.info()
    assert (info.cluster_id, info.service_id, info.status) == ("in-memory", "default_", "RUNNING")
    assert server.health()["isHealthy"] is True
    (host,) = server.cluster_status()["clusterStatus"].values()
    assert host["hostAlive"] is True
    assert list(host["activeStandbyPerQuery"]) == ["CTAS_COUNTS_1"]
    server.check_property("auto.offset.reset")
    server.check_property("ksql.streams.auto.offset.reset")


def test_a_closed_server_answers_no_more(server: TestServer) -> None:
    server.close()
    with pytest.raises(KsqlError, match="shutting down") as caught:
        server.run("SHOW STREAMS;")
    assert caught.value.status == 503
