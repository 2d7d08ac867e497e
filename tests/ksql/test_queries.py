"""Pull and push queries, PRINT, and rows from clients."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest

from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.requests import QueryRequest
from headrace.ksql.results import PrintResult, QueryKind

from .servers import CLICKS, COUNTS, TestServer

INSERTS = "".join(f"INSERT INTO clicks VALUES ('{name}', {i});" for i, name in enumerate("aabc"))


def test_a_table_is_pulled(server: TestServer) -> None:
    server.run(CLICKS + COUNTS + INSERTS)
    server.settle()

    result = server.select("SELECT * FROM counts;")
    assert result.kind is QueryKind.PULL
    assert result.query_id.startswith("query_")
    assert result.schema == "`NAME` STRING KEY, `N` BIGINT"
    assert sorted(row.values for row in result.rows) == [("a", 2), ("b", 1), ("c", 1)]
    assert result.rows.final_message is None
    assert server.rows("SELECT n FROM counts WHERE name = 'a';") == [(2,)]
    assert sorted(server.rows("SELECT name FROM counts WHERE name IN ('b', 'c', 'x');")) == [
        ("b",),
        ("c",),
    ]
    assert len(server.rows("SELECT * FROM counts LIMIT 2;")) == 2
    assert server.rows("SELECT name FROM counts WHERE n > 1;") == [("a",)]


def test_a_windowed_table_is_pulled(server: TestServer) -> None:
    server.run(CLICKS)
    server.run(
        "CREATE TABLE windowed AS SELECT name, COUNT(*) AS n FROM clicks "
        "WINDOW TUMBLING (SIZE 10 MILLISECONDS) GROUP BY name;"
        "INSERT INTO clicks (rowtime, name, page) VALUES (5, 'a', 1);"
        "INSERT INTO clicks (rowtime, name, page) VALUES (15, 'a', 1);"
    )
    server.settle()
    assert server.rows("SELECT * FROM windowed WHERE name = 'a';") == [
        ("a", 0, 10, 1),
        ("a", 10, 20, 1),
    ]
    assert server.rows("SELECT n FROM windowed WHERE name = 'a' AND windowstart = 10;") == [(1,)]


def test_a_stream_is_pulled_to_where_it_ends(server: TestServer) -> None:
    server.run(CLICKS + INSERTS)
    result = server.select("SELECT name, page FROM clicks WHERE page > 0;")
    assert result.kind is QueryKind.STREAM_PULL
    assert sorted(row.values for row in result.rows) == [("a", 1), ("b", 2), ("c", 3)]
    assert result.rows.final_message == "Query Completed"
    limited = server.select("SELECT * FROM clicks LIMIT 1;")
    assert len(list(limited.rows)) == 1
    assert limited.rows.final_message == "Limit Reached"


def test_a_table_without_a_store_can_not_be_pulled(server: TestServer) -> None:
    server.run(
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) "
        "WITH (kafka_topic='t', partitions=1, value_format='JSON');"
    )
    with pytest.raises(KsqlError, match="isn't queryable") as caught:
        server.select("SELECT * FROM t;")
    assert caught.value.code is ErrorCode.BAD_STATEMENT
    assert caught.value.message.endswith("\nStatement: SELECT * FROM t;")


def test_changes_are_pushed(server: TestServer) -> None:
    server.run(CLICKS + COUNTS)
    latest = {"auto.offset.reset": "latest"}
    server.run("INSERT INTO clicks VALUES ('z', 1);")
    server.settle()

    result = server.select("SELECT * FROM counts EMIT CHANGES LIMIT 2;", latest)
    server.run("INSERT INTO clicks VALUES ('a', 1); INSERT INTO clicks VALUES ('a', 1);")
    assert result.kind is QueryKind.PUSH
    assert result.query_id.startswith("transient_COUNTS_")
    assert result.schema == "`NAME` STRING, `N` BIGINT"
    assert [row.values for row in result.rows] == [("a", 1), ("a", 2)]
    assert result.rows.final_message == "Limit Reached"


def test_aggregates_and_joins_are_pushed(server: TestServer) -> None:
    server.run(
        CLICKS + INSERTS + "CREATE TABLE users (name STRING PRIMARY KEY, age INT) "
        "WITH (kafka_topic='users', partitions=2, value_format='JSON');"
        "INSERT INTO users VALUES ('b', 40);"
    )
    counted = server.rows(
        "SELECT name, COUNT(*) AS n FROM clicks GROUP BY name EMIT CHANGES LIMIT 4;"
    )
    assert sorted(counted) == [("a", 1), ("a", 2), ("b", 1), ("c", 1)]
    server.run("INSERT INTO clicks VALUES ('b', 9);")
    joined = server.rows(
        "SELECT c.name, c.page, u.age FROM clicks c JOIN users u ON c.name = u.name "
        "WHERE c.page = 9 EMIT CHANGES LIMIT 1;"
    )
    assert joined == [("b", 9, 40)]


def test_deleted_rows_are_tombstones(server: TestServer) -> None:
    server.run(CLICKS + INSERTS)
    result = server.select(
        "SELECT name, COUNT(*) AS n FROM clicks GROUP BY name HAVING COUNT(*) < 2 "
        "EMIT CHANGES LIMIT 4;"
    )
    rows = list(result.rows)
    assert [row for row in rows if row.tombstone] == [(("a", None), True)]


def test_a_push_query_is_closed_by_its_id(server: TestServer) -> None:
    server.run(CLICKS + INSERTS)
    result = server.select("SELECT * FROM clicks EMIT CHANGES;")
    assert result.rows.wait(5)
    assert any(
        query["id"] == result.query_id and query["queryType"] == "PUSH"
        for query in server.run("SHOW QUERIES;")[0]["queries"]
    )
    server.server.close_query(result.query_id)
    list(result.rows)
    assert result.rows.final_message == "Query Completed"
    with pytest.raises(KsqlError, match=f"No query with id {result.query_id}"):
        server.server.close_query(result.query_id)


def test_a_push_query_is_terminated(server: TestServer) -> None:
    server.run(CLICKS)
    result = server.select("SELECT * FROM clicks EMIT CHANGES;")
    (entity,) = server.run(f"TERMINATE {result.query_id};")
    assert (entity["@type"], entity["queryId"], entity["wasTerminated"]) == (
        "terminate_query",
        result.query_id,
        True,
    )
    assert list(result.rows) == []


def test_a_push_query_ends_with_its_reader(server: TestServer) -> None:
    server.run(CLICKS)
    result = server.select("SELECT * FROM clicks EMIT CHANGES;")
    result.rows.close()
    assert server.run("SHOW QUERIES;")[0]["queries"] == []


def test_there_are_not_too_many_push_queries() -> None:
    server = TestServer(settings={"ksql.max.push.queries": 1})
    try:
        server.run(CLICKS)
        first = server.select("SELECT * FROM clicks EMIT CHANGES;")
        with pytest.raises(KsqlError) as caught:
            server.select("SELECT * FROM clicks EMIT CHANGES;")
        assert caught.value.code is ErrorCode.MAX_PUSH_QUERIES_EXCEEDED
        first.rows.close()
        server.select("SELECT * FROM clicks EMIT CHANGES;").rows.close()
    finally:
        server.close()


def test_scalable_push_queries(server: TestServer) -> None:
    server.run(CLICKS + "CREATE STREAM copy AS SELECT * FROM clicks;")
    scalable = {"auto.offset.reset": "latest", "ksql.query.push.v2.enabled": "true"}
    result = server.select("SELECT page FROM copy EMIT CHANGES LIMIT 1;", scalable)
    server.run(INSERTS)
    assert result.kind is QueryKind.SCALABLE_PUSH
    assert result.query_id.startswith("SCALABLE_PUSH_QUERY_")
    assert len(list(result.rows)) == 1
    other = server.select("SELECT page FROM clicks EMIT CHANGES LIMIT 0;", scalable)
    assert other.kind is QueryKind.PUSH


def printed(server: TestServer, sql: str) -> list[str]:
    result = server.server.query(QueryRequest(sql))
    assert isinstance(result, PrintResult)
    return [line.text for line in result.lines]


def test_a_topic_is_printed(server: TestServer) -> None:
    server.run(
        CLICKS + "INSERT INTO clicks (rowtime, name, page) VALUES (1669994522556, 'anna', 1);"
    )
    assert printed(server, "PRINT clicks FROM BEGINNING LIMIT 1;") == [
        "Key format: KAFKA_STRING",
        "Value format: JSON or KAFKA_STRING",
        'rowtime: 2022/12/02 15:22:02.556 Z, key: anna, value: {"PAGE":1}, partition: '
        f"{server.records('clicks')[0].partition}",
    ]
    with pytest.raises(KsqlError, match="Did you mean: clicks"):
        printed(server, "PRINT 'CLICKS';")


@pytest.mark.parametrize("sql", ["SHOW STREAMS;", "CREATE TYPE t AS INT;"])
def test_what_is_no_query_is_refused(server: TestServer, sql: str) -> None:
    with pytest.raises(KsqlError) as caught:
        server.server.query(QueryRequest(sql))
    assert caught.value.code is ErrorCode.BAD_STATEMENT


def test_only_one_query_at_a_time(server: TestServer) -> None:
    with pytest.raises(KsqlError, match="Expected exactly one KSQL statement; found 2 instead"):
        server.server.query(QueryRequest("SHOW STREAMS; SHOW TABLES;"))


TYPES = (
    "CREATE STREAM types (k INT KEY, b BOOLEAN, i INT, l BIGINT, d DOUBLE, e DECIMAL(4, 2), "
    "s STRING, y BYTES, da DATE, ti TIME, ts TIMESTAMP, a ARRAY<INT>, m MAP<STRING, BIGINT>, "
    "st STRUCT<x INT, `y` STRING>) WITH (kafka_topic='types', partitions=1, value_format='JSON');"
)


def test_rows_of_clients_are_inserted(server: TestServer) -> None:
    server.run(TYPES)
    inserts = server.server.inserts("types", {})
    inserts.insert(
        {
            "k": 1,
            "B": True,
            "i": 2,
            "l": 3,
            "d": Decimal("1.5"),
            "e": "1.005",
            "s": "text",
            "y": "AQI=",
            "da": "1970-01-02",
            "ti": "00:00:01",
            "ts": "1970-01-01T00:00:01.5",
            "a": [1, None],
            "m": {"x": 1},
            "st": {"x": 1, "`y`": "z"},
            "unknown": 1,
        }
    )
    assert server.rows("SELECT * FROM types;") == [
        (
            1,
            True,
            2,
            3,
            1.5,
            Decimal("1.01"),
            "text",
            b"\x01\x02",
            1,
            1000,
            1500,
            [1, None],
            {"x": 1},
            {"X": 1, "y": "z"},
        )
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"i": 1}, "Key field must be specified: K"),
        ({"k": None}, "Key field must be specified: K"),
        ({"k": "1"}, "Can't coerce a field of type class java.lang.String into type INTEGER"),
        ({"k": 1 << 31}, "into type INTEGER"),
        ({"k": True}, "into type INTEGER"),
        ({"k": 1, "s": 5}, "into type STRING"),
        ({"k": 1, "y": "?"}, "into type BYTES"),
        ({"k": 1, "e": 100}, r"into type DECIMAL\(4, 2\)"),
        ({"k": 1, "a": {}}, "into type ARRAY<INTEGER>"),
        ({"k": 1, "ts": "yesterday"}, "into type TIMESTAMP"),
    ],
)
def test_rows_that_do_not_fit(server: TestServer, row: dict[str, Any], message: str) -> None:
    server.run(TYPES)
    with pytest.raises(KsqlError, match=message) as caught:
        server.server.inserts("TYPES", {}).insert(row)
    assert caught.value.code is ErrorCode.BAD_REQUEST
    assert server.records("types") == []


def test_where_nothing_can_be_inserted(server: TestServer) -> None:
    with pytest.raises(KsqlError, match="unknown stream/table: `types`") as caught:
        server.server.inserts("`types`", {})
    assert caught.value.code is ErrorCode.BAD_STATEMENT
    server.run(
        "CREATE SOURCE STREAM fixed (a INT) "
        "WITH (kafka_topic='f', partitions=1, value_format='JSON');"
    )
    with pytest.raises(KsqlError, match="read-only stream: FIXED"):
        server.server.inserts("fixed", {})


def test_a_query_that_fails_says_so(server: TestServer) -> None:
    server.run(CLICKS + "CREATE STREAM copy AS SELECT * FROM clicks;")
    server.cluster.topics.delete("COPY")
    server.run("INSERT INTO clicks VALUES ('a', 1);")
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        (query,) = server.run("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"]
        if query["state"] == "ERROR":
            break
        time.sleep(0.01)
    assert query["state"] == "ERROR"
    assert "COPY" in query["queryErrors"][0]["errorMessage"]


def test_a_query_that_is_replaced_goes_on_with_its_state(server: TestServer) -> None:
    server.run(CLICKS + COUNTS + INSERTS)
    server.settle()
    server.run(COUNTS.replace("CREATE", "CREATE OR REPLACE").replace("AS n", "AS n, 1 AS one"))
    server.run("INSERT INTO clicks VALUES ('a', 1);")
    server.settle()
    assert server.rows("SELECT * FROM counts WHERE name = 'a';") == [("a", 3, 1)]
    (query,) = server.run("SHOW QUERIES;")[0]["queries"]
    assert query["id"] == "CTAS_COUNTS_1"


def test_a_query_that_can_not_be_started_disturbs_nobody(
    server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.run(CLICKS)
    with monkeypatch.context() as broken:
        broken.setattr(server.runner, "start", lambda *given, **named: 1 / 0)
        (entity,) = server.run(COUNTS)
    assert entity["commandStatus"]["status"] == "SUCCESS"
    (query,) = server.run("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"]
    assert (query["state"], query["queryErrors"][0]["errorMessage"]) == (
        "ERROR",
        "division by zero",
    )
    server.run("CREATE STREAM copy AS SELECT * FROM clicks; DROP TABLE counts;" + INSERTS)
    server.settle()
    assert len(server.records("COPY")) == 4
