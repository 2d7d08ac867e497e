"""Serdes of single values, byte for byte those of Kafka's own clients.

They are made of C functions and module-level functions, so that they are fast and can be pickled.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from struct import Struct, error, pack
from typing import TypeVar
from uuid import UUID

from headrace.core.errors import ArgumentError, SerializationError
from headrace.serde.serde import Serde

T = TypeVar("T")


@dataclass(frozen=True)
class FixedSizeSerde(Serde[T]):
    """A serde whose bytes always have the same length, which a list then doesn't repeat."""

    size: int


def without_lookup(serialize: Callable[[T], bytes]) -> Callable[[T], bytes]:
    """The same function for one process: numbers are written in half the time, by what can't be
    pickled."""
    if isinstance(serialize, partial) and serialize.func is pack:
        return Struct(*serialize.args).pack
    return serialize


def string() -> Serde[str]:
    """UTF-8. Bytes that aren't UTF-8 are read as U+FFFD, as Kafka's deserializer does."""
    return Serde(str.encode, _read_string)


def bytes_() -> Serde[bytes]:
    """The bytes themselves. Anything else than `bytes` raises TypeError."""
    return Serde(bytes.__bytes__, bytes.__bytes__)


def short() -> Serde[int]:
    """Two bytes, big-endian two's complement."""
    return FixedSizeSerde(partial(pack, ">h"), _read_short, 2)


def integer() -> Serde[int]:
    """Four bytes, big-endian two's complement."""
    return FixedSizeSerde(partial(pack, ">i"), _read_integer, 4)


def long() -> Serde[int]:
    """Eight bytes, big-endian two's complement."""
    return FixedSizeSerde(partial(pack, ">q"), _read_long, 8)


def float_() -> Serde[float]:
    """IEEE 754 in four bytes: what is read may be less precise than what was written."""
    return FixedSizeSerde(partial(pack, ">f"), _read_float, 4)


def double() -> Serde[float]:
    """IEEE 754 in eight bytes."""
    return FixedSizeSerde(partial(pack, ">d"), _read_double, 8)


def uuid() -> Serde[UUID]:
    """The text of 36 characters."""
    return FixedSizeSerde(_write_uuid, _read_uuid, 36)


def boolean() -> Serde[bool]:
    """One byte, 01 or 00."""
    return Serde(_write_boolean, _read_boolean)


def void() -> Serde[None]:
    """For keys or values that are always null: any other value and any bytes raise."""
    return Serde(_write_void, _read_void)


# A surrogate encoded as if it were a character is one malformed character to Java, but two or
# three to Python.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def _replace_malformed(malformed: UnicodeError) -> tuple[str, int]:
    assert isinstance(malformed, UnicodeDecodeError)
    surrogate = _SURROGATE.match(malformed.object, malformed.start)
    return "\ufffd", surrogate.end() if surrogate else malformed.end


codecs.register_error("headrace.replace", _replace_malformed)


def _read_string(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "headrace.replace")


_unpack_short = Struct(">h").unpack
_unpack_integer = Struct(">i").unpack
_unpack_long = Struct(">q").unpack
_unpack_float = Struct(">f").unpack
_unpack_double = Struct(">d").unpack


def _read_short(data: bytes) -> int:
    try:
        value: int = _unpack_short(data)[0]
    except error:
        raise _wrong_size("short", 2, data) from None
    return value


def _read_integer(data: bytes) -> int:
    try:
        value: int = _unpack_integer(data)[0]
    except error:
        raise _wrong_size("integer", 4, data) from None
    return value


def _read_long(data: bytes) -> int:
    try:
        value: int = _unpack_long(data)[0]
    except error:
        raise _wrong_size("long", 8, data) from None
    return value


def _read_float(data: bytes) -> float:
    try:
        value: float = _unpack_float(data)[0]
    except error:
        raise _wrong_size("float", 4, data) from None
    return value


def _read_double(data: bytes) -> float:
    try:
        value: float = _unpack_double(data)[0]
    except error:
        raise _wrong_size("double", 8, data) from None
    return value


def _write_uuid(value: UUID) -> bytes:
    if not isinstance(value, UUID):
        raise _wrong_type("uuid", "a uuid.UUID", value)
    return str(value).encode()


_UUID = re.compile(b"-".join([rb"([0-9a-fA-F]{1,16})"] * 5))


def _read_uuid(data: bytes) -> UUID:
    groups = _UUID.fullmatch(data)
    if groups is None or len(data) > 36:
        raise SerializationError(f"A uuid is written like {UUID(int=0)}, got {data[:50]!r}")
    # As in Java, each group may be shorter than usual, and counts from its right end.
    low, middle, high, clock, node = (int(group, 16) for group in groups.groups())
    bits = (low & 0xFFFFFFFF) << 96 | (middle & 0xFFFF) << 80 | (high & 0xFFFF) << 64
    return UUID(int=bits | (clock & 0xFFFF) << 48 | node & 0xFFFFFFFFFFFF)


def _write_boolean(value: bool) -> bytes:
    if value is True:
        return b"\x01"
    if value is False:
        return b"\x00"
    raise _wrong_type("boolean", "True or False", value)


def _read_boolean(data: bytes) -> bool:
    if data == b"\x01":
        return True
    if data == b"\x00":
        return False
    if len(data) != 1:
        raise _wrong_size("boolean", 1, data)
    raise SerializationError(f"A boolean is the byte 01 or 00, got {data.hex()}")


def _write_void(value: None) -> bytes:
    raise _wrong_type("void", "None", value)


def _read_void(data: bytes) -> None:
    raise ArgumentError(f"The void serde reads nothing but null, got {len(data)} bytes")


def _wrong_size(kind: str, size: int, data: bytes) -> SerializationError:
    unit = "byte" if size == 1 else "bytes"
    return SerializationError(
        f"The {kind} serde reads {size} {unit}, got {len(data)}: {data[:50]!r}"
    )


def _wrong_type(kind: str, wanted: str, value: object) -> SerializationError:
    return SerializationError(
        f"The {kind} serde writes {wanted}, got {type(value).__name__} {value!r}"
    )
