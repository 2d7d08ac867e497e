"""The settings of the HTTP server."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.core.errors import ConfigError
from headrace.ksql.http.access import Access, read_users
from headrace.ksql.http.server import Certificate, HttpServer
from headrace.ksql.service import Service

PREFIX = "server."
TOKEN = "server.token"
USERS_FILE = "server.users.file"
CERTIFICATE_FILE = "server.certificate.file"
KEY_FILE = "server.key.file"
RATE = "server.requests.per.second"
_DEFAULT_RATE = 1000


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
        service, host, port, access=access_of(settings, host), certificate=certificate
    )


def without_http(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are not the HTTP server's: it keeps secrets to itself."""
    return {name: value for name, value in settings.items() if not name.startswith(PREFIX)}


def access_of(settings: Mapping[str, Any], host: str = "localhost") -> Access:
    """Who may come in."""
    users = settings.get(USERS_FILE)
    token = settings.get(TOKEN)
    try:
        rate = int(settings.get(RATE, _DEFAULT_RATE))
    except (TypeError, ValueError):
        raise ConfigError(f"{RATE} must be a number, not {settings[RATE]!r}.") from None
    return Access(
        {} if users is None else read_users(Path(str(users))),
        None if token is None else str(token),
        (host,),
        rate,
    )


def forwarding_headers(access: Access) -> dict[str, str]:
    """What lets us into other servers with these settings."""
    if access.token is not None:
        return {"Authorization": f"Bearer {access.token}"}
    for name, password in access.users.items():
        encoded = base64.b64encode(f"{name}:{password}".encode()).decode()
        return {"Authorization": f"Basic {encoded}"}
    return {}


def _certificate(settings: Mapping[str, Any]) -> Certificate | None:
    file, key = settings.get(CERTIFICATE_FILE), settings.get(KEY_FILE)
    if (file is None) != (key is None):
        raise ConfigError(f"{CERTIFICATE_FILE} and {KEY_FILE} belong together: give both, or none.")
    if file is None:
        return None
    return Certificate(Path(str(file)), Path(str(key)))
