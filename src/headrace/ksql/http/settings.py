"""The settings of the HTTP server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.core.errors import ConfigError
from headrace.core.setting_checks import token
from headrace.ksql.configuration import advertised, number
from headrace.ksql.forwarding import Forwarding
from headrace.ksql.http.access import Access, read_users
from headrace.ksql.http.server import DEFAULT_CONNECTIONS, Certificate, HttpServer
from headrace.ksql.service import Service

PREFIX = "server."
TOKEN = "server.token"  # noqa: S105, the name of a setting
USERS_FILE = "server.users.file"
CERTIFICATE_FILE = "server.certificate.file"
KEY_FILE = "server.key.file"
RATE = "server.requests.per.second"
REQUESTS = "server.requests"
CONNECTIONS = "server.connections"
_DEFAULT_RATE = 1000
_DEFAULT_REQUESTS = 500


def http_server(service: Service, listener: str, settings: Mapping[str, Any]) -> HttpServer:
    """A server at an address such as http://127.0.0.1:8088. Raises ConfigError if a setting is
    wrong."""
    parts = urlsplit(listener)
    certificate = _certificate(settings)
    if (parts.scheme == "https") != (certificate is not None):
        raise ConfigError(
            f"The listener is {listener}: an https one has {CERTIFICATE_FILE} and {KEY_FILE}, and "
            "an http one has not."
        )
    host = parts.hostname or "127.0.0.1"
    port = 8088 if parts.port is None else parts.port
    return HttpServer(
        service,
        host,
        port,
        access=access_of(settings, host),
        certificate=certificate,
        connections=number(settings, CONNECTIONS, DEFAULT_CONNECTIONS),
    )


def without_http(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are not the HTTP server's: it keeps secrets to itself."""
    return {name: value for name, value in settings.items() if not name.startswith(PREFIX)}


def access_of(settings: Mapping[str, Any], host: str = "localhost") -> Access:
    """Who may come in. Raises ConfigError if a setting is wrong."""
    users = settings.get(USERS_FILE)
    return Access(
        {} if users is None else read_users(Path(str(users))),
        _token(settings),
        (host,),
        number(settings, RATE, _DEFAULT_RATE),
        number(settings, REQUESTS, _DEFAULT_REQUESTS),
        urlsplit(advertised(settings)).netloc,
    )


def forwarding_of(settings: Mapping[str, Any]) -> Forwarding:
    """How other servers with these settings are asked."""
    certificate = _certificate(settings)
    return Forwarding(_token(settings), None if certificate is None else certificate.file)


def _token(settings: Mapping[str, Any]) -> str | None:
    given = settings.get(TOKEN)
    if given is None:
        return None
    wrong = token(str(given))
    if wrong is not None:
        raise ConfigError(f"{TOKEN} {wrong}.")
    return str(given)


def _certificate(settings: Mapping[str, Any]) -> Certificate | None:
    file, key = settings.get(CERTIFICATE_FILE), settings.get(KEY_FILE)
    if (file is None) != (key is None):
        raise ConfigError(f"{CERTIFICATE_FILE} and {KEY_FILE} belong together: give both, or none.")
    if file is None:
        return None
    return Certificate(Path(str(file)), Path(str(key)))
