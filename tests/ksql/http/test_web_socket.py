"""Queries over web sockets."""

from __future__ import annotations

import contextlib
import json
import threading
from urllib.parse import quote

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.http.access import Access
from headrace.ksql.http.server import HttpServer
from headrace.ksql.results import PrintLine, QueryKind, Row

from .scripted import ScriptedService


def _connect(server: HttpServer, sql: str, more: str = "") -> ClientConnection:
    request = quote(json.dumps({"ksql": sql}))
    url = server.address.replace("http", "ws", 1)
    return connect(f"{url}/ws/query?request={request}{more}", proxy=None)


def _frames(connection: ClientConnection) -> tuple[list[str], int, str]:
    """All frames, and how it was closed."""
    frames = []
    with connection as socket:
        with contextlib.suppress(ConnectionClosed):
            while True:
                frames.append(str(socket.recv(timeout=5)))
        return frames, socket.close_code or 0, socket.close_reason or ""


def test_rows(server: HttpServer, service: ScriptedService) -> None:
    service.give(Row((1, "a")), Row((2, None), tombstone=True))
    frames, code, reason = _frames(_connect(server, "SELECT 1;", "&version=1"))
    columns, row, end = map(json.loads, frames)
    none = {"fields": None, "memberSchema": None}
    assert columns == [
        {"name": "ID", "schema": {"type": "BIGINT", **none}, "type": "KEY"},
        {"name": "NAME", "schema": {"type": "STRING", **none}},
    ]
    assert row == {"row": {"columns": [1, "a"]}}
    assert end == {"error": "done"}
    assert (code, reason) == (1000, "done")


def test_lines(server: HttpServer, service: ScriptedService) -> None:
    service.lines.put(PrintLine("a line"))
    service.lines.finish()
    assert _frames(_connect(server, "PRINT t;"))[0] == ["a line", '{"error":"done"}']


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KsqlError(ErrorCode.BAD_STATEMENT, "ü" * 100), 1003),
        (KsqlError(ErrorCode.COMMAND_QUEUE_CATCHUP_TIMEOUT, "later"), 1013),
        (ZeroDivisionError("secret"), 1011),
    ],
)
def test_errors(server: HttpServer, service: ScriptedService, error: Exception, code: int) -> None:
    service.error = error
    frames, closed_with, reason = _frames(_connect(server, "SELECT 1;"))
    assert closed_with == code
    assert len(reason.encode()) <= 123
    assert json.loads(frames[0])["error"].startswith(reason)
    assert "secret" not in frames[0]


def test_request_that_is_wrong(server: HttpServer) -> None:
    assert _frames(_connect(server, "SELECT 1;", "&version=2"))[1] == 1003
    url = server.address.replace("http", "ws", 1)
    assert _frames(connect(f"{url}/ws/query", proxy=None))[1] == 1003


def test_client_that_goes_away(server: HttpServer, service: ScriptedService) -> None:
    closed = threading.Event()
    service.kind = QueryKind.PUSH
    service.rows.on_close(closed.set)
    with _connect(server, "SELECT 1;") as socket:
        socket.recv(timeout=5)
    assert closed.wait(5)


def test_token(service: ScriptedService) -> None:
    server = HttpServer(service, port=0, access=Access(token="abc"))
    service.give()
    try:
        assert _frames(_connect(server, "SELECT 1;", "&access_token=abc"))[1] == 1000
        for wrong in ("", "&access_token=x"):
            with pytest.raises(InvalidStatus):
                _frames(_connect(server, "SELECT 1;", wrong))
    finally:
        server.close()
