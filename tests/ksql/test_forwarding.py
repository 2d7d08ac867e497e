"""What servers tell each other when one answers for another."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from headrace.ksql.errors import KsqlError
from headrace.ksql.forwarding import Forwarding
from headrace.ksql.http.access import Access
from headrace.ksql.http.server import HttpServer

from .http.test_access import made_certificate
from .servers import CLICKS, COUNTS, Appointed, TestServer

TOKEN = "0123456789abcdef"
QUERY = "SELECT * FROM counts;"


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def leader(opened: ExitStack) -> TestServer:
    """A server that has rows."""
    server = TestServer(leadership=Appointed(True))
    opened.callback(server.close)
    server.run(CLICKS + COUNTS + "INSERT INTO clicks VALUES ('a', 1);")
    server.settle()
    return server


def follower(
    opened: ExitStack, leader: TestServer, address: str, forwarding: Forwarding
) -> TestServer:
    """Another server, which takes the one at an address for the leader."""
    server = TestServer(
        leader.cluster, leader.log, leadership=Appointed(False, address), forwarding=forwarding
    )
    opened.callback(server.close)
    return server


def served(opened: ExitStack, server: TestServer, access: Access) -> str:
    http = HttpServer(server.server, port=0, access=access)
    opened.callback(http.close)
    return http.address


def test_servers_with_the_same_token(opened: ExitStack, leader: TestServer) -> None:
    address = served(opened, leader, Access(token=TOKEN))
    other = follower(opened, leader, address, Forwarding(TOKEN))
    assert other.rows(QUERY) == [("a", 1)]


@pytest.mark.parametrize("token", [None, "another_one_of_16"])
def test_servers_with_different_tokens(
    opened: ExitStack, leader: TestServer, token: str | None
) -> None:
    address = served(opened, leader, Access({"anna": "geheim"}, TOKEN))
    other = follower(opened, leader, address, Forwarding(token))
    with pytest.raises(KsqlError, match=r"same server\.token"):
        other.rows(QUERY)


def test_servers_with_a_certificate_of_their_own(
    opened: ExitStack, leader: TestServer, tmp_path: Path
) -> None:
    certificate = made_certificate(tmp_path)
    http = HttpServer(
        leader.server, "localhost", 0, access=Access(token=TOKEN), certificate=certificate
    )
    opened.callback(http.close)
    other = follower(opened, leader, http.address, Forwarding(TOKEN, certificate.file))
    assert other.rows(QUERY) == [("a", 1)]
    stranger = follower(opened, leader, http.address, Forwarding(TOKEN))
    with pytest.raises(KsqlError, match="certificate"):
        stranger.rows(QUERY)


@contextmanager
def impostor(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Somebody who says in Kafka to be the leader: its address, and what it is told."""
    told: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def listen() -> None:
            connection, _ = listening.accept()
            with connection:
                told.append(connection.recv(65536))
                connection.sendall(answer)

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", told
        thread.join(10)


def test_an_impostor_learns_no_secret_and_is_not_believed(
    opened: ExitStack, leader: TestServer
) -> None:
    body = b'{"queryId":"x"}\n["a",666]\n'
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with impostor(head + body) as (address, told):
        other = follower(opened, leader, address, Forwarding(TOKEN))
        with pytest.raises(KsqlError, match="has not proved"):
            other.rows(QUERY)
    (request,) = told
    assert b"authorization" in request.lower()
    assert TOKEN.encode() not in request

    # What it was told doesn't let it in elsewhere.
    real = HttpServer(leader.server, port=0, access=Access(token=TOKEN))
    opened.callback(real.close)
    with socket.create_connection(real.host_and_port) as connection:
        connection.sendall(request)
        assert connection.recv(65536).startswith(b"HTTP/1.1 401")


def test_no_other_host_is_asked_over_plain_http(opened: ExitStack, leader: TestServer) -> None:
    other = follower(opened, leader, "http://192.0.2.1:8088", Forwarding(TOKEN))
    with pytest.raises(KsqlError, match="over plain HTTP no other host"):
        other.rows(QUERY)
