"""Serdes of windowed keys as topics carry them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from struct import pack, unpack_from
from typing import TypeVar

from headrace.core.errors import ArgumentError, SerializationError
from headrace.core.windowed import LONG_MAX, Window, Windowed
from headrace.serde.murmur2 import partition_for
from headrace.serde.serde import Serde, check_serde

K = TypeVar("K")


@dataclass(frozen=True)
class WindowedSerde(Serde[Windowed[K]]):
    """A serde of windowed keys. `inner` is that of the keys themselves, by which records are
    partitioned, so that all windows of a key are in one partition."""

    inner: Serde[K]

    def partition(self, topic: str, key: Windowed[K], value: object, partitions: int) -> int:
        """Partitions by the inner key."""
        return partition_for(self.inner.serialize(key.key), partitions)


def time_windowed(inner: Serde[K], size_ms: int) -> WindowedSerde[K]:
    """Key ‖ window start. The end isn't written: it is read as start + `size_ms`.

    No bytes at all are read as None.
    """
    check_serde(inner, "The serde of the keys")
    return WindowedSerde(
        partial(_write_time_windowed, inner.serialize),
        partial(_read_time_windowed, inner.deserialize, size_ms),
        inner,
    )


def session_windowed(inner: Serde[K]) -> WindowedSerde[K]:
    """Key ‖ window end ‖ window start. No bytes at all are read as None."""
    check_serde(inner, "The serde of the keys")
    return WindowedSerde(
        partial(_write_session_windowed, inner.serialize),
        partial(_read_session_windowed, inner.deserialize),
        inner,
    )


def time_window(start: int, size_ms: int) -> Window:
    """The window of `size_ms` from `start`; it ends with time itself at the latest.

    A negative start or an empty window raises ArgumentError.
    """
    end = min(start + size_ms, LONG_MAX)
    if start < 0 or end <= start:
        raise _not_a_window(start, end)
    return Window(start, end)


def _write_time_windowed(serialize: Callable[[K], bytes], windowed: Windowed[K]) -> bytes:
    key, window = windowed
    return serialize(key) + pack(">q", window.start)


def _read_time_windowed(
    deserialize: Callable[[bytes], K], size_ms: int, data: bytes
) -> Windowed[K]:
    if len(data) < 8:
        return _too_short(data, "a time-windowed key", 8)
    start = unpack_from(">q", data, len(data) - 8)[0]
    return Windowed(deserialize(data[:-8]), time_window(start, size_ms))


def _write_session_windowed(serialize: Callable[[K], bytes], windowed: Windowed[K]) -> bytes:
    key, window = windowed
    return serialize(key) + pack(">qq", window.end, window.start)


def _read_session_windowed(deserialize: Callable[[bytes], K], data: bytes) -> Windowed[K]:
    if len(data) < 16:
        return _too_short(data, "a session-windowed key", 16)
    end, start = unpack_from(">qq", data, len(data) - 16)
    if start < 0 or end < start:
        raise _not_a_window(start, end)
    return Windowed(deserialize(data[:-16]), Window(start, end))


def _too_short(data: bytes, what: str, size: int) -> Windowed[K]:
    if data:
        raise SerializationError(f"{what} has at least {size} bytes, got {len(data)}: {data!r}")
    return None  # type: ignore[return-value]  # null, which no serde is asked to declare


def _not_a_window(start: int, end: int) -> ArgumentError:
    return ArgumentError(f"Not a window: {start} to {end}. Was it written by another serde?")
