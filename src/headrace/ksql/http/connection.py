"""A connection as hypercorn has it, with limits that it hasn't."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.events import Event, Updated

from headrace.http.connections import Connections

HEAD_S = 10.0
"""How long the head of the first request may take."""

_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Length: 0\r\n\r\n"
)


class HypercornConnection(TCPServer):
    """Serves one connection, if there is room for it."""

    def __init__(self, *given: Any) -> None:
        *of_hypercorn, connections = given
        super().__init__(*of_hypercorn)
        self._connections: Connections = connections
        self._asked = False

    async def run(self) -> None:
        connection = self._connections.opened(self._abort)
        if connection is None:
            self.writer.write(_BUSY)
            await self._close()
            return
        self._place = connection
        try:
            await super().run()
        finally:
            connection.ended()

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, Updated):
            self._asked = True
            if event.idle:
                self._place.idle()
            else:
                self._place.busy()
        await super().protocol_send(event)

    async def _idle_timeout(self) -> None:
        """A connection on which nothing goes on is closed after a while; one that has never asked
        anything, soon."""
        limit_s = self.config.keep_alive_timeout if self._asked else HEAD_S
        with suppress(TimeoutError):
            await asyncio.wait_for(self.context.terminated.wait(), limit_s)
        await asyncio.shield(self._initiate_server_close())

    def _abort(self) -> None:
        self.writer.transport.abort()
