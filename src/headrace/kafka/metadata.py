"""What is committed with a position: Kafka Streams' own encoding."""

from __future__ import annotations

import base64
import logging
import re
import struct
from collections.abc import Mapping

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
