"""Headers as stores keep them: nothing at all, or a count and each name and value after its length.

Counts and lengths are varints; a value of length -1 is null.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.record import Header, Headers
from headrace.serde.reader import Reader, varint


def write_headers(headers: Sequence[Header]) -> bytes:
    if not headers:
        return b""
    parts = [varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += (varint(len(encoded)), encoded)
        parts += (varint(-1),) if value is None else (varint(len(value)), value)
    return b"".join(parts)


def read_headers(data: bytes) -> Headers:
    if not data:
        return Headers()
    reader = Reader(data)
    return Headers([_read_header(reader) for _ in range(reader.varint())])


def _read_header(reader: Reader) -> Header:
    name = reader.take(reader.varint()).decode("utf-8", "replace")
    size = reader.varint()
    return name, None if size == -1 else reader.take(size)
