"""What the server does not do for those who want too much."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from headrace.server import gate, protocol
from headrace.server.service import Service

from .application import TOKEN, FakeStreams
from .test_service import serving


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connected(opened: ExitStack, service: Service, sent: bytes = b"") -> socket.socket:
    client = opened.enter_context(socket.create_connection(service.host_and_port, timeout=10))
    client.sendall(sent)
    return client


def received(client: socket.socket) -> bytes:
    """What comes; nothing if the server has closed the connection."""
    try:
        return client.recv(65536)
    except ConnectionResetError:
        return b""


def asked(service: Service, token: str | None = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(*service.host_and_port, timeout=10)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    connection.request("GET", "/v1/health" if token is None else "/v1/state", headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def test_heads_that_never_end(
    opened: ExitStack, fresh: FakeStreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.2)
    service = opened.enter_context(serving(fresh, application_server=":0"))
    whole = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    silent, slow = connected(opened, service), connected(opened, service, whole[:30])
    again = connected(opened, service, whole)
    assert received(again).startswith(b"HTTP/1.1 200")
    again.sendall(whole[:30])
    for client in (silent, slow, again):
        assert received(client) == b""


def test_bodies_that_never_end(
    opened: ExitStack, fresh: FakeStreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "PATIENCE_S", 0.2)
    service = opened.enter_context(serving(fresh, application_server=":0"))
    head = b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na"
    assert received(connected(opened, service, head)).startswith(b"HTTP/1.1 408")


def test_connections_that_ask_nothing_make_room(opened: ExitStack, fresh: FakeStreams) -> None:
    service = opened.enter_context(serving(fresh, application_server=":0", server_connections=5))
    held = [connected(opened, service, b"GET /v1/he") for _ in range(20)]
    for _ in range(10):
        assert asked(service).status == 200
    assert received(held[0]) == b""


def test_connections_that_are_all_busy(opened: ExitStack, fresh: FakeStreams) -> None:
    service = opened.enter_context(serving(fresh, application_server=":0", server_connections=2))
    head = b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na"
    for _ in range(2):
        connected(opened, service, head)
    answer = asked(service)
    while answer.status == 200:  # the others may not be known as busy yet
        answer = asked(service)
    assert (answer.status, answer.getheader("retry-after")) == (503, "1")


def test_failed_logins(opened: ExitStack, fresh: FakeStreams) -> None:
    service = opened.enter_context(serving(fresh, application_server=":0", server_token=TOKEN))
    assert asked(service, TOKEN).status == 200
    assert [asked(service, "wrong").status for _ in range(12)] == [401] * 10 + [429] * 2
    refused = asked(service, TOKEN)
    assert refused.status == 429
    assert 0 < int(refused.getheader("retry-after", "")) <= 60
    assert asked(service).status == 200
