"""The HTTP server, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.typing import ASGIFramework
from hypercorn.utils import wrap_app

from headrace.core.errors import ConfigError
from headrace.http.connections import Connection, Connections
from headrace.http.listening import bound, check_certificate, is_loopback, url
from headrace.http.loop import event_loop
from headrace.ksql.http.access import Access
from headrace.ksql.http.arrival import Arrival
from headrace.ksql.http.connection import HypercornConnection
from headrace.ksql.http.gate import Gate
from headrace.ksql.http.routes import Routes
from headrace.ksql.service import Service

log = logging.getLogger("headrace.ksql")

_START_S = 10.0
_CLOSE_S = 2.0
_IDLE_S = 60.0
DEFAULT_CONNECTIONS = 1000
_MOMENT_S = 0.01


@dataclass(frozen=True)
class Certificate:
    """Files of PEM: a certificate, and its key."""

    file: Path
    key_file: Path


class HttpServer:
    """Answers from when it is made until it is closed. Raises ConfigError if it can't, or if what
    it would serve to other machines isn't protected."""

    def __init__(
        self,
        service: Service,
        host: str = "127.0.0.1",
        port: int = 8088,
        *,
        access: Access | None = None,
        certificate: Certificate | None = None,
        connections: int = DEFAULT_CONNECTIONS,
    ) -> None:
        access = access or Access()
        _check_protection(host, access, certificate)
        self._secure = certificate is not None
        self._routes = Routes(service)
        self._connections = Connections(connections)
        self._socket = bound(host, port, "listeners")
        self.host_and_port: tuple[str, int] = host, self._socket.getsockname()[1]
        if not access.advertised:
            access = replace(access, advertised=urlsplit(self.address).netloc)
        self._gate = Gate(self._routes.app(), access)
        self._config = self._configuration(certificate)
        self._loop = event_loop()
        self._stop = asyncio.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ksql-http", daemon=True)
        self._thread.start()
        if not self._started.wait(_START_S):
            self.close()
            raise ConfigError("The HTTP server could not be started. The log says why.")

    @property
    def address(self) -> str:
        """As http://127.0.0.1:8088."""
        return url(*self.host_and_port, secure=self._secure)

    def close(self) -> None:
        """Answers that are under way have a moment to end."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop)
            self._thread.join(2 * _CLOSE_S)
        self._routes.close()

    async def _end(self) -> None:
        """Streams go first: they would not end by themselves."""
        open_streams = self._routes.open_streams
        deadline = self._loop.time() + _CLOSE_S / 2
        while len(open_streams) and self._loop.time() < deadline:
            open_streams.end()
            await asyncio.sleep(_MOMENT_S)
        self._stop.set()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(self._unhandled)
        try:
            self._loop.run_until_complete(self._serve())
        except Exception:
            # What was cancelled when it stopped is no failure.
            level = logging.DEBUG if self._stop.is_set() else logging.ERROR
            log.log(level, "The HTTP server has failed", exc_info=True)
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    async def _serve(self) -> None:
        """As hypercorn does, but for the connections, which it has no limits for."""
        app = wrap_app(cast(ASGIFramework, self._gate), 0, "asgi")  # Starlette's types are looser
        context = WorkerContext(None)
        under_way: set[asyncio.Task[Any]] = set()

        def welcome(place: Connection) -> asyncio.StreamReaderProtocol:
            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = asyncio.current_task()
                assert task is not None
                under_way.add(task)
                task.add_done_callback(under_way.discard)
                await HypercornConnection(
                    app, self._loop, self._config, context, {}, reader, writer, place
                ).run()

            reader = asyncio.StreamReader(loop=self._loop)
            return asyncio.StreamReaderProtocol(reader, serve, self._loop)

        server = await self._loop.create_server(
            lambda: Arrival(self._loop, self._connections, welcome),
            sock=self._socket,
            backlog=self._config.backlog,
            ssl=self._config.create_ssl_context(),
        )
        self._started.set()
        await self._stop.wait()
        await context.terminated.set()
        server.close()
        if under_way:
            await asyncio.wait(under_way, timeout=_CLOSE_S)
        for task in under_way:
            task.cancel()
        self._connections.close_idle()

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A connection ended in a way that the server didn't expect."""
        error = context.get("exception")
        if not self._stop.is_set() and not isinstance(error, OSError):
            log.warning("A connection was broken off: %r", error or context.get("message"))
        log.debug("A connection was broken off", exc_info=error)

    def _configuration(self, certificate: Certificate | None) -> Config:
        config = Config()
        if certificate is not None:
            config.certfile, config.keyfile = str(certificate.file), str(certificate.key_file)
        config.include_server_header = False
        config.errorlog = logging.getLogger("headrace.ksql.http")
        config.errorlog.setLevel(logging.WARNING)
        config.graceful_timeout = _CLOSE_S
        config.keep_alive_timeout = _IDLE_S
        config.keep_alive_max_requests = 1_000_000
        config.backlog = 1024
        return config


def _check_protection(host: str, access: Access, certificate: Certificate | None) -> None:
    if certificate is not None:
        check_certificate(certificate.file, certificate.key_file)
    if is_loopback(host):
        return
    missing = []
    if not access.is_protected:
        missing.append("server.token or server.users.file")
    if certificate is None:
        missing.append("server.certificate.file and server.key.file")
    if missing:
        raise ConfigError(
            f"listeners has {host}, which other machines can reach: that needs "
            f"{', and '.join(missing)} as well. Or use localhost."
        )
