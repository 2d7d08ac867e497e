"""What is committed with a position: Kafka Streams' own encoding."""

from __future__ import annotations

import base64
import logging
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping

logger = logging.getLogger("headrace.kafka")

_MAGIC = 2
_HEAD = struct.Struct(">bq")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?")

UNKNOWN_TIME = -1


def encode(partition_time: int, processor_metadata: Mapping[str, int]) -> str:
    """The partition's stream time, and numbers that processors want to find again."""
    parts = [_HEAD.pack(_MAGIC, partition_time)]
    if processor_metadata:
        parts.append(_INT.pack(len(processor_metadata)))
        for name, number in processor_metadata.items():
            raw = name.encode()
            parts += (_INT.pack(len(raw)), raw, _LONG.pack(number))
    return base64.b64encode(b"".join(parts)).decode("ascii")


def decode(text: str) -> tuple[int, dict[str, int]]:
    """Partition time (-1: unknown) and metadata. Of what somebody else wrote, nothing is known.

    What follows the encoded text is passed over: confluent-kafka looks for a zero byte at the end
    of the text, which Kafka Streams doesn't write, and so adds whatever comes next in memory.
    """
    time = UNKNOWN_TIME
    if not text:
        return time, {}
    try:
        encoded = _BASE64.match(text)
        assert encoded is not None  # it matches nothing at all, too
        raw = base64.b64decode(encoded[0])
        version, found = _HEAD.unpack_from(raw)
        if version in (1, _MAGIC):
            time = found
            return time, _decode_map(raw, _HEAD.size) if version == _MAGIC else {}
        logger.warning("The metadata of a committed position has the unknown version %d.", version)
    except (ValueError, struct.error):
        logger.warning("The metadata of a committed position can't be read: %.80r.", text)
    return time, {}


_PACKED = "headrace.packed"
_PIECE = 2800
"""Characters of what is packed that fit into one entry: Kafka refuses offset metadata of more than
4,096 bytes."""
_MOST_PLAIN = 4000


def spread(metadata: Mapping[str, int], entries: int) -> list[Mapping[str, int]]:
    """What to commit with each of so many positions, which are all committed together.

    All of it with each, as Kafka Streams does, or if that is too much, a piece of it packed with
    each. Raises ValueError if there is still too much.
    """
    if len(encode(0, metadata)) <= _MOST_PLAIN:
        return [metadata] * entries
    raw = b"".join(name.encode() + b"\0" + _LONG.pack(number) for name, number in metadata.items())
    packed = base64.b85encode(zlib.compress(raw)).decode()
    size = -(-len(packed) // entries)
    if size > _PIECE:
        raise ValueError(f"{len(metadata)} numbers take {len(packed)} bytes")
    return [
        {f"{_PACKED}:{at}:{packed[at * size : (at + 1) * size]}": len(packed)}
        for at in range(entries)
    ]


def gathered(entries: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """What was spread."""
    found: dict[str, int] = {}
    pieces: dict[int, str] = {}
    total = 0
    for metadata in entries:
        for name, number in metadata.items():
            if name.startswith(f"{_PACKED}:"):
                _, at, piece = name.split(":", 2)
                pieces[int(at)], total = piece, number
            else:
                found[name] = number
    packed = "".join(pieces[at] for at in sorted(pieces))
    if packed and len(packed) == total:
        found |= _unpacked(zlib.decompress(base64.b85decode(packed)))
    elif packed:
        logger.warning("The metadata of committed positions isn't whole, and can't be used.")
    return found


def _unpacked(raw: bytes) -> Iterator[tuple[str, int]]:
    at = 0
    while at < len(raw):
        end = raw.index(b"\0", at)
        yield raw[at:end].decode(), _LONG.unpack_from(raw, end + 1)[0]
        at = end + 1 + _LONG.size


def _decode_map(raw: bytes, at: int) -> dict[str, int]:
    found: dict[str, int] = {}
    if at == len(raw):
        return found
    (count,) = _INT.unpack_from(raw, at)
    at += _INT.size
    for _ in range(count):
        (size,) = _INT.unpack_from(raw, at)
        at += _INT.size
        name = raw[at : at + size].decode()
        at += size
        (found[name],) = _LONG.unpack_from(raw, at)
        at += _LONG.size
    return found
