"""Rows of versioned stores.

The latest version of a key is kept as timestamp ‖ value (see `value_and_timestamp`). Older ones
are in segments: there, a row has all versions of a key as next timestamp ‖ min timestamp ‖
(timestamp ‖ value length) of each version from new to old ‖ values from old to new. Length -1 is
a tombstone. The changelog has one record for each version: its plain value, at its timestamp.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack, unpack_from
from typing import NamedTuple


class Version(NamedTuple):
    timestamp: int
    value: bytes | None


class SegmentRow(NamedTuple):
    """The versions of a key in one segment, newest first, and when the newest of them ended.

    If a tombstone is all that a segment knows of a key, `next_timestamp` is its own timestamp.
    """

    next_timestamp: int
    versions: Sequence[Version]


def write_segment_row(row: SegmentRow) -> bytes:
    versions = row.versions
    parts = [pack(">qq", row.next_timestamp, versions[-1].timestamp)]
    for timestamp, value in versions:
        parts.append(pack(">qi", timestamp, -1 if value is None else len(value)))
    parts += [version.value for version in reversed(versions) if version.value is not None]
    return b"".join(parts)


def read_segment_row(data: bytes) -> SegmentRow:
    next_timestamp, min_timestamp = unpack_from(">qq", data)
    heads = [unpack_from(">qi", data, 16)]
    while heads[-1][0] != min_timestamp:
        heads.append(unpack_from(">qi", data, 16 + 12 * len(heads)))
    versions = []
    end = len(data)
    for timestamp, size in heads:
        start = end - max(size, 0)
        versions.append(Version(timestamp, None if size < 0 else data[start:end]))
        end = start
    return SegmentRow(next_timestamp, versions)
