"""Functions of URLs, which are read as Java's URI reads them."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

from headrace.sql.functions.library import Library
from headrace.sql.functions.sizes import check_text

library = Library("URL")

_ESCAPED = r"%[0-9a-fA-F]{2}"
# What isn't ASCII may stand anywhere, except for spaces and controls.
_OTHER = r"[^\x00-\x20\x7f-\xa0\"<>\\^`{|}#?%\[\]/:@]"
_URI = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?"
    r"(?://(?P<authority>[^/?#]*))?"
    r"(?P<path>[^?#]*)"
    r"(?:\?(?P<query>[^#]*))?"
    r"(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
_LEGAL = re.compile(rf"(?:{_OTHER}|[/:@?\[\]]|{_ESCAPED})*")
_AUTHORITY = re.compile(
    r"(?:(?P<user>[^@]*)@)?(?P<host>\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9.-]+)(?::(?P<port>\d*))?"
)
_HOST_LABEL = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9]"
                         r"(?:[A-Za-z0-9-]*[A-Za-z0-9])?\.?|\[.*\]")  # fmt: skip


def _parts(text: str) -> dict[str, str | None]:
    """The raw parts of a URI; ValueError if it is none."""
    match = _URI.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no URI")
    parts: dict[str, str | None] = match.groupdict()
    for name, part in parts.items():
        if part is not None and _LEGAL.fullmatch(part) is None:
            raise ValueError(f"Illegal character in {name}: {text}")
    if parts["scheme"] is not None and not (parts["path"] or parts["authority"] or parts["query"]):
        raise ValueError(f"Expected scheme-specific part: {text}")
    return parts


def _server(parts: dict[str, str | None]) -> tuple[str | None, int | None]:
    """Host and port, if the authority is that of a server."""
    match = _AUTHORITY.fullmatch(parts["authority"] or "")
    if match is None or not _HOST_LABEL.fullmatch(match["host"]):
        return None, None
    return match["host"], int(match["port"]) if match["port"] else None


def _decoded(text: str | None) -> str | None:
    """Escapes are bytes of UTF-8."""
    if text is None or "%" not in text:
        return text
    return re.sub(
        rf"(?:{_ESCAPED})+",
        lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace"),
        text,
    )


@library.scalar("url_extract_protocol", "(STRING input) -> STRING")
def url_protocol(text: str) -> str | None:
    """The scheme of a URL."""
    return _parts(text)["scheme"]


@library.scalar("url_extract_host", "(STRING input) -> STRING")
def url_host(text: str) -> str | None:
    """The host of a URL."""
    return _server(_parts(text))[0]


@library.scalar("url_extract_port", "(STRING input) -> INT")
def url_port(text: str) -> int | None:
    """The port of a URL, if one is written."""
    return _server(_parts(text))[1]


@library.scalar("url_extract_path", "(STRING input) -> STRING")
def url_path(text: str) -> str | None:
    """The path of a URL."""
    parts = _parts(text)
    if parts["scheme"] and not (parts["authority"] or (parts["path"] or "").startswith("/")):
        return None  # such as mailto:, which Java calls opaque
    return _decoded(parts["path"])


@library.scalar("url_extract_query", "(STRING input) -> STRING")
def url_query(text: str) -> str | None:
    """The query of a URL."""
    return _decoded(_parts(text)["query"])


@library.scalar("url_extract_fragment", "(STRING input) -> STRING")
def url_fragment(text: str) -> str | None:
    """The fragment of a URL."""
    return _decoded(_parts(text)["fragment"])


@library.scalar("url_extract_parameter", "(STRING input, STRING paramToFind) -> STRING")
def url_parameter(text: str, wanted: str) -> str | None:
    """The value of a parameter in the query of a URL."""
    query = _decoded(_parts(text)["query"])
    if query is None:
        return None
    for parameter in query.split("&"):
        name, _, value = parameter.partition("=")
        if name == wanted:
            return value
    return None


@library.scalar("url_decode_param", "(STRING input) -> STRING")
def url_decode(text: str) -> str:
    """Text that was encoded as the parameter of a URL."""
    if re.search(r"%(?![0-9a-fA-F]{2})", text):
        raise ValueError(f"URLDecoder: incomplete or illegal escape in {text}")
    return _decoded(text.replace("+", " ")) or ""


@library.scalar("url_encode_param", "(STRING input) -> STRING")
def url_encode(text: str) -> str:
    """Text encoded as the parameter of a URL."""
    check_text(len(text))
    return quote_plus(text, safe="*").replace("~", "%7E")
