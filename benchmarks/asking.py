"""Requests at a fixed rate, and how long they take."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

_CONNECTIONS = 8


@dataclass(frozen=True)
class Latencies:
    """Milliseconds."""

    lookups: int
    failed: int
    per_second: float
    p50: float
    p99: float
    max: float

    @classmethod
    def of(cls, seconds: list[float], failed: int, spent_s: float) -> Latencies:
        found = sorted(second * 1000 for second in seconds) or [float("nan")]

        def at(share: float) -> float:
            return round(found[min(len(found) - 1, int(share * len(found)))], 2)

        rate = round(len(seconds) / spent_s, 1)
        return cls(len(seconds), failed, rate, at(0.5), at(0.99), round(found[-1], 2))


class Connection:
    """One that is kept, and makes one request after the other. It does little more than write and
    read: who asks is on the same machine, and takes as little of it as can be."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._socket = socket.create_connection((parts.hostname, parts.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = b""

    def get(self, path: str, tag: str = "") -> tuple[int, dict[str, str]]:
        """The status, and the headers with the size of the whole as `size`."""
        known = f"If-None-Match: {tag}\r\n" if tag else ""
        status, headers, _ = self._ask(f"GET {path} HTTP/1.1\r\n{known}", b"")
        return status, headers

    def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """The status, and what was answered."""
        said = "Accept: application/json\r\nContent-Type: application/json\r\n"
        first = f"POST {path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n{said}"
        status, _, answer = self._ask(first, body)
        return status, answer

    def close(self) -> None:
        self._socket.close()

    def _ask(self, first: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        self._socket.sendall(f"{first}Host: localhost\r\n\r\n".encode() + body)
        head = self._until(b"\r\n\r\n")
        line, *lines = head.decode().strip().split("\r\n")
        headers = dict(each.lower().split(": ", 1) for each in lines)
        if headers.get("transfer-encoding") == "chunked":
            answer = self._chunks()
        else:
            answer = self._exactly(int(headers.get("content-length", 0)))
        headers["size"] = str(len(head) + len(answer))
        return int(line.split()[1]), headers, answer

    def _chunks(self) -> bytes:
        found = b""
        while True:
            size = int(self._until(b"\r\n"), 16)
            found += self._exactly(size + 2)[:-2]
            if not size:
                return found

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._read:
            self._receive()
        return self._exactly(self._read.index(mark) + len(mark))

    def _exactly(self, size: int) -> bytes:
        while len(self._read) < size:
            self._receive()
        found, self._read = self._read[:size], self._read[size:]
        return found

    def _receive(self) -> None:
        more = self._socket.recv(65536)
        if not more:
            raise ConnectionError("The server has closed the connection.")
        self._read += more


def at_rate(
    address: str, rate: int, go_on: Callable[[float], bool], ask: Callable[[Connection], bool]
) -> tuple[list[float], int, float]:
    """How long requests took, how many failed, and over which time they were made. The time of one
    begins when it was due, so that one that waits for another is not left out."""
    took: list[float] = []
    failed: list[int] = []
    numbers = itertools.count()
    began = time.perf_counter()

    def client() -> None:
        connection = Connection(address)
        while True:
            due = began + next(numbers) / rate
            wait = due - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            if not go_on(time.perf_counter() - began):
                connection.close()
                return
            failed.append(not ask(connection))
            took.append(time.perf_counter() - due)

    clients = [threading.Thread(target=client) for _ in range(_CONNECTIONS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    return took, sum(failed), time.perf_counter() - began
