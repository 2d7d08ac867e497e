"""The proxy passes on what it doesn't lose, and knows commits from all else."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator

import pytest

from .outages import check_producers
from .proxy import EndTxn, KafkaProxy, Loss


def end_txn(correlation: int, epoch: int = 0, *, commits: bool = True) -> bytes:
    head = struct.pack(">hhi", 26, 1, correlation) + struct.pack(">h", 2) + b"me"
    body = struct.pack(">h", 5) + b"app-0" + struct.pack(">qhb", 77, epoch, commits)
    return head + body


def other(correlation: int) -> bytes:
    return struct.pack(">hhih", 3, 1, correlation, -1) + b"metadata"


class Broker(socketserver.StreamRequestHandler):
    """Answers every request with its correlation id and its body."""

    def handle(self) -> None:
        while size := self.rfile.read(4):
            frame = self.rfile.read(*struct.unpack(">i", size))
            answer = frame[4:8] + frame
            self.wfile.write(struct.pack(">i", len(answer)) + answer)


@pytest.fixture
def proxy() -> Iterator[KafkaProxy]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Broker) as broker:
        broker.daemon_threads = True
        threading.Thread(target=broker.serve_forever, daemon=True).start()
        with KafkaProxy(delay_s=0.2) as proxy:
            proxy.connect(f"127.0.0.1:{broker.server_address[1]}")
            yield proxy
        broker.shutdown()


class Client:
    def __init__(self, proxy: KafkaProxy) -> None:
        self._socket = socket.create_connection(("127.0.0.1", proxy.ports[0]), timeout=10)
        self._answers = self._socket.makefile("rb")

    def ask(self, *frames: bytes) -> None:
        for frame in frames:
            self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def answer(self) -> int | None:
        """The correlation id of the next answer; None if the connection is closed."""
        size = self._answers.read(4)
        if not size:
            return None
        frame = self._answers.read(*struct.unpack(">i", size))
        return int(struct.unpack(">i", frame[:4])[0])

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


@pytest.fixture
def client(proxy: KafkaProxy) -> Iterator[Client]:
    client = Client(proxy)
    yield client
    client.close()


def test_everything_is_passed_on(proxy: KafkaProxy, client: Client) -> None:
    client.ask(other(1), end_txn(2), other(3))
    assert [client.answer() for _ in range(3)] == [1, 2, 3]
    assert proxy.ends == [(EndTxn("app-0", 77, 0, True), None)]


def test_an_answer_that_is_dropped(proxy: KafkaProxy, client: Client) -> None:
    proxy.lose([Loss.DROPPED])
    client.ask(other(1), end_txn(2, commits=False), end_txn(3), other(4), end_txn(5))
    assert [client.answer() for _ in range(4)] == [1, 2, 4, 5]
    assert proxy.lost == [(EndTxn("app-0", 77, 0, True), Loss.DROPPED)]
    assert proxy.pending == 0


def test_an_answer_that_is_late(proxy: KafkaProxy, client: Client) -> None:
    proxy.lose([Loss.DELAYED])
    client.ask(end_txn(1), other(2))
    assert [client.answer() for _ in range(2)] == [1, 2]


def test_a_connection_that_is_cut(proxy: KafkaProxy, client: Client) -> None:
    proxy.lose([Loss.CUT])
    client.ask(end_txn(1))
    assert client.answer() is None


@pytest.mark.parametrize("name", ["app-0", "a" * 200])
def test_the_newer_form(name: str) -> None:
    length = len(name) + 1
    size = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
    head = struct.pack(">hhih", 26, 5, 1, 2) + b"me" + b"\0"
    frame = head + size + name.encode() + struct.pack(">qhb", 77, 3, 1) + b"\0"
    assert EndTxn.read(frame) == EndTxn(name, 77, 3, True)


def test_a_producer_that_is_used_again_is_noticed() -> None:
    lost, again, fresh = (EndTxn("app-0", 77, epoch, True) for epoch in (1, 1, 2))
    check_producers([(lost, Loss.DROPPED), (fresh, None)])
    with pytest.raises(AssertionError, match="after an unknown outcome"):
        check_producers([(lost, Loss.DROPPED), (again, None), (fresh, None)])


def test_an_epoch_that_goes_back_is_noticed() -> None:
    with pytest.raises(AssertionError, match="comes after epoch 2"):
        check_producers([(EndTxn("app-0", 77, epoch, True), None) for epoch in (2, 1)])
