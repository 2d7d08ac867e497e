"""Murmur2, with which Kafka chooses the partition of a key."""

from __future__ import annotations

from functools import lru_cache
from struct import unpack_from

_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The hash of `data` as an unsigned number of 32 bits."""
    size = len(data)
    words = size // 4
    h = 0x9747B28C ^ size
    for k in unpack_from(f"<{words}I", data):
        k = k * _M & _MASK
        h = h * _M & _MASK ^ (k ^ k >> 24) * _M & _MASK
    tail = data[words * 4 :]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


@lru_cache(maxsize=65536)
def partition_for(key: bytes, partitions: int) -> int:
    """The partition, out of `partitions`, to which the default partitioner sends a key.

    Keys come again and again, and the hash takes Python some microseconds: so it is remembered.
    """
    return (murmur2(key) & 0x7FFFFFFF) % partitions
