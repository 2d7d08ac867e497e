"""How rows find the slot of their task."""

from __future__ import annotations

from itertools import count

_MASK = 0xFFFFFFFF


def slot_keys(slots: int) -> list[int]:
    """For each slot an integer that Spark's hash partitioning sends there.

    Slot numbers themselves would collide, and leave cores idle.
    """
    keys: dict[int, int] = {}
    for candidate in count():
        keys.setdefault(_spark_hash(candidate) % slots, candidate)
        if len(keys) == slots:
            return [keys[slot] for slot in range(slots)]
    raise AssertionError


def _spark_hash(value: int) -> int:
    """Spark's hash of an integer column: murmur3 with seed 42, as a signed number."""
    k = value * 0xCC9E2D51 & _MASK
    k = (k << 15 | k >> 17) & _MASK
    h = 42 ^ (k * 0x1B873593 & _MASK)
    h = (h << 13 | h >> 19) & _MASK
    h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h
