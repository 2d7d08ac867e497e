"""Answers in one piece."""

from __future__ import annotations

import asyncio
from typing import Any


class JoinedWrites:
    """A transport that sends together what is written in one turn of the event loop: uvicorn writes
    the head of an answer and its body, and each would be a packet, which the client wakes up for.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._written:
            self._loop.call_soon(self._send)
        self._written.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        written, self._written = self._written, []
        if written and not self._transport.is_closing():
            self._transport.write(b"".join(written))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
