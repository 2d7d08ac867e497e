"""Keys inside window stores and their changelogs.

All changelogs have key ‖ window start ‖ sequence number, in which the number tells apart entries
of one key and start where a store retains duplicates. Stores that are laid out by time have
00 ‖ start ‖ key ‖ sequence number inside; it is also the key in the changelog of the buffer of a
stream-table join.
"""

from __future__ import annotations

from struct import pack, unpack_from
from typing import NamedTuple


class WindowStoreKey(NamedTuple):
    key: bytes
    start: int
    sequence: int = 0


def window_store_key(key: bytes, start: int, sequence: int = 0) -> bytes:
    return key + pack(">qi", start, sequence)


def read_window_store_key(data: bytes) -> WindowStoreKey:
    start, sequence = unpack_from(">qi", data, len(data) - 12)
    return WindowStoreKey(data[:-12], start, sequence)


def time_first_window_store_key(key: bytes, start: int, sequence: int = 0) -> bytes:
    return pack(">bq", 0, start) + key + pack(">i", sequence)


def read_time_first_window_store_key(data: bytes) -> WindowStoreKey:
    start = unpack_from(">q", data, 1)[0]
    sequence = unpack_from(">i", data, len(data) - 4)[0]
    return WindowStoreKey(data[9:-4], start, sequence)
