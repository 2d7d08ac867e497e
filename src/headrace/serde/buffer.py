"""Entries of the buffers of suppression and of stream-table joins with grace, and their changelogs.

An entry is the record's origin ‖ prior value ‖ old value ‖ new value, each value after its length
(4 bytes; -1: null; for the old value also -2: the same as the prior value). In a changelog the
time of the entry (8 bytes) follows. A join buffer has new values only, and 0 as time.

The changelog of a suppression says in header `v` which layout a record has. Version 3 is written;
the others are read as well:
none  time ‖ old ‖ new; the origin is the changelog record itself
1     time ‖ origin ‖ (old ‖ new)
2     origin ‖ (old ‖ new) ‖ prior ‖ time. Some versions of Kafka Streams wrote layout 3 here.
3     origin ‖ prior ‖ old ‖ new ‖ time
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack
from typing import NamedTuple

from headrace.core.errors import ArgumentError, SerializationError
from headrace.core.record import Header, Headers
from headrace.serde.reader import Reader, sized

CHANGELOG_HEADERS: tuple[Header, ...] = (("v", b"\x03"),)
"""What the changelog records of a suppression carry; tombstones carry nothing."""

_SAME_AS_PRIOR = -2


class Origin(NamedTuple):
    """Where a buffered record came from: the first registers of a record context."""

    timestamp: int
    headers: Sequence[Header]
    topic: str | None
    partition: int
    offset: int


class BufferValue(NamedTuple):
    """`prior` is the value that was last emitted for the key when it entered the buffer."""

    prior: bytes | None
    old: bytes | None
    new: bytes | None
    origin: Origin


def write_buffer_value(value: BufferValue) -> bytes:
    prior, old, new, origin = value
    duplicate = old is not None and old == prior
    return b"".join(
        (
            write_origin(origin),
            sized(prior),
            pack(">i", _SAME_AS_PRIOR) if duplicate else sized(old),
            sized(new),
        )
    )


def read_buffer_value(data: bytes) -> BufferValue:
    return _read_value(Reader(data))


def resident_size(value: BufferValue) -> int:
    """The memory that Kafka Streams counts for an entry, besides its key and time."""
    prior, old, new, origin = value
    size = len(prior or b"") + len(new or b"") + 20 + _characters(origin.topic or "")
    if old is not None and old != prior:
        size += len(old)
    return size + sum(_characters(name) + len(data or b"") for name, data in origin.headers)


def _characters(text: str) -> int:
    """The length in UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def write_changelog_value(value: BufferValue, time: int) -> bytes:
    return write_buffer_value(value) + pack(">q", time)


def read_changelog_value(
    data: bytes, origin: Origin, buffered_prior: bytes | None = None
) -> tuple[BufferValue, int]:
    """The entry and its time.

    `origin` is that of the changelog record, with its headers. `buffered_prior` is the prior value
    of the entry that the buffer has for the key already: old layouts don't have it.
    """
    version = Headers(origin.headers).last("v")
    reader = Reader(data)
    if version == b"\x03":
        return _read_version_3(reader)
    if version == b"\x02":
        try:
            return _read_version_2(reader)
        except SerializationError:
            return _read_version_3(Reader(data))
    if version not in (None, b"\x01"):
        raise ArgumentError(f"The changelog of a suppression has no version {version!r}")
    time = reader.int64()
    if version is None:
        old, new = reader.sized(), reader.sized()
    else:
        origin = read_origin(reader)
        old, new = _read_change(reader)
    return BufferValue(old if buffered_prior is None else buffered_prior, old, new, origin), time


def _read_version_3(reader: Reader) -> tuple[BufferValue, int]:
    value = _read_value(reader)
    return value, reader.int64()


def _read_version_2(reader: Reader) -> tuple[BufferValue, int]:
    origin = read_origin(reader)
    old, new = _read_change(reader)
    prior = reader.sized()
    return BufferValue(prior, old, new, origin), reader.int64()


def _read_change(reader: Reader) -> tuple[bytes | None, bytes | None]:
    data = reader.sized()
    if data is None:
        raise SerializationError("A buffered change can't be null")
    change = Reader(data)
    return change.sized(), change.sized()


def _read_value(reader: Reader) -> BufferValue:
    origin = read_origin(reader)
    prior = reader.sized()
    size = reader.int32()
    if size == _SAME_AS_PRIOR:
        old = prior
    else:
        old = None if size == -1 else reader.take(size)
    return BufferValue(prior, old, reader.sized(), origin)


def write_origin(origin: Origin) -> bytes:
    """Timestamp ‖ offset ‖ topic ‖ partition ‖ count of headers ‖ name and value of each."""
    timestamp, headers, topic, partition, offset = origin
    if topic is None:
        raise SerializationError("A record that was read from no topic can't be buffered")
    parts = [pack(">qq", timestamp, offset), sized(topic.encode())]
    parts.append(pack(">ii", partition, len(headers)))
    for name, value in headers:
        parts += (sized(name.encode()), sized(value))
    return b"".join(parts)


def read_origin(reader: Reader) -> Origin:
    timestamp, offset = reader.int64(), reader.int64()
    topic = _read_text(reader)
    partition = reader.int32()
    # Old versions wrote -1 for no headers.
    headers = Headers([(_read_text(reader), reader.sized()) for _ in range(reader.int32())])
    return Origin(timestamp, headers, topic, partition, offset)


def _read_text(reader: Reader) -> str:
    data = reader.sized()
    if data is None:
        raise SerializationError("A topic or header name can't be null")
    return data.decode("utf-8", "replace")
