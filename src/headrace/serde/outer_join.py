"""The store of stream-stream join records that found no match yet.

Its keys are timestamp (8 bytes) ‖ side (01 left, 00 right) ‖ key, so that it scans by time. Under
each there is a list (in the format of `list_`) of values, each side (1 byte) ‖ value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import pack, unpack_from
from typing import Any, NamedTuple

from headrace.serde.lists import list_
from headrace.serde.primitive import bytes_
from headrace.serde.serde import Serde

value_list = list_(bytes_())
"""The values under one key, each already serialized."""


class OuterJoinKey(NamedTuple):
    timestamp: int
    is_left: bool
    key: Any


class OuterJoinValue(NamedTuple):
    is_left: bool
    value: Any


def outer_join_key(inner: Serde[Any]) -> Serde[OuterJoinKey]:
    return Serde(partial(_write_key, inner.serialize), partial(_read_key, inner.deserialize))


def outer_join_value(left: Serde[Any], right: Serde[Any]) -> Serde[OuterJoinValue]:
    return Serde(
        partial(_write_value, left.serialize, right.serialize),
        partial(_read_value, left.deserialize, right.deserialize),
    )


def _write_key(serialize: Callable[[Any], bytes], key: OuterJoinKey) -> bytes:
    return pack(">q?", key.timestamp, key.is_left) + serialize(key.key)


def _read_key(deserialize: Callable[[bytes], Any], data: bytes) -> OuterJoinKey:
    timestamp, side = unpack_from(">qb", data)
    return OuterJoinKey(timestamp, side == 1, deserialize(data[9:]))


def _write_value(
    left: Callable[[Any], bytes], right: Callable[[Any], bytes], value: OuterJoinValue
) -> bytes:
    return b"\x01" + left(value.value) if value.is_left else b"\x00" + right(value.value)


def _read_value(
    left: Callable[[bytes], Any], right: Callable[[bytes], Any], data: bytes
) -> OuterJoinValue:
    is_left = data[0] == 1
    return OuterJoinValue(is_left, (left if is_left else right)(data[1:]))
