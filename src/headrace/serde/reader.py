"""Reading composite formats front to back."""

from __future__ import annotations

from struct import Struct

from headrace.core.errors import SerializationError

_LONG = Struct(">q")
_INT = Struct(">i")


class Reader:
    """A position in bytes. Reading beyond their end raises SerializationError."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def take(self, size: int) -> bytes:
        start = self.position
        end = start + size
        if size < 0 or end > len(self.data):
            raise SerializationError(
                f"Malformed data: {size} bytes expected at position {start}, "
                f"but {len(self.data) - start} are left"
            )
        self.position = end
        return self.data[start:end]

    def rest(self) -> bytes:
        start, self.position = self.position, len(self.data)
        return self.data[start:]

    def byte(self) -> int:
        return self.take(1)[0]

    def int32(self) -> int:
        value: int = _INT.unpack(self.take(4))[0]
        return value

    def int64(self) -> int:
        value: int = _LONG.unpack(self.take(8))[0]
        return value

    def sized(self) -> bytes | None:
        """Bytes after their length in four bytes; length -1 is null."""
        size = self.int32()
        return None if size == -1 else self.take(size)

    def varint(self) -> int:
        """A signed number of 32 bits, zig-zag encoded in one to five bytes."""
        raw = shift = 0
        while True:
            byte = self.byte()
            raw |= (byte & 0x7F) << shift
            if byte < 0x80:
                raw &= 0xFFFFFFFF
                return (raw >> 1) ^ -(raw & 1)
            shift += 7
            if shift > 28:
                raise SerializationError("Malformed data: a varint has more than five bytes")


def sized(data: bytes | None) -> bytes:
    """What `Reader.sized` reads."""
    return b"\xff\xff\xff\xff" if data is None else _INT.pack(len(data)) + data


def varint(value: int) -> bytes:
    """What `Reader.varint` reads."""
    rest = ((value << 1) ^ (value >> 31)) & 0xFFFFFFFF
    if rest < 0x80:
        return bytes((rest,))
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)
