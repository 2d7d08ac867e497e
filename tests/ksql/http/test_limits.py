"""What a server does not do for those who want too much."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.http import arrival, routes
from headrace.ksql.http import server as http_server
from headrace.ksql.http.access import Access
from headrace.ksql.http.connection import HypercornConnection
from headrace.ksql.http.server import HttpServer
from headrace.ksql.http.work import Work
from headrace.ksql.requests import StatementsRequest

from .scripted import ScriptedService

TOKEN = "0123456789abcdef"


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def start(opened: ExitStack, service: ScriptedService, **given: object) -> HttpServer:
    server = HttpServer(service, port=0, **given)  # type: ignore[arg-type]
    opened.callback(server.close)
    return server


def connected(opened: ExitStack, server: HttpServer, sent: bytes = b"") -> socket.socket:
    client = opened.enter_context(socket.create_connection(server.host_and_port, timeout=10))
    client.sendall(sent)
    return client


def received(client: socket.socket) -> bytes:
    """What comes; nothing if the server has closed the connection."""
    try:
        return client.recv(65536)
    except ConnectionResetError:
        return b""


def test_heads_that_never_end(
    opened: ExitStack, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrival, "HEAD_S", 0.2)
    server = start(opened, service)
    silent = connected(opened, server)
    slow = connected(opened, server, b"GET /info HTTP/1.1\r\nHost: localhost\r\nX-")
    assert received(silent) == b""
    assert received(slow) == b""


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
def test_half_a_head_is_only_kept(
    opened: ExitStack,
    service: ScriptedService,
    monkeypatch: pytest.MonkeyPatch,
    line_end: bytes,
) -> None:
    """All that serves a connection is made when it has asked something."""
    served: list[object] = []

    class Counted(HypercornConnection):
        def __init__(self, *given: object) -> None:
            served.append(self)
            super().__init__(*given)

    monkeypatch.setattr(http_server, "HypercornConnection", Counted)
    server = start(opened, service)
    request = line_end.join([b"GET /healthcheck HTTP/1.1", b"Host: localhost", b"", b""])
    halves = [connected(opened, server, request[:cut]) for cut in range(len(request))]
    assert httpx.get(f"{server.address}/healthcheck").status_code == 200
    assert len(served) == 1
    for cut, client in enumerate(halves):
        client.sendall(request[cut:])
        assert received(client).startswith(b"HTTP/1.1 200")
    assert len(served) == 1 + len(halves)


@pytest.mark.parametrize("wrong", [b"\x16\x03\x01", b"GET /" + b"x" * 20_000])
def test_what_can_not_become_a_head_is_answered_at_once(
    opened: ExitStack, service: ScriptedService, wrong: bytes
) -> None:
    server = start(opened, service)
    assert received(connected(opened, server, wrong)).startswith(b"HTTP/1.1 4")


def test_half_a_head_does_not_outlive_the_server(
    opened: ExitStack, service: ScriptedService
) -> None:
    server = start(opened, service)
    client = connected(opened, server, b"GET /info HTTP/1.1\r\n")
    assert httpx.get(f"{server.address}/healthcheck").status_code == 200
    server.close()
    assert received(client) == b""


@pytest.mark.parametrize("half_sent", [b"", b"GET /info HTTP/1.1\r\nHost: loc"])
def test_connections_that_ask_nothing_make_room(
    opened: ExitStack, service: ScriptedService, half_sent: bytes
) -> None:
    server = start(opened, service, connections=5)
    held = [connected(opened, server, half_sent) for _ in range(20)]
    for _ in range(10):
        assert httpx.get(f"{server.address}/healthcheck").status_code == 200
    assert received(held[0]) == b""
    assert len(server._connections) <= 5


def test_connections_that_are_all_busy(opened: ExitStack, service: ScriptedService) -> None:
    server = start(opened, service, connections=2)
    request = b'POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"ks'
    for _ in range(2):
        connected(opened, server, request)
    with httpx.Client(base_url=server.address, timeout=10) as client:
        answers = [client.get("/info") for _ in range(1)]
        while answers[-1].status_code == 200:  # the others may not be known as busy yet
            answers.append(client.get("/info"))
    assert answers[-1].status_code == 503
    assert answers[-1].headers["retry-after"] == "1"


class Held(ScriptedService):
    """Does nothing until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = threading.Event()

    def execute(self, request: StatementsRequest) -> list[object]:  # type: ignore[override]
        assert self.may_end.wait(10)
        return []


def asked(server: HttpServer, times: int) -> list[httpx.Response]:
    """The answers to as many requests at once, in the order in which they come."""
    answers: list[httpx.Response] = []

    def ask() -> None:
        answers.append(httpx.post(f"{server.address}/ksql", json={"ksql": "A;"}, timeout=20))

    threads = [threading.Thread(target=ask) for _ in range(times)]
    for thread in threads:
        thread.start()
    while len(answers) < times - 3:
        threads[0].join(0.01)
    for path in ("/healthcheck", "/info"):
        assert httpx.get(server.address + path).status_code in (200, 429)
    service = server._routes._service
    assert isinstance(service, Held)
    service.may_end.set()
    for thread in threads:
        thread.join()
    return answers


def test_requests_under_way(opened: ExitStack) -> None:
    server = start(opened, Held(), access=Access(requests=3))
    answers = asked(server, 10)
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [429] * 7
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["error_code"] == ErrorCode.TOO_MANY_REQUESTS
    assert refused.headers["retry-after"] == "1"


def test_work_that_waits(opened: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "Work", lambda threads, waiting, name: Work(1, 2, name))
    answers = asked(start(opened, Held()), 10)
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [429] * 7


def test_work_that_is_done_makes_room(opened: ExitStack, service: ScriptedService) -> None:
    server = start(opened, service, access=Access(requests=1))
    service.error = KsqlError(ErrorCode.BAD_STATEMENT, "no")
    for _ in range(300):
        assert httpx.post(f"{server.address}/ksql", json={"ksql": "A;"}).status_code == 400


def test_failed_logins(opened: ExitStack, service: ScriptedService) -> None:
    server = start(opened, service, access=Access({"anna": "geheim"}, TOKEN))
    url = f"{server.address}/info"
    good, bad = {"Authorization": f"Bearer {TOKEN}"}, {"Authorization": "Bearer wrong"}
    with httpx.Client() as client:
        for _ in range(20):
            assert client.get(url).status_code == 401  # who gives nothing guesses nothing
        assert client.get(url, headers=good).status_code == 200
        tried = [client.get(url, headers=bad).status_code for _ in range(12)]
        assert tried == [401] * 10 + [429] * 2
        refused = client.get(url, headers=good)
        assert refused.status_code == 429
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert client.get(url).status_code == 401
        assert client.get(f"{server.address}/healthcheck").status_code == 200


def test_what_the_server_is_not_ready_for(opened: ExitStack, service: ScriptedService) -> None:
    server = start(opened, service)
    service.error = KsqlError(ErrorCode.SERVER_NOT_READY, "soon")
    answer = httpx.post(f"{server.address}/ksql", json={"ksql": "A;"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    service.error = KsqlError(ErrorCode.MAX_PUSH_QUERIES_EXCEEDED, "too many")
    answer = httpx.post(f"{server.address}/query", json={"ksql": "A;"})
    assert (answer.status_code, answer.json()["error_code"]) == (429, 40003)
    assert answer.headers["retry-after"] == "1"
