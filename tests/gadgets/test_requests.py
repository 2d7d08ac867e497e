"""Gadgets in what both servers are asked, and in SQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from headrace.ksql.http.server import HttpServer
from tests.gadgets.gadget import Gadget, Gadgets
from tests.ksql.servers import CLICKS, COUNTS, TestServer
from tests.server.application import FakeStreams, client
from tests.server.client import Answer

# The server of an application


def test_an_application_over_http(gadgets: Gadgets, tmp_path: Path) -> None:
    asking = client(FakeStreams(tmp_path / "state"))

    def check(answer: Answer) -> None:
        assert answer.status < 500, answer.text

    for gadget in gadgets:
        text = quote(gadget.text, safe="")
        for path in ("/v1/pause", "/v1/resume", "/v1/stores/counts/value", f"/{text}"):
            check(asking.post(path, body=gadget.data))
        for path in (
            f"/v1/stores/{text}",
            f"/v1/stores/{text}/value?key={text}",
            f"/v1/stores/counts/value?key={text}",
            f"/v1/stores/counts/value?key={text}&encoding=base64",
            f"/v1/stores/counts/value?key={text}&encoding={text}",
            f"/v1/stores/counts/entries?from={text}&to={text}&limit={text}",
            f"/v1/stores/windows/windows?key={text}&from={text}",
            f"/v1/topics/{text}/records?limit=5",
            f"/v1/metadata/key?store={text}&key={text}",
            f"/v1/state?{text}={text}",
        ):
            check(asking.get(path))
        plain = gadget.text.isascii() and gadget.text.isprintable()
        if plain:  # else it can't be sent at all
            named = {"Authorization": f"Bearer {gadget.text}", "Cookie": gadget.text}
            check(asking.get("/v1/state", named | {"Accept": gadget.text}))


# The ksqlDB server


@pytest.fixture
def ksql() -> Iterator[TestServer]:
    server = TestServer()
    server.run(CLICKS + COUNTS + "INSERT INTO clicks (name, page) VALUES ('x', 1);")
    server.settle()
    yield server
    server.close()


@pytest.fixture
def http(ksql: TestServer) -> Iterator[httpx.Client]:
    server = HttpServer(ksql.server, port=0)
    with httpx.Client(
        base_url=server.address, http1=False, http2=True, trust_env=False, timeout=30
    ) as client:
        yield client
    server.close()


BODIES: dict[str, Callable[[str], Any]] = {
    "/ksql": lambda text: {
        "ksql": text,
        "streamsProperties": {text: text},
        "sessionVariables": {text: text},
        "commandSequenceNumber": text,
    },
    "/query": lambda text: {"ksql": text, "streamsProperties": {"auto.offset.reset": text}},
    "/query-stream": lambda text: {"sql": text, "properties": {text: text}},
    "/close-query": lambda text: {"queryId": text},
    "/inserts-stream": lambda text: {"target": text, "properties": {text: text}},
}


@pytest.mark.parametrize("path", BODIES)
def test_bodies(gadgets: Gadgets, http: httpx.Client, path: str) -> None:
    for gadget in gadgets:
        form = json.dumps(BODIES[path](gadget.text)).encode()
        kind = {"Content-Type": "application/x-python-pickle"}
        for body in (gadget.data, form, b'{"ksql":' + gadget.data + b"}"):
            answer = http.post(path, content=body, headers=kind)
            assert 400 <= answer.status_code < 500 or path == "/close-query", answer.text


def test_rows_that_are_inserted(gadgets: Gadgets, http: httpx.Client, ksql: TestServer) -> None:
    for gadget in gadgets:
        row = {"NAME": gadget.text, "PAGE": gadget.text}
        body = json.dumps({"target": "CLICKS"}).encode() + b"\n"
        for line in (gadget.data.replace(b"\n", b" "), json.dumps(row).encode()):
            answer = http.post("/inserts-stream", content=body + line + b"\n")
            assert '"status":"error"' in answer.text
    assert len(ksql.records("clicks")) == 1


# Statements


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def test_texts_of_statements(gadgets: Gadgets, ksql: TestServer) -> None:
    """What is a text in a statement is a text in its result."""
    for gadget in gadgets:
        text = literal(gadget.text)
        ksql.run(f"INSERT INTO clicks (name, page) VALUES ({text}, 1);")
        ksql.settle()
        counted = ksql.rows(f"SELECT name, CONCAT(name, {text}) FROM counts WHERE name = {text};")
        assert counted == [(gadget.text, gadget.text * 2)]
        variables = ksql.run(f"DEFINE x = {text}; SHOW VARIABLES;")
        assert variables[-1]["variables"] == [{"name": "x", "value": gadget.text}]


PLACES = [
    "{}",
    "{};",
    "SELECT {} FROM clicks EMIT CHANGES LIMIT 0;",
    "SELECT `{}` FROM clicks EMIT CHANGES LIMIT 0;",
    "SELECT name AS `{}` FROM counts WHERE name = 'x';",
    "SELECT {}(name) FROM counts WHERE name = 'x';",
    "SELECT name FROM counts WHERE name = {};",
    "SELECT REGEXP_EXTRACT('{}', name) FROM counts WHERE name = 'x';",
    "SELECT PARSE_TIMESTAMP(name, '{}') FROM counts WHERE name = 'x';",
    "SELECT FORMAT_TIMESTAMP(FROM_UNIXTIME(0), '{}') FROM counts WHERE name = 'x';",
    "SELECT EXTRACTJSONFIELD('{}', '$.{}') FROM counts WHERE name = 'x';",
    "CREATE STREAM `{}` (a STRING) WITH (kafka_topic='p', partitions=1, value_format='JSON');",
    "CREATE STREAM x (`{}` STRING) WITH (kafka_topic='q', partitions=1, value_format='JSON');",
    "CREATE STREAM x (a {}) WITH (kafka_topic='q', partitions=1, value_format='JSON');",
    "CREATE STREAM x (a STRING) WITH (kafka_topic='{}', partitions=1, value_format='JSON');",
    "CREATE STREAM x (a STRING) WITH (kafka_topic='q', partitions=1, value_format='{}');",
    "CREATE STREAM x (a STRING) WITH ({}='{}');",
    "CREATE TYPE `{}` AS STRUCT<`{}` STRING>;",
    "SET '{}' = '{}';",
    "SET 'auto.offset.reset' = '{}';",
    "DEFINE x = '{}'; SELECT ${{x}} FROM counts WHERE name = 'x';",
    "DEFINE x = '{}'; SELECT '${{x}}' FROM counts WHERE name = '${{x}}';",
    "CREATE SOURCE CONNECTOR x WITH ('connector.class'='{}', '{}'='{}');",
    "PRINT '{}' FROM BEGINNING LIMIT 0;",
    "DESCRIBE `{}`;",
    "EXPLAIN {};",
    "TERMINATE `{}`;",
    "RUN SCRIPT '{}';",
]


@pytest.mark.parametrize("place", PLACES)
def test_statements(gadgets: Gadgets, http: httpx.Client, place: str) -> None:
    query = place.startswith(("SELECT", "PRINT")) or "; SELECT" in place
    path = "/query" if query else "/ksql"

    def ask(gadget: Gadget) -> None:
        for text in (gadget.text, gadget.text.replace("'", "''").replace("`", "``")):
            sql = place.replace("{{", "{").replace("}}", "}").replace("{}", text)
            answer = http.post(path, json={"ksql": sql, "sessionVariables": {"x": text}})
            assert answer.status_code < 500, answer.text

    gadgets.put_to(ask)
