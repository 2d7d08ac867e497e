"""Text and numbers as bytes, and back."""

from __future__ import annotations

import base64
import re
import struct

from headrace.sql.functions.library import Library
from headrace.sql.functions.sizes import check_text

library = Library("STRING")
conversions = Library("CONVERSIONS")

_HEX = re.compile(r"0x([0-9a-fA-F]*)|[xX]'([0-9a-fA-F]*)'|([0-9a-fA-F]*)")
_ENCODINGS = ("hex", "utf8", "ascii", "base64")


def _known(name: str) -> str:
    lowered = name.lower()
    if lowered not in _ENCODINGS:
        raise ValueError(
            f"Unknown encoding '{name}'. Supported formats are 'hex', 'utf8', 'ascii' and 'base64'"
        )
    return lowered


def _bytes_of(text: str, encoding: str) -> bytes:
    if encoding == "hex":
        match = _HEX.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not hexadecimal")
        digits = match[match.lastindex or 3]
        return bytes.fromhex(digits)
    if encoding == "base64":
        return base64.b64decode(text, validate=True)
    return text.encode("utf-8" if encoding == "utf8" else "ascii", "replace")


def _text_of(data: bytes, encoding: str) -> str:
    check_text(len(data) * (2 if encoding == "hex" else 1))
    if encoding == "hex":
        return data.hex()
    if encoding == "base64":
        return base64.b64encode(data).decode()
    return data.decode("utf-8" if encoding == "utf8" else "ascii", "replace")


@library.scalar("encode", "(STRING str, STRING inputEncoding, STRING outputEncoding) -> STRING")
def encode(text: str, source: str, target: str) -> str:
    """Text in another encoding: hex, utf8, ascii or base64."""
    known_source, known_target = _known(source), _known(target)
    if known_source == known_target:
        raise ValueError(f"The input and output encodings are the same: {source}")
    return _text_of(_bytes_of(text, known_source), known_target)


@library.scalar("to_bytes", "(STRING value, STRING encoding) -> BYTES")
def to_bytes(text: str, encoding: str) -> bytes:
    """The bytes of text in an encoding: hex, utf8, ascii or base64."""
    return _bytes_of(text, _known(encoding))


@library.scalar("from_bytes", "(BYTES value, STRING encoding) -> STRING")
def from_bytes(data: bytes, encoding: str) -> str:
    """Bytes as text in an encoding: hex, utf8, ascii or base64."""
    known = _known(encoding)
    text = _text_of(data, known)
    return text.upper() if known == "hex" else text


def _unpacked(data: bytes, order: str, code: str) -> int | float:
    marks = {"BIG_ENDIAN": ">", "LITTLE_ENDIAN": "<"}
    mark = marks.get(order.upper())
    if mark is None:
        raise ValueError(f"Byte order must be BIG_ENDIAN or LITTLE_ENDIAN, not {order}")
    size = struct.calcsize(code)
    if len(data) != size:
        raise ValueError(f"Number of bytes must be equal to {size}, but found {len(data)}")
    value: int | float = struct.unpack(mark + code, data)[0]
    return value


@conversions.scalar(
    "int_from_bytes", "(BYTES value) -> INT", "(BYTES value, STRING byteOrder) -> INT"
)
def int_from_bytes(data: bytes, order: str = "BIG_ENDIAN") -> int | float:
    """The INT that 4 bytes are."""
    return _unpacked(data, order, "i")


@conversions.scalar(
    "bigint_from_bytes", "(BYTES value) -> BIGINT", "(BYTES value, STRING byteOrder) -> BIGINT"
)
def bigint_from_bytes(data: bytes, order: str = "BIG_ENDIAN") -> int | float:
    """The BIGINT that 8 bytes are."""
    return _unpacked(data, order, "q")


@conversions.scalar(
    "double_from_bytes", "(BYTES value) -> DOUBLE", "(BYTES value, STRING byteOrder) -> DOUBLE"
)
def double_from_bytes(data: bytes, order: str = "BIG_ENDIAN") -> int | float:
    """The DOUBLE that 8 bytes are."""
    return _unpacked(data, order, "d")
