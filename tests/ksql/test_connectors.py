"""Connectors, with a Kafka Connect of a few lines."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest

from .servers import TestServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        known: dict[str, Any] = self.server.connectors  # type: ignore[attr-defined]
        parts = [unquote(part) for part in self.path.strip("/").split("/")]
        match parts:
            case ["connector-plugins"]:
                self._answer(200, [{"class": "a.B", "type": "source", "version": "1"}])
            case ["connectors"]:
                self._answer(200, list(known))
            case ["connectors", name] if name in known:
                self._answer(200, known[name])
            case ["connectors", name, "status"] if name in known:
                tasks = [{"state": "RUNNING"}, {"state": "FAILED"}]
                self._answer(200, {"connector": {"state": "RUNNING"}, "tasks": tasks})
            case ["connectors", name, "topics"] if name in known:
                self._answer(200, {name: {"topics": ["t"]}})
            case _:
                self._answer(404, {"message": f"Connector {parts[-1]} not found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        made = {**body, "type": "source", "tasks": []}
        self.server.connectors[body["name"]] = made  # type: ignore[attr-defined]
        self._answer(201, made)

    def do_DELETE(self) -> None:
        name = unquote(self.path.rsplit("/", 1)[1])
        del self.server.connectors[name]  # type: ignore[attr-defined]
        self._answer(204, None)

    def _answer(self, status: int, content: Any) -> None:
        data = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[TestServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as connect:
        connect.connectors = {}  # type: ignore[attr-defined]
        thread = threading.Thread(target=connect.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{connect.server_address[1]}/"
        server = TestServer(settings={"ksql.connect.url": address})
        yield server
        server.close()
        connect.shutdown()
        thread.join()


CREATE = "CREATE SOURCE CONNECTOR `a/b` WITH ('connector.class'='a.B', 'tasks.max'=1);"


def test_a_connector_is_made_shown_and_dropped(server: TestServer) -> None:
    (made,) = server.run(CREATE)
    assert made["@type"] == "connector_info"
    assert made["info"]["config"] == {"connector.class": "a.B", "tasks.max": "1"}
    (listed,) = server.run("SHOW SOURCE CONNECTORS;")
    assert listed["connectors"] == [
        {
            "name": "a/b",
            "type": "source",
            "className": "a.B",
            "state": "WARNING (1/2 tasks RUNNING)",
        }
    ]
    assert server.run("SHOW SINK CONNECTORS;")[0]["connectors"] == []
    (described,) = server.run("DESCRIBE CONNECTOR `a/b`;")
    assert (described["connectorClass"], described["topics"]) == ("a.B", ["t"])
    (dropped,) = server.run("DROP CONNECTOR `a/b`;")
    assert (dropped["@type"], dropped["connectorName"]) == ("drop_connector", "a/b")
    assert server.run("SHOW CONNECTORS;")[0]["connectors"] == []


def test_what_exists_and_what_does_not(server: TestServer) -> None:
    server.run(CREATE)
    assert "already exists" in server.refused(CREATE).message
    assert server.run(CREATE.replace("CONNECTOR", "CONNECTOR IF NOT EXISTS"))[0]["@type"] == (
        "warning_entity"
    )
    assert "does not exist" in server.refused("DROP CONNECTOR x;").message
    assert server.run("DROP CONNECTOR IF EXISTS x;")[0]["@type"] == "warning_entity"
    assert "Connector X not found" in server.refused("DESCRIBE CONNECTOR x;").message


def test_plugins(server: TestServer) -> None:
    (entity,) = server.run("SHOW CONNECTOR PLUGINS;")
    assert entity["connectorsPlugins"] == [{"className": "a.B", "type": "source", "version": "1"}]


def test_a_connect_that_is_away() -> None:
    server = TestServer(settings={"ksql.connect.url": "http://127.0.0.1:1"})
    try:
        assert "can't be reached" in server.refused("SHOW CONNECTORS;").message
    finally:
        server.close()


def test_secrets_are_not_shown(server: TestServer) -> None:
    (made,) = server.run(
        "CREATE SOURCE CONNECTOR shop WITH ('connector.class'='a.B', 'password'='0123', "
        "'url'='db://anna:0123@host/');"
    )
    assert "0123" not in json.dumps(made)
    shown = {"connector.class": "a.B", "password": "[hidden]", "url": "db://****@host/"}
    assert made["info"]["config"] == shown
