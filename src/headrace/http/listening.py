"""Where a server listens, and what that takes."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from pathlib import Path

from headrace.core.errors import ConfigError


def bound(host: str, port: int, setting: str) -> socket.socket:
    """A socket at an address. If there can't be one, ConfigError names the setting."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
        )
    except (OSError, UnicodeError, OverflowError) as error:
        raise ConfigError(
            f"{setting} can't be {host}:{port}: {error}. Choose another port, or 0 for any that is "
            "free."
        ) from error


def url(host: str, port: int, *, secure: bool) -> str:
    """As http://127.0.0.1:8080."""
    return f"http{'s' * secure}://{f'[{host}]' if ':' in host else host}:{port}"


def without_port(host: str) -> str:
    """The name in what a request says of its host."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_certificate(file: str | Path, key_file: str | Path) -> None:
    """Raises ConfigError if they can't be used."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file, key_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"The certificate {file} with the key {key_file} can't be used: {error}. Both must be "
            "PEM files, and belong together."
        ) from error
