"""The bytes of records as people can read them."""

from __future__ import annotations

from base64 import b64encode

_LONGEST = 2_000


def excerpt(text: str) -> str:
    """The text, cut if it is long."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def bytes_excerpt(data: bytes | None) -> str | None:
    """The same of bytes: as text, or base64 where they aren't UTF-8."""
    if data is None:
        return None
    try:
        return excerpt(data.decode())
    except UnicodeDecodeError:
        return excerpt(b64encode(data).decode())
