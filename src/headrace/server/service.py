"""The server of an application, in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from functools import partial

import uvicorn

from headrace.core.config import StreamsConfig
from headrace.core.errors import ConfigError
from headrace.core.record import ConsumerRecord
from headrace.http.connections import Connections
from headrace.http.listening import bound, check_certificate, is_loopback, url
from headrace.kafka.latest_records import latest_records
from headrace.kafka.settings import ClientSettings
from headrace.server.application import Application
from headrace.server.dead_letters import ReadTopic
from headrace.server.gate import Access
from headrace.server.protocol import Protocol
from headrace.server.web import web

log = logging.getLogger("headrace.server")

_START_S = 10.0
_CLOSE_S = 2
_READ_S = 5.0


class Service:
    """Answers from when it is made until it is closed. Raises ConfigError if it can't, or if what
    it would serve to others isn't protected."""

    def __init__(self, application: Application) -> None:
        config = application.config
        host, port = _address(config["application.server"])
        certificate, key = config["server.certificate.file"], config["server.key.file"]
        _check_protection(config, host)
        access = Access(config["server.token"], (host,), config["server.requests.per.second"])
        self._secure = certificate is not None
        self._server = uvicorn.Server(
            uvicorn.Config(
                web(application, access, _reader(config)),
                http=partial(  # type: ignore[arg-type]
                    Protocol, Connections(config["server.connections"])
                ),
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ssl_certfile=certificate,
                ssl_keyfile=key,
                timeout_graceful_shutdown=_CLOSE_S,
            )
        )
        self._socket = bound(host, port, "application.server")
        self.host_and_port: tuple[str, int] = host, self._socket.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="headrace-server", daemon=True
        )
        self._thread.start()
        self._wait()
        log.info("The console and the REST API are at %s", self.address)

    @property
    def address(self) -> str:
        """As http://127.0.0.1:8080."""
        return url(*self.host_and_port, secure=self._secure)

    def close(self) -> None:
        self._server.should_exit = True
        if self._thread is not threading.current_thread():
            self._thread.join(_CLOSE_S + 1)
        self._socket.close()

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.close()
                raise ConfigError("The server could not be started. The log says why.")
            time.sleep(0.005)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def _check_protection(config: StreamsConfig, host: str) -> None:
    certificate, key = config["server.certificate.file"], config["server.key.file"]
    if (certificate is None) != (key is None):
        raise ConfigError(
            "server.certificate.file and server.key.file belong together: give both, or none."
        )
    if not is_loopback(host):
        names = ("server.token", "server.certificate.file", "server.key.file")
        missing = [name for name in names if config[name] is None]
        if missing:
            raise ConfigError(
                f"application.server is {host}, which other machines can reach: that needs "
                f"{', '.join(missing)} as well. Or use localhost."
            )
    if certificate is not None:
        check_certificate(certificate, key)


def _reader(config: StreamsConfig) -> ReadTopic:
    def read(topic: str, limit: int) -> list[ConsumerRecord]:
        return latest_records(ClientSettings(config), topic, limit, _READ_S)

    return read
