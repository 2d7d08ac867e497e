"""What workers and nodes tell the driver while a batch is running, and what it tells nodes."""

from __future__ import annotations

import hmac
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson

from headrace.core.record import TopicPartition

Send = Callable[[Any], None]


class EventServer:
    """Hears of what happens in workers: (event, store, topic, partition, numbers …), or ("alive",).

    `on_event(event, send)`: with `send`, who told it can be told something in turn. When a
    connection ends, the event is ("gone",). `address` is what a sender needs.
    """

    def __init__(self, host: str, on_event: Callable[[list[Any], Send], None]) -> None:
        token = secrets.token_hex(16)

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                if not hmac.compare_digest(self.rfile.readline().strip(), token.encode()):
                    return
                try:
                    for line in self.rfile:
                        on_event(orjson.loads(line), self.tell)
                finally:
                    on_event(["gone"], self.tell)

            def tell(self, message: Any) -> None:
                with suppress(OSError):  # who is gone is heard of by the end of the connection
                    self.wfile.write(orjson.dumps(message) + b"\n")

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a worker that died in the middle of a line

        self._server = Server((host, 0), Handler)
        self.address = (host, int(self._server.server_address[1]), token)
        threading.Thread(
            target=self._server.serve_forever, name="headrace-events", daemon=True
        ).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class EventSender:
    """A listener that tells the driver. If the driver can't be reached, nobody is told."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._address = host, port
        self._token = token
        self._socket: socket.socket | None = None
        self._sent_at = time.monotonic()

    def alive(self) -> None:
        """Said once a second at most."""
        if time.monotonic() - self._sent_at > 1.0:
            self._send("alive")

    def restore_started(self, store: str, partition: TopicPartition, start: int, end: int) -> None:
        self._send("restore_started", store, *partition, start, end)

    def batch_restored(
        self, store: str, partition: TopicPartition, offset: int, records: int
    ) -> None:
        self._send("batch_restored", store, *partition, offset, records)

    def restore_ended(self, store: str, partition: TopicPartition, records: int) -> None:
        self._send("restore_ended", store, *partition, records)

    def _send(self, *event: str | int) -> None:
        self._sent_at = time.monotonic()
        line = orjson.dumps(event) + b"\n"
        try:
            if self._socket is None:
                self._socket = socket.create_connection(self._address, timeout=5)
                self._socket.sendall(self._token.encode() + b"\n")
            self._socket.sendall(line)
        except OSError:
            self._socket = None
