"""Who may come in."""

from __future__ import annotations

import base64
import binascii
import hmac
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from headrace.core.errors import ConfigError
from headrace.http.peers import PeerKey


@dataclass(frozen=True)
class Access:
    """Who may come in, and how often.

    Users come with HTTP Basic, programs with a bearer token. If there are neither, only programs of
    this machine can reach us, but a browser there may be led here by a page from anywhere: so the
    host that it asks for must be one of `hosts`.
    """

    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Passwords by name."""
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    rate: int = 1000
    """Requests a second of one client."""
    requests: int = 500
    """Requests of all clients that are under way at once."""
    advertised: str = ""
    """`host:port`, as other servers know this one."""

    @property
    def is_protected(self) -> bool:
        return bool(self.users) or self.token is not None

    @cached_property
    def peers(self) -> PeerKey | None:
        """What other servers of the service have too."""
        return None if self.token is None else PeerKey(self.token)

    def allows(self, authorization: str) -> bool:
        """Whether the header Authorization lets its sender in."""
        kind, _, given = authorization.partition(" ")
        if kind.lower() == "bearer":
            return self.allows_token(given.strip())
        if kind.lower() != "basic":
            return False
        try:
            user, _, password = base64.b64decode(given.strip(), validate=True).partition(b":")
            known = self.users.get(user.decode())
        except (binascii.Error, UnicodeDecodeError):
            return False
        # In constant time, so that nobody can guess it letter by letter.
        matches = hmac.compare_digest(password, (known or "").encode())
        return matches and known is not None

    def allows_token(self, token: str) -> bool:
        if self.token is None:
            return False
        return hmac.compare_digest(token.encode(), self.token.encode())


def read_users(path: Path) -> dict[str, str]:
    """Users from a file: `name:password` on each line. Raises ConfigError if it can't be read, or
    others can."""
    try:
        if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            raise ConfigError(
                f"{path} has passwords, and others than its owner can read it: chmod 600 {path}"
            )
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The users in {path} can't be read: {error}") from error
    users = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, password = line.partition(":")
        if not colon or not name or not password:
            raise ConfigError(f"{path}, line {number}: it must be name:password")
        users[name] = password
    if not users:
        raise ConfigError(f"There are no users in {path}: write name:password on each line.")
    return users
