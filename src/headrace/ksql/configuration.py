"""The configuration of a server: ksqlDB's settings, and those of Kafka Streams and Spark."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.core.config_sources import from_file
from headrace.core.errors import ConfigError
from headrace.sql.settings import STREAMS_PREFIX
from headrace.sql.statements.session import SERVICE_ID

LISTENERS = "listeners"
ADVERTISED = "ksql.advertised.listener"
DEFAULT_LISTENER = "http://127.0.0.1:8088"

DEFAULTS: Mapping[str, Any] = {SERVICE_ID: "default_", "auto.offset.reset": "latest"}
"""What is set unless the configuration says otherwise."""

_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104, to be recognised
_OF_THE_SERVER = ("ksql.", LISTENERS, "authentication.", "host.name")


def settings_of(path: Path | None, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a file, with those that are given over them. Raises ConfigError if the file
    can't be read, or `bootstrap.servers` is missing."""
    settings = {} if path is None else {each.key: each.value for each in from_file(path)}
    settings |= given or {}
    if not settings.get("bootstrap.servers"):
        raise ConfigError("bootstrap.servers isn't set: where is Kafka?")
    return settings


def service_id(settings: Mapping[str, Any]) -> str:
    """What names of the server's own topics and groups have in them."""
    return str(settings.get(SERVICE_ID, DEFAULTS[SERVICE_ID]))


def streams_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is for applications and clients, under Kafka Streams' names: what isn't the server's
    own, and what is said to be for them by `ksql.streams.`."""
    given = {name: value for name, value in settings.items() if not name.startswith(_OF_THE_SERVER)}
    for name, value in settings.items():
        if name.startswith(STREAMS_PREFIX):
            given[name.removeprefix(STREAMS_PREFIX)] = value
    return given


def number(settings: Mapping[str, Any], name: str, default: int) -> int:
    """A setting that is a number of 1 or more. Raises ConfigError if it is something else."""
    try:
        found = int(settings.get(name, default))
    except (TypeError, ValueError):
        raise ConfigError(f"{name} must be a number, not {settings[name]!r}.") from None
    if found < 1:
        raise ConfigError(f"{name} must be 1 or more, not {found}.")
    return found


def listener(settings: Mapping[str, Any]) -> str:
    """The address to listen at. Raises ConfigError if it isn't one."""
    return _address(str(settings.get(LISTENERS, DEFAULT_LISTENER)).split(",")[0].strip())


def advertised(settings: Mapping[str, Any]) -> str:
    """The address at which other servers reach this one."""
    given = settings.get(ADVERTISED)
    if given is not None:
        return _address(str(given))
    url = urlsplit(listener(settings))
    if url.hostname not in _EVERYWHERE:
        return url.geturl()
    return f"{url.scheme}://{socket.getfqdn()}:{url.port or 8088}"


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{url!r} isn't an address such as {DEFAULT_LISTENER}.")
    return url
