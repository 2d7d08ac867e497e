"""The files of the console, as a browser is given them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

PAGE = "index.html"
"""Of an application."""
SQL_PAGE = "sql.html"
"""Of a ksqlDB server."""

HEADERS = {
    # Nothing but our own files runs, and nothing of them is written into the page: what a store
    # holds can't become a program, even if the console had a mistake.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
"""Of every file. `no-cache`: a browser asks whether it has changed, and gets a 304."""

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class File(NamedTuple):
    """`etag` changes with the content."""

    content: bytes
    media_type: str
    etag: str


@cache
def files() -> dict[str, File]:
    """All of them, by name."""
    directory = Path(__file__).parent / "static"
    return {path.name: _file(path) for path in directory.iterdir() if path.suffix in _TYPES}


def _file(path: Path) -> File:
    content = path.read_bytes()
    return File(content, _TYPES[path.suffix], f'"{hashlib.sha256(content).hexdigest()[:16]}"')
