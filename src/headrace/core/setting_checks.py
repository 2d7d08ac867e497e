"""What values of settings must be."""

from __future__ import annotations

from typing import Any

from headrace.core.setting import Check

OPTIMIZATIONS = (
    "reuse.ktable.source.topics",
    "merge.repartition.topics",
    "single.store.self.join",
)


def one_of(*allowed: object) -> Check:
    def check(value: Any) -> str | None:
        return None if value in allowed else f"must be one of {', '.join(map(repr, allowed))}"

    return check


def at_least(minimum: int) -> Check:
    def check(value: Any) -> str | None:
        return None if value >= minimum else f"must be at least {minimum}"

    return check


def optimizations(value: str) -> str | None:
    names = [name.strip() for name in value.split(",")]
    if names in (["none"], ["all"]) or all(name in OPTIMIZATIONS for name in names):
        return None
    return f"must be 'none', 'all' or a list of {', '.join(OPTIMIZATIONS)}"


def function(value: Any) -> str | None:
    return None if callable(value) else "must be a function"


def reference(value: str) -> str | None:
    module, _, function = value.partition(":")
    return None if module and function else "must be 'module:function'"


def serde(value: Any) -> str | None:
    return None if hasattr(value, "deserialize") else "must be a serde, such as serdes.string()"


def application_id(value: str) -> str | None:
    legal = value.isascii() and all(char.isalnum() or char in "._-" for char in value)
    if value and legal:
        return None
    return "must be of letters, digits, '.', '_' and '-', as it is part of the names of topics"


def servers(value: str) -> str | None:
    servers = [server.strip() for server in value.split(",")]
    wrong = [server for server in servers if not _is_address(server)]
    return "must be a list of host:port" if wrong else None


def _is_address(server: str) -> bool:
    host, _, port = server.rpartition("://")[2].rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 65536


def server(value: str) -> str | None:
    host, colon, port = value.rpartition(":")
    is_port = port.isdecimal() and int(port) < 65536
    is_host = not host or ":" not in host or host.startswith("[")
    return None if colon and is_port and is_host else "must be host:port"


def token(value: str) -> str | None:
    legal = value.isascii() and value.isprintable() and " " not in value
    return None if len(value) >= 16 and legal else "must have 16 characters or more, and no spaces"


def replicas(value: int) -> str | None:
    return None if value == -1 or value > 0 else "must be positive, or -1 for the broker's default"
