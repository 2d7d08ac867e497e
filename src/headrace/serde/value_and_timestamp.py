"""Values of timestamped stores: timestamp (8 bytes) ‖ value."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct, pack
from typing import Any

from headrace.core.record import ValueAndTimestamp
from headrace.serde.serde import Serde

_unpack_timestamp = Struct(">q").unpack_from


def value_and_timestamp(inner: Serde[Any]) -> Serde[ValueAndTimestamp]:
    return Serde(partial(_write, inner.serialize), partial(_read, inner.deserialize))


def read_timestamp(data: bytes) -> int:
    """The timestamp alone."""
    timestamp: int = _unpack_timestamp(data)[0]
    return timestamp


def _write(serialize: Callable[[Any], bytes], value: ValueAndTimestamp) -> bytes:
    return pack(">q", value[1]) + serialize(value[0])


def _read(deserialize: Callable[[bytes], Any], data: bytes) -> ValueAndTimestamp:
    return ValueAndTimestamp(deserialize(data[8:]), _unpack_timestamp(data)[0])
