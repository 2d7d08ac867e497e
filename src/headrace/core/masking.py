"""Masking: text for people, without the secrets that stand in it."""

from __future__ import annotations

import re

MASK = "****"

_SECRET_NAME = re.compile(
    r"secret|password|passwd|passphrase|jaas|credential|access\.?key|account\.key|api\.?key"
    r"|user\.info|token(?!\.endpoint)"
    r"|(^|\.)key(\.pem)?$",
    re.IGNORECASE,
)
_USER_OF_URL = re.compile(
    r"(?<=://)[^/?#\s'\"]*?@(?![^/?#\s'\",]*@)|(?<![\w/])[\w.%-]+:[^\s/@'\"]+@"
)
_JAVA_PROPERTY = re.compile(r"(-D([\w.]+)=)(\"[^\"]*\"|'[^']*'|\S+)")


def is_secret_name(name: str) -> bool:
    """Whether a setting that is called so has a value that may not be shown."""
    return _SECRET_NAME.search(name) is not None


def masked(text: str) -> str:
    """Without the users and passwords of addresses, and what Java is told with -Dpassword=…"""
    return _JAVA_PROPERTY.sub(_masked_property, _USER_OF_URL.sub(f"{MASK}@", text))


def _masked_property(found: re.Match[str]) -> str:
    return f"{found[1]}{MASK}" if is_secret_name(found[2]) else found[0]
