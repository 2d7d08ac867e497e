"""What the two sides of a foreign-key join send each other, and what the join's store holds.

The left side sends a subscription for a foreign key; the right side answers with a response that
has the foreign value. Both carry a hash of the left value (see `murmur3`), from which the left
side sees whether a response still belongs to its current value.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from struct import pack
from typing import Any, NamedTuple

from headrace.core.errors import SerializationError
from headrace.serde.reader import Reader, sized
from headrace.serde.serde import Serde

_NO_HASH = 0x80


class CombinedKey(NamedTuple):
    foreign_key: Any
    primary_key: Any


class Instruction(IntEnum):
    """What the right side does with a subscription."""

    DELETE_KEY_NO_PROPAGATE = 0
    """Forget the subscription, answer nothing."""
    DELETE_KEY_AND_PROPAGATE = 1
    """Forget the subscription, answer with null."""
    PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE = 2
    """Subscribe, and answer with the foreign value, or with null if there is none."""
    PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE = 3
    """Subscribe, and answer only if there is a foreign value."""


class Subscription(NamedTuple):
    """`hash` is None for a deleted left value; `primary_partition`, the partition that the
    response goes to, is known since version 1."""

    hash: bytes | None
    instruction: Instruction
    primary_key: Any
    version: int = 1
    primary_partition: int | None = None


class SubscriptionResponse(NamedTuple):
    """`primary_partition` is where it is sent; it isn't written."""

    hash: bytes | None
    foreign_value: Any
    version: int = 0
    primary_partition: int | None = None


def combined_key(foreign: Serde[Any], primary: Serde[Any]) -> Serde[CombinedKey]:
    """Length of the foreign key (4 bytes) ‖ foreign key ‖ primary key."""
    return Serde(
        partial(_write_key, foreign.serialize, primary.serialize),
        partial(_read_key, foreign.deserialize, primary.deserialize),
    )


def foreign_key_prefix(foreign: Serde[Any], foreign_key: Any) -> bytes:
    """What the combined keys of a foreign key begin with."""
    return sized(foreign.serialize(foreign_key))


def subscription(primary: Serde[Any], *, version_0: bool = False) -> Serde[Subscription]:
    """No hash (1 bit) and version (7 bits) ‖ instruction ‖ hash ‖ primary key ‖ partition.

    `version_0`: write without partition, for instances older than 3.4 (`upgrade.from`).
    """
    return Serde(
        partial(_write_subscription, primary.serialize, version_0),
        partial(_read_subscription, primary.deserialize),
    )


def subscription_response(foreign: Serde[Any]) -> Serde[SubscriptionResponse]:
    """No hash (1 bit) and version (7 bits) ‖ hash ‖ foreign value.

    A foreign value without bytes is read as None.
    """
    return Serde(
        partial(_write_response, foreign.serialize), partial(_read_response, foreign.deserialize)
    )


def _write_key(
    foreign: Callable[[Any], bytes], primary: Callable[[Any], bytes], key: CombinedKey
) -> bytes:
    return sized(foreign(key.foreign_key)) + primary(key.primary_key)


def _read_key(
    foreign: Callable[[bytes], Any], primary: Callable[[bytes], Any], data: bytes
) -> CombinedKey:
    reader = Reader(data)
    foreign_key = foreign(reader.take(reader.int32()))
    return CombinedKey(foreign_key, primary(reader.rest()))


def _write_subscription(
    serialize: Callable[[Any], bytes], version_0: bool, subscription: Subscription
) -> bytes:
    hash, instruction, primary_key, version, partition = subscription
    version = 0 if version_0 else _checked_version(version, 1)
    head = pack(">BB", _flags(hash, version), instruction)
    body = head + (hash or b"") + serialize(primary_key)
    return body + pack(">i", partition) if version else body


def _read_subscription(deserialize: Callable[[bytes], Any], data: bytes) -> Subscription:
    reader = Reader(data)
    flags = reader.byte()
    version = _checked_version(flags & 0x7F, 1)
    instruction = _instruction(reader.byte())
    hash = _read_hash(reader, flags)
    if version == 0:
        return Subscription(hash, instruction, deserialize(reader.rest()), version)
    primary_key = deserialize(reader.take(len(data) - reader.position - 4))
    return Subscription(hash, instruction, primary_key, version, reader.int32())


def _write_response(serialize: Callable[[Any], bytes], response: SubscriptionResponse) -> bytes:
    hash, value, version, _ = response
    head = pack(">B", _flags(hash, _checked_version(version, 0))) + (hash or b"")
    return head if value is None else head + serialize(value)


def _read_response(deserialize: Callable[[bytes], Any], data: bytes) -> SubscriptionResponse:
    reader = Reader(data)
    flags = reader.byte()
    version = _checked_version(flags & 0x7F, 0)
    hash = _read_hash(reader, flags)
    value = reader.rest()
    return SubscriptionResponse(hash, deserialize(value) if value else None, version)


def _flags(hash: bytes | None, version: int) -> int:
    return version | _NO_HASH if hash is None else version


def _read_hash(reader: Reader, flags: int) -> bytes | None:
    return None if flags & _NO_HASH else reader.take(16)


def _instruction(code: int) -> Instruction:
    try:
        return Instruction(code)
    except ValueError:
        raise SerializationError(f"A foreign-key subscription has no instruction {code}") from None


def _checked_version(version: int, newest: int) -> int:
    if not 0 <= version <= newest:
        raise SerializationError(
            f"Messages of a foreign-key join have version 0 to {newest} here, not {version}. "
            "Was the topic written by a newer version?"
        )
    return version
