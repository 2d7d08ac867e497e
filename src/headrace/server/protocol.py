"""A connection as uvicorn has it, with limits that it hasn't."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headrace.http.connections import Connection, Connections
from headrace.server.joined_writes import JoinedWrites

HEAD_S = 10.0
"""How long the head of a request may take."""

_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Length: 0\r\n\r\n"
)


class Protocol(HttpToolsProtocol):
    """uvicorn's. It needs a place among the connections, waits for the head of a request for so
    long and no longer, and sends answers in one piece."""

    def __init__(self, connections: Connections, **of_uvicorn: Any) -> None:
        super().__init__(**of_uvicorn)
        self._places = connections
        self._place: Connection | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
        self._place = self._places.opened(transport.abort)
        if self._place is None:
            transport.write(_BUSY)
            transport.close()
        else:
            self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_head()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        if self._place is not None:
            self._place.busy()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._place is not None and self.cycle.response_complete:
            self._place.idle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._place is not None:
            self._place.ended()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
