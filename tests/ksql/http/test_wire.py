"""Requests as no library sends them."""

from __future__ import annotations

import logging
import socket

import httpx
import pytest

from headrace.ksql.http import bodies
from headrace.ksql.http.server import HttpServer


def _answer(server: HttpServer, request: bytes) -> bytes:
    """The first line of the answer."""
    with socket.create_connection(server.host_and_port, timeout=5) as connection:
        connection.sendall(request)
        return connection.recv(65536).split(b"\r\n")[0].strip()


@pytest.mark.parametrize(
    ("request_text", "answer"),
    [
        (b"GET http://localhost/info HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET /info HTTP/1.0\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET /info HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET /info HTTP/1.1\r\nHost: [\r\n\r\n", b"HTTP/1.1 403"),
        (b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 307"),
        (b"\x00\xff\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET /%00%ff/.. HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 404"),
        (b"GET /status/a//b HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 404"),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 431"),
        (
            b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n{",
            b"HTTP/1.1 400",
        ),
        (
            b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 400",
        ),
    ],
)
def test_odd_requests(server: HttpServer, request_text: bytes, answer: bytes) -> None:
    assert _answer(server, request_text) == answer
    assert httpx.get(f"{server.address}/info").status_code == 200


def test_body_that_never_comes(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PATIENCE_S", 0.2)
    request = b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n{"
    assert _answer(server, request) == b"HTTP/1.1 400"


def test_client_that_goes_in_the_middle(
    server: HttpServer, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.INFO),
        socket.create_connection(server.host_and_port, timeout=5) as connection,
    ):
        connection.sendall(b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n{")
    assert httpx.get(f"{server.address}/info").status_code == 200
    assert caplog.records == [] or all(record.name.startswith("httpx") for record in caplog.records)


def test_upgrade_to_http2(server: HttpServer) -> None:
    """Without a body. With one, the request is answered by HTTP/1.1."""
    upgrade = (
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"
    )
    get = b"GET /info HTTP/1.1\r\nHost: localhost\r\n" + upgrade + b"\r\n"
    assert _answer(server, get) == b"HTTP/1.1 101"
    post = b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n" + upgrade
    assert _answer(server, post + b"\r\n{}") == b"HTTP/1.1 400"
