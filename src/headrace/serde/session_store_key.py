"""Keys inside session stores and their changelogs.

All changelogs have key ‖ session end ‖ session start. Stores that are laid out by time have
00 ‖ end ‖ start ‖ key inside.
"""

from __future__ import annotations

from struct import pack, unpack_from

from headrace.core.windowed import Window, Windowed


def session_store_key(key: bytes, start: int, end: int) -> bytes:
    return key + pack(">qq", end, start)


def read_session_store_key(data: bytes) -> Windowed[bytes]:
    end, start = unpack_from(">qq", data, len(data) - 16)
    return Windowed(data[:-16], Window(start, end))


def time_first_session_store_key(key: bytes, start: int, end: int) -> bytes:
    return pack(">bqq", 0, end, start) + key


def read_time_first_session_store_key(data: bytes) -> Windowed[bytes]:
    end, start = unpack_from(">qq", data, 1)
    return Windowed(data[17:], Window(start, end))
