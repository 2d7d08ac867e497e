"""Requests at a fixed rate, and how long they take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
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
    """One that is kept, and makes one request after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, address: str) -> Connection:
        parts = urlsplit(address)
        return cls(*await asyncio.open_connection(parts.hostname, parts.port))

    async def get(self, path: str, tag: str = "") -> tuple[int, dict[str, str]]:
        """The status, and the headers with the size of the whole as `size`."""
        known = f"If-None-Match: {tag}\r\n" if tag else ""
        status, headers, _ = await self._ask(f"GET {path} HTTP/1.1\r\n{known}", b"")
        return status, headers

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """The status, and what was answered."""
        said = "Accept: application/json\r\nContent-Type: application/json\r\n"
        first = f"POST {path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n{said}"
        status, _, answer = await self._ask(first, body)
        return status, answer

    async def _ask(self, first: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        self._writer.write(f"{first}Host: localhost\r\n\r\n".encode() + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        line, *lines = head.decode().strip().split("\r\n")
        headers = dict(each.lower().split(": ", 1) for each in lines)
        if headers.get("transfer-encoding") == "chunked":
            answer = await self._chunks()
        else:
            answer = await self._reader.readexactly(int(headers.get("content-length", 0)))
        headers["size"] = str(len(head) + len(answer))
        return int(line.split()[1]), headers, answer

    async def _chunks(self) -> bytes:
        found = b""
        while True:
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            found += (await self._reader.readexactly(size + 2))[:-2]
            if not size:
                return found

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def at_rate(
    address: str,
    rate: int,
    go_on: Callable[[float], bool],
    ask: Callable[[Connection], Awaitable[bool]],
) -> tuple[list[float], int, float]:
    """How long requests took, how many failed, and over which time they were made. The time of one
    begins when it was due, so that one that waits for another is not left out."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(_CONNECTIONS):
        free.put_nowait(await Connection.open(address))
    took: list[float] = []
    failed = 0

    async def asked(due: float) -> None:
        nonlocal failed
        connection = await free.get()
        try:
            failed += not await ask(connection)
        finally:
            free.put_nowait(connection)
        took.append(time.perf_counter() - due)

    began = time.perf_counter()
    tasks = set()
    number = 0
    while go_on(time.perf_counter() - began):
        due = began + number / rate
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        task = asyncio.create_task(asked(due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        number += 1
    spent = time.perf_counter() - began
    await asyncio.gather(*tasks)
    while not free.empty():
        await free.get_nowait().close()
    return took, failed, spent
