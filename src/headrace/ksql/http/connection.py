"""A connection as hypercorn has it, with limits that it hasn't."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.events import Event, Updated

from headrace.http.connections import Connection
from headrace.ksql.http.arrival import HEAD_S


class HypercornConnection(TCPServer):
    """Serves a connection that has a place, from when its first request arrives."""

    def __init__(self, *given: Any) -> None:
        *of_hypercorn, place = given
        super().__init__(*of_hypercorn)
        self._place: Connection = place
        self._asked = False

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            self._place.ended()

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, Updated):
            self._asked = True
            if event.idle:
                self._place.idle()
            else:
                self._place.busy()
        await super().protocol_send(event)

    async def _idle_timeout(self) -> None:
        """A connection on which nothing goes on is closed after a while; one of HTTP/2 that has
        never asked anything, soon."""
        limit_s = self.config.keep_alive_timeout if self._asked else HEAD_S
        with suppress(TimeoutError):
            await asyncio.wait_for(self.context.terminated.wait(), limit_s)
        await asyncio.shield(self._initiate_server_close())
