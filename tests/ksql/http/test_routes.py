"""What each route is asked, and answers."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from headrace.ksql.entities import Entity
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.http.server import HttpServer
from headrace.ksql.requests import QueryRequest, StatementsRequest
from headrace.ksql.results import (
    LIMIT_REACHED,
    Closed,
    PrintLine,
    QueryKind,
    ResultStream,
    Row,
)

from .scripted import ScriptedService

V1 = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"


def test_statements(client: httpx.Client, service: ScriptedService) -> None:
    service.entities = [Entity("streams", "LIST STREAMS;", {"streams": []}, ("old",))]
    answer = client.post(
        "/ksql",
        json={
            "ksql": "LIST STREAMS;",
            "streamsProperties": {"auto.offset.reset": "earliest"},
            "sessionVariables": {"a": "b"},
            "commandSequenceNumber": 3,
            "what": 1,
        },
    )
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == [
        {
            "@type": "streams",
            "statementText": "LIST STREAMS;",
            "streams": [],
            "warnings": [{"message": "old"}],
        }
    ]
    assert service.asked == [
        StatementsRequest(
            "LIST STREAMS;", {"auto.offset.reset": "earliest"}, {"a": "b"}, {}, sequence_number=3
        )
    ]


def test_error_of_a_statement(client: httpx.Client, service: ScriptedService) -> None:
    entity = Entity("streams", "LIST STREAMS;")
    service.error = KsqlError(ErrorCode.BAD_STATEMENT, "S does not exist.", "DROP S;", [entity])
    answer = client.post("/ksql", json={"ksql": "DROP S;"})
    assert answer.status_code == 400
    assert answer.json() == {
        "@type": "statement_error",
        "error_code": 40001,
        "message": "S does not exist.",
        "statementText": "DROP S;",
        "entities": [entity.json()],
    }


def test_error_that_nobody_thought_of(client: httpx.Client, service: ScriptedService) -> None:
    service.error = ZeroDivisionError("a secret")
    answer = client.post("/ksql", json={"ksql": "LIST STREAMS;"})
    assert answer.status_code == 500
    assert answer.json()["error_code"] == 50000
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"ksql": 1}',
        b'{"ksql": ";", "streamsProperties": []}',
        b'{"ksql": ";", "sessionVariables": {"a": {}}}',
        b'{"ksql": ";", "commandSequenceNumber": "1"}',
        b"[" * 100_000,
        b'{"ksql": "\xff"}',
        b'{"ksql": ";", "n": ' + b"9" * 10_000 + b"}",
    ],
)
def test_body_that_is_wrong(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/ksql", content=body)
    assert answer.status_code == 400
    assert answer.json()["error_code"] == 40000
    assert answer.json()["message"].startswith("Invalid JSON in request: ")


def test_body_that_is_too_large(client: httpx.Client) -> None:
    answer = client.post("/ksql", json={"ksql": "x" * 2_000_000})
    assert answer.status_code == 400
    assert "1,048,576" in answer.json()["message"]


def test_pull_query_v1(client: httpx.Client, service: ScriptedService) -> None:
    service.give(Row((1, "a")), Row((2, None)))
    answer = client.post("/query", json={"ksql": "SELECT 1;", "streamsProperties": {"a": "b"}})
    assert answer.headers["content-type"] == V1
    assert answer.text == (
        '[{"header":{"queryId":"query_1","schema":"`ID` BIGINT KEY, `NAME` STRING"}},\n'
        '{"row":{"columns":[1,"a"]}},\n'
        '{"row":{"columns":[2,null]}}]'
    )
    assert service.asked == [QueryRequest("SELECT 1;", {"a": "b"})]
    assert service.rows.closed


def test_large_pull_query_v1(client: httpx.Client, service: ScriptedService) -> None:
    service.rows._capacity = 20_000
    service.give(*(Row((number, "a")) for number in range(20_000)))
    answer = client.post("/query", json={"ksql": "SELECT 1;"})
    objects = answer.json()
    assert [one["row"]["columns"][0] for one in objects[1:]] == list(range(20_000))


def test_push_query_v1(client: httpx.Client, service: ScriptedService) -> None:
    service.kind = QueryKind.PUSH
    service.give(Row((1, "a")), Row((2, None), tombstone=True), message=LIMIT_REACHED)
    answer = client.post("/query-stream", json={"sql": "SELECT 1;"}, headers={"Accept": V1})
    assert answer.text == (
        '[{"header":{"queryId":"query_1","schema":"`ID` BIGINT, `NAME` STRING"}},\n'
        '{"row":{"columns":[1,"a"]}},\n'
        '{"row":{"columns":[2,null],"tombstone":true}},\n'
        '{"finalMessage":"Limit Reached"}]'
    )


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        (QueryKind.PULL, "}}]"),
        (QueryKind.STREAM_PULL, '{"finalMessage":"Query Completed"}]'),
        (QueryKind.PUSH, '{"finalMessage":"Query Completed"}]'),
        (QueryKind.SCALABLE_PUSH, "}},\n]"),
    ],
)
def test_end_of_v1(
    client: httpx.Client, service: ScriptedService, kind: QueryKind, end: str
) -> None:
    service.kind = kind
    service.give(Row((1, "a")))
    assert client.post("/query", json={"ksql": "SELECT 1;"}).text.endswith(end)


@pytest.mark.parametrize(("kind", "end"), [(QueryKind.PULL, "]"), (QueryKind.PUSH, ",\n]")])
def test_error_in_v1(
    client: httpx.Client, service: ScriptedService, kind: QueryKind, end: str
) -> None:
    service.kind = kind
    service.rows.put(Row((1, "a")))
    service.rows.fail(KsqlError(ErrorCode.SERVER_ERROR, "gone"))
    text = client.post("/query", json={"ksql": "SELECT 1;"}).text
    error = '{"errorMessage":{"@type":"generic_error","error_code":50000,"message":"gone"}}'
    assert text.endswith(f"}},\n{error}{end}")


def test_delimited(client: httpx.Client, service: ScriptedService) -> None:
    service.give(Row((1, "a")), Row((2, None), tombstone=True), Row((3, "ü")), message="x")
    answer = client.post("/query-stream", json={"sql": "SELECT 1;", "properties": {"a": "b"}})
    assert answer.headers["content-type"] == DELIMITED
    assert answer.text == (
        '{"queryId":"query_1","columnNames":["ID","NAME"],"columnTypes":["BIGINT","STRING"]}\n'
        '[1,"a"]\n[3,"ü"]\n'
    )
    assert service.asked == [QueryRequest("SELECT 1;", {"a": "b"})]


def test_json_array(client: httpx.Client, service: ScriptedService) -> None:
    service.give(Row((1, "a")), Row((2, None)))
    answer = client.post(
        "/query-stream",
        json={"sql": "SELECT 1;"},
        headers={"Accept": "application/json, text/plain, */*"},
    )
    assert answer.headers["content-type"] == "application/json"
    assert answer.text == (
        '[{"queryId":"query_1","columnNames":["ID","NAME"],"columnTypes":["BIGINT","STRING"]},'
        '[1,"a"],[2,null]]'
    )


def test_protobuf(client: httpx.Client, service: ScriptedService) -> None:
    service.give(Row((1, "a")))
    answer = client.post(
        "/query-stream",
        json={"sql": "SELECT 1;"},
        headers={"Accept": "application/vnd.ksql.v1+protobuf"},
    )
    header, row = answer.json()
    assert header["header"]["protoSchema"] == (
        'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  int64 ID = 1;\n  string NAME = 2;\n}\n'
    )
    assert row == {"row": {"protobufBytes": "CAESAWE="}}


def test_error_of_a_query(client: httpx.Client, service: ScriptedService) -> None:
    service.error = KsqlError(ErrorCode.BAD_STATEMENT, "no", "SELECT 1;")
    for path, name in (("/query-stream", "sql"), ("/query", "ksql")):
        answer = client.post(path, json={name: "SELECT 1;"})
        assert answer.status_code == 400
        assert answer.json()["message"] == "no"


def test_rows_come_one_by_one(client: httpx.Client, service: ScriptedService) -> None:
    service.kind = QueryKind.PUSH
    with client.stream("POST", "/query-stream", json={"sql": "SELECT 1;"}) as answer:
        lines = answer.iter_lines()
        assert json.loads(next(lines))["queryId"] == "query_1"
        for number in range(3):
            service.rows.put(Row((number, "a")))
            assert json.loads(next(lines)) == [number, "a"]
        assert client.post("/close-query", json={"queryId": "query_1"}).status_code == 200
        assert list(lines) == []


def test_client_that_goes_away(client: httpx.Client, service: ScriptedService) -> None:
    closed = threading.Event()
    service.kind = QueryKind.PUSH
    service.rows.on_close(closed.set)
    with client.stream("POST", "/query-stream", json={"sql": "SELECT 1;"}) as answer:
        next(answer.iter_lines())
    client.close()
    assert closed.wait(5)


def test_close_query_that_is_not_there(client: httpx.Client) -> None:
    answer = client.post("/close-query", json={"queryId": "x"})
    assert answer.status_code == 400
    assert answer.json()["message"] == "No query with id x"


def test_print(server: HttpServer, service: ScriptedService) -> None:
    service.lines.put(PrintLine("Key format: JSON", about_format=True))
    service.lines.put(PrintLine("rowtime: 1, key: 2, value: 3"))
    service.lines.finish()
    answer = httpx.post(f"{server.address}/query", json={"ksql": "PRINT t;"})
    assert answer.text == "Key format: JSON\nrowtime: 1, key: 2, value: 3\n"


def test_print_on_query_stream(client: httpx.Client, service: ScriptedService) -> None:
    service.lines.put(PrintLine("Key format: JSON", about_format=True))
    service.lines.put(PrintLine("rowtime: 1, key: 2, value: 3"))
    service.lines.finish()
    answer = client.post("/query-stream", json={"sql": "PRINT t;"})
    assert answer.text == "rowtime: 1, key: 2, value: 3\n"
    other = client.post("/query-stream", json={"sql": "PRINT t;"}, headers={"Accept": V1})
    assert other.status_code == 406


def test_print_is_not_for_http2(http2: httpx.Client) -> None:
    assert http2.post("/query", json={"ksql": "PRINT t;"}).status_code == 405


def test_questions(client: httpx.Client) -> None:
    assert client.get("/info").json() == {
        "KsqlServerInfo": {
            "version": "0.1",
            "kafkaClusterId": "cluster",
            "ksqlServiceId": "default_",
            "serverStatus": "RUNNING",
        }
    }
    assert client.get("/healthcheck").json() == {"isHealthy": True}
    assert client.get("/status").json() == {"commandStatuses": {"stream/S/create": "SUCCESS"}}
    assert client.get("/status/stream/S/create").json() == {
        "status": "SUCCESS",
        "message": "Stream created",
        "queryId": None,
    }
    missing = client.get("/status/stream/X/create")
    assert (missing.status_code, missing.json()["error_code"]) == (404, 40400)
    assert client.get("/is_valid_property/auto.offset.reset").text == "true"
    assert client.get("/is_valid_property/other").status_code == 400
    assert client.get("/clusterStatus").json() == {"clusterStatus": {}}
    metadata = client.get("/v1/metadata").json()
    assert metadata["version"] == "0.1"
    assert metadata["clusterId"] == client.get("/v1/metadata/id").json()
    assert metadata["clusterId"]["scope"]["clusters"] == {
        "kafka-cluster": "cluster",
        "ksql-cluster": "default_",
    }
    assert client.get("/chc/ready").json() == {}
    assert client.get("/").status_code == 307
    assert client.get("/").headers["location"] == "/info"


def test_what_is_not_there(client: httpx.Client) -> None:
    missing = client.get("/what")
    assert (missing.status_code, missing.text) == (404, "Not Found")
    assert client.get("/ksql").status_code == 405
    headers = {"Accept": "text/html"}
    for path in ("/ksql", "/query", "/query-stream"):
        assert client.post(path, json={"ksql": ";"}, headers=headers).status_code == 406


def test_terminate(client: httpx.Client, service: ScriptedService) -> None:
    assert client.post("/ksql/terminate", json={"deleteTopicList": ["a.*"]}).json() == []
    assert service.asked == [["a.*"]]


def _inserts(client: httpx.Client, *rows: object, accept: str = "*/*") -> httpx.Response:
    lines = "\n".join(json.dumps(row) for row in rows)
    return client.post("/inserts-stream", content=lines, headers={"Accept": accept})


def test_inserts(http2: httpx.Client, service: ScriptedService) -> None:
    answer = _inserts(http2, {"target": "s"}, {"ID": 1}, {"ID": 2})
    assert answer.headers["content-type"] == DELIMITED
    assert answer.text == '{"seq":0,"status":"ok"}\n{"seq":1,"status":"ok"}\n'
    assert service.asked == [("s", {})]
    assert service.inserted.rows == [{"ID": 1}, {"ID": 2}]


def test_inserts_as_array(http2: httpx.Client) -> None:
    accept = "application/json"
    assert _inserts(http2, {"target": "s"}, {"ID": 1}, accept=accept).json() == [
        {"seq": 0, "status": "ok"}
    ]
    assert _inserts(http2, {"target": "s"}, accept=accept).json() == []


def test_insert_that_is_wrong(http2: httpx.Client, service: ScriptedService) -> None:
    answer = _inserts(http2, {"target": "s"}, {"ID": 1}, {"X": 2}, {"ID": 3})
    good, bad = map(json.loads, answer.text.splitlines())
    assert good == {"seq": 0, "status": "ok"}
    assert (bad["seq"], bad["status"], bad["error_code"]) == (1, "error", 40000)
    assert bad["message"] == "Key field must be specified: ID"
    assert service.inserted.rows == [{"ID": 1}]
    assert _inserts(http2, {"target": "s"}, {"ID": 4}).status_code == 200


def test_inserts_that_are_refused(
    server: HttpServer, http2: httpx.Client, service: ScriptedService
) -> None:
    assert http2.post("/inserts-stream", content=b"").json()["error_code"] == 40000
    assert _inserts(http2, {}).json()["message"].endswith("'target' is missing")
    not_json = http2.post("/inserts-stream", content=b'{"target": "s"}\nx\n')
    assert json.loads(not_json.text)["message"] == "Invalid JSON in inserts stream"
    old = httpx.post(f"{server.address}/inserts-stream", content=b'{"target": "s"}')
    assert (old.status_code, old.json()["error_code"]) == (400, 40004)
    service.error = KsqlError(ErrorCode.BAD_STATEMENT, "unknown")
    assert _inserts(http2, {"target": "s"}, {"ID": 1}).json()["error_code"] == 40001


def test_rows_are_inserted_as_they_come(server: HttpServer, service: ScriptedService) -> None:
    """Each is acknowledged before the request ends."""
    acknowledged = threading.Semaphore(0)
    rows = 3

    def body() -> Iterator[bytes]:
        yield b'{"target": '
        yield b'"s"}\n'
        for number in range(rows):
            yield b'{"ID": %d' % number
            yield b"}\n"
            deadline = time.monotonic() + 5
            while len(service.inserted.rows) <= number:
                assert time.monotonic() < deadline, "nothing is inserted before the end"
                time.sleep(0.001)
            acknowledged.release()

    with httpx.Client(base_url=server.address, http1=False, http2=True) as client:
        answer = client.post("/inserts-stream", content=body())
    assert len(answer.text.splitlines()) == rows
    assert all(acknowledged.acquire(blocking=False) for _ in range(rows))


def test_slow_client(client: httpx.Client, service: ScriptedService) -> None:
    """Rows wait for it, not in memory but where they come from, and at last the query is ended."""
    service.kind = QueryKind.PUSH
    service.rows = ResultStream(capacity=10, patience_s=0.5)
    put = 0
    with client.stream("POST", "/query-stream", json={"sql": "SELECT 1;"}) as answer:
        lines = answer.iter_lines()
        next(lines)
        with contextlib.suppress(Closed):
            while put < 100_000:
                service.rows.put(Row((put, "x" * 10_000)))
                put += 1
        assert put < 5_000
        *_, last = lines
    assert json.loads(last)["error_code"] == 50000
    assert "has not read" in json.loads(last)["message"]


def test_streams_end_with_the_server(
    client: httpx.Client, server: HttpServer, service: ScriptedService
) -> None:
    service.kind = QueryKind.PUSH
    with client.stream("POST", "/query-stream", json={"sql": "SELECT 1;"}) as answer:
        lines = answer.iter_lines()
        next(lines)
        threading.Thread(target=server.close).start()
        assert json.loads(next(lines))["error_code"] == 50303
        assert list(lines) == []
    deadline = time.monotonic() + 5  # it is closed just after its end was sent
    while not service.rows.closed:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_what_servers_tell_each_other(client: httpx.Client) -> None:
    host = {"host": "localhost", "port": 8088}
    for path in ("/heartbeat", "/lag"):
        assert client.post(path, json={"hostInfo": host}).json() == {"isOk": True}
        assert client.post(path, content=b"no JSON").status_code == 400
        assert client.get(path).status_code == 405


def test_the_console(client: httpx.Client) -> None:
    page = client.get("/console")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src 'self';" in page.headers["content-security-policy"]
    tag = {"If-None-Match": page.headers["etag"]}
    assert client.get("/console", headers=tag).status_code == 304
    assert client.get("/console/console.css").headers["content-type"].startswith("text/css")
    assert client.get("/console/none.js").status_code == 404
    # The root is what clients of ksqlDB know.
    assert client.get("/").headers["location"] == "/info"


def test_the_picture_of_a_query(client: httpx.Client) -> None:
    found = client.get("/v1/queries/CTAS_T_1/picture")
    assert found.json() == {"width": 10.0, "height": 10.0, "frames": [], "shapes": [], "lines": []}
    missing = client.get("/v1/queries/CTAS_U_2/picture")
    assert (missing.status_code, missing.json()["error_code"]) == (404, 40400)
