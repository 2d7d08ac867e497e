"""A connection that has not asked yet."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import cast

from headrace.http.connections import Connection, Connections

HEAD_S = 10.0
"""How long the head of the first request may take."""

_MOST_BYTES = 16 * 1024
_ENOUGH = re.compile(rb"\A[\x00-\x20]|\n\r?\n")
"""A whole head, also that of HTTP/2, or what can't become one."""
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Length: 0\r\n\r\n"
)

Welcome = Callable[[Connection], asyncio.StreamReaderProtocol]
"""Makes what serves a connection from its first request on."""


class Arrival(asyncio.Protocol):
    """Keeps what comes until it is the head of a request; only then is there more than this of a
    connection. Who sends half a request costs next to nothing, however often he comes."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, connections: Connections, welcome: Welcome
    ) -> None:
        self._loop = loop
        self._connections = connections
        self._welcome = welcome
        self._received = bytearray()
        self._place: Connection | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._place = self._connections.opened(self._transport.abort)
        if self._place is None:
            self._transport.write(_BUSY)
            self._transport.close()
            return
        self._patience = self._loop.call_later(HEAD_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        if self._place is None:
            return
        known = len(self._received)
        self._received += data
        is_long = len(self._received) > _MOST_BYTES
        if is_long or _ENOUGH.search(self._received, max(0, known - 2)):
            self._hand_over(self._place)

    def connection_lost(self, error: Exception | None) -> None:
        if self._place is not None:
            self._patience.cancel()
            self._place.ended()

    def _hand_over(self, place: Connection) -> None:
        self._patience.cancel()
        served = self._welcome(place)
        self._transport.set_protocol(served)
        served.connection_made(self._transport)
        served.data_received(bytes(self._received))
