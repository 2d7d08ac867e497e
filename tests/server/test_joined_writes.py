"""Answers in one piece."""

from __future__ import annotations

import asyncio
from typing import Any

from headrace.server.joined_writes import JoinedWrites


class Transport:
    """Remembers what is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def test_what_is_written_in_one_turn_is_sent_at_once() -> None:
    async def run() -> Any:
        transport = Transport()
        joined = JoinedWrites(transport, asyncio.get_running_loop())
        joined.write(b"head ")
        joined.write(b"body")
        assert transport.sent == []
        await asyncio.sleep(0)
        assert transport.sent == [b"head body"]
        joined.write(b"last")
        joined.close()
        assert joined.is_closing()
        joined.write(b"too late")
        await asyncio.sleep(0)
        return transport.sent

    assert asyncio.run(run()) == [b"head body", b"last"]
