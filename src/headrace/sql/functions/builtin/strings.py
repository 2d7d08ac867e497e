"""Functions of text, and of bytes that are treated as text is."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable
from typing import TypeVar

from headrace.sql.functions import utf16
from headrace.sql.functions.library import Library
from headrace.sql.functions.sizes import check_items, check_text, joined

library = Library("STRING")

Text = TypeVar("Text", str, bytes)


# Python's own methods, which cost less to call.
library.scalar("lcase", "(STRING input) -> STRING")(str.lower)
library.scalar("ucase", "(STRING input) -> STRING")(str.upper)


@library.scalar("initcap", "(STRING str) -> STRING")
def initcap(text: str) -> str:
    """Text with each word's first letter in upper case, and all others in lower case."""
    return re.sub(r"\S+", lambda word: word[0][0].upper() + word[0][1:].lower(), text.lstrip())


_SPACES = "".join(map(chr, range(0x21)))


@library.scalar("trim", "(STRING input) -> STRING")
def trim(text: str) -> str:
    """Text without spaces around it."""
    return text.strip(_SPACES)


@library.scalar("len", "(STRING input) -> INT")
def length(text: str) -> int:
    """The length of text, or of bytes."""
    return utf16.length(text)


@library.scalar("len", "(BYTES input) -> INT")
def length_of_bytes(data: bytes) -> int:
    return len(data)


@library.scalar("replace", "(STRING str, STRING oldStr, STRING newStr) -> STRING")
def replace(text: str, old: str, new: str) -> str:
    """Text with all occurrences of a part replaced."""
    growth = len(new) - len(old)
    if growth > 0:
        check_text(len(text) + text.count(old) * growth)
    return text.replace(old, new)


@library.scalar("md5", "(STRING s) -> STRING")
def md5(text: str) -> str:
    """The MD5 hash of text, in hexadecimal digits."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


@library.scalar("uuid", "() -> STRING")
def random_uuid() -> str:
    """A random UUID, or the UUID of 16 bytes."""
    return str(uuid.uuid4())


@library.scalar("uuid", "(BYTES bytes) -> STRING")
def uuid_of(data: bytes) -> str | None:
    return str(uuid.UUID(bytes=data)) if len(data) == 16 else None


@library.scalar("chr", "(INT decimalCode) -> STRING")
def character(code: int) -> str | None:
    """The character of a code point: a number, or an escape such as \\u004b."""
    return chr(code) if 0 <= code <= 0x10FFFF else None


_ESCAPE = re.compile(r"\\u+([0-9a-fA-F]{4})")


@library.scalar("chr", "(STRING utf16Code) -> STRING")
def character_of_escape(text: str) -> str | None:
    if len(text) < 6 or not text.startswith("\\u"):
        return None
    return utf16.joined(_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text))


@library.scalar("concat", "(STRING... inputs) -> STRING", strict=False)
def concat(*texts: str | None) -> str:
    """All arguments one after another, without those that are NULL."""
    return joined("", texts)


@library.scalar("concat", "(BYTES... inputs) -> BYTES", strict=False)
def concat_bytes(*parts: bytes | None) -> bytes:
    return joined(b"", parts)


@library.scalar("concat_ws", "(STRING... inputs) -> STRING", strict=False)
def concat_with(separator: str | None, *texts: str | None) -> str | None:
    """The arguments after the first one after another, with the first between them."""
    _need_some(texts)
    if separator is None:
        return None
    return joined(separator, texts)


@library.scalar("concat_ws", "(BYTES... inputs) -> BYTES", strict=False)
def concat_bytes_with(separator: bytes | None, *parts: bytes | None) -> bytes | None:
    _need_some(parts)
    if separator is None:
        return None
    return joined(separator, parts)


def _need_some(inputs: tuple[object, ...]) -> None:
    if not inputs:
        raise ValueError("Function Concat_WS expects at least two input arguments.")


@library.scalar("elt", "(INT n, STRING... args) -> STRING", strict=False)
def element(number: int | None, *texts: str | None) -> str | None:
    """The n-th of the texts that follow."""
    if number is None:
        raise ValueError("the number is NULL")
    return texts[number - 1] if 1 <= number <= len(texts) else None


@library.scalar("field", "(STRING str, STRING... args) -> INT", strict=False)
def position_among(text: str | None, *texts: str | None) -> int:
    """The position of text among others, from 1; 0 if it isn't there."""
    return 0 if text is None or text not in texts else texts.index(text) + 1


@library.scalar(
    "instr",
    "(STRING str, STRING substring) -> INT",
    "(STRING str, STRING substring, INT position) -> INT",
    "(STRING str, STRING substring, INT position, INT occurrence) -> INT",
    strict=False,
)
def position_in(
    text: str | None, part: str | None, position: int | None = 1, occurrence: int | None = 1
) -> int:
    """The position of a part in text, from 1; 0 if it isn't there. A negative position searches
    backwards from the end."""
    if position is None or occurrence is None:
        raise ValueError("position or occurrence is NULL")
    if not text or part is None or occurrence < 1:
        return 0
    units, wanted = utf16.spread(text), utf16.spread(part)
    if position >= 0:
        at = max(position - 1, 0) - 1
        for _ in range(occurrence):
            at = units.find(wanted, at + 1)
            if at < 0:
                return 0
    else:
        at = len(units) + position + 1
        for _ in range(occurrence):
            at = units.rfind(wanted, 0, at - 1 + len(wanted)) if at > 0 else -1
            if at < 0:
                return 0
    return at + 1


def _range(size: int, position: int, count: int | None) -> tuple[int, int]:
    start = max(size + position, 0) if position < 0 else min(max(position - 1, 0), size)
    end = size if count is None else max(start, min(start + count, size))
    return start, end


@library.scalar(
    "substring",
    "(STRING str, INT pos) -> STRING",
    "(STRING str, INT pos, INT length) -> STRING",
)
def substring(text: str, position: int, count: int | None = None) -> str:
    """The part of text, or of bytes, from a position on, counted from 1 or back from the end."""
    return utf16.part(text, *_range(utf16.length(text), position, count))


@library.scalar(
    "substring",
    "(BYTES bytes, INT pos) -> BYTES",
    "(BYTES bytes, INT pos, INT length) -> BYTES",
)
def part_of_bytes(data: bytes, position: int, count: int | None = None) -> bytes:
    start, end = _range(len(data), position, count)
    return data[start:end]


def _padding(fill: Text, missing: int) -> Text:
    """As much as is missing, if something is."""
    missing = max(missing, 0)
    check_text(missing)
    return (fill * (missing // len(fill) + 1))[:missing]


@library.scalar("lpad", "(STRING input, INT targetLen, STRING padding) -> STRING")
def pad_left(text: str, size: int, padding: str) -> str | None:
    """Text, or bytes, made as long as wanted by padding on the left, or by cutting."""
    if not padding or size < 0:
        return None
    units = utf16.spread(text)
    return utf16.joined(_padding(utf16.spread(padding), size - len(units)) + units[:size])


@library.scalar("lpad", "(BYTES input, INT targetLen, BYTES padding) -> BYTES")
def pad_bytes_left(data: bytes, size: int, padding: bytes) -> bytes | None:
    if not padding or size < 0:
        return None
    return _padding(padding, size - len(data)) + data[:size]


@library.scalar("rpad", "(STRING input, INT targetLen, STRING padding) -> STRING")
def pad_right(text: str, size: int, padding: str) -> str | None:
    """Text, or bytes, made as long as wanted by padding on the right, or by cutting."""
    if not padding or size < 0:
        return None
    units = utf16.spread(text)
    return utf16.joined(units[:size] + _padding(utf16.spread(padding), size - len(units)))


@library.scalar("rpad", "(BYTES input, INT targetLen, BYTES padding) -> BYTES")
def pad_bytes_right(data: bytes, size: int, padding: bytes) -> bytes | None:
    if not padding or size < 0:
        return None
    return data[:size] + _padding(padding, size - len(data))


@library.scalar("split", "(STRING string, STRING delimiter) -> ARRAY<STRING>")
def split(text: str, delimiter: str) -> list[str]:
    """The parts of text, or of bytes, between delimiters."""
    check_items(text.count(delimiter))
    if delimiter:
        return text.split(delimiter)
    return list(text) or [""]


@library.scalar("split", "(BYTES bytes, BYTES delimiter) -> ARRAY<BYTES>")
def split_bytes(data: bytes, delimiter: bytes) -> list[bytes]:
    check_items(data.count(delimiter))
    if delimiter:
        return data.split(delimiter)
    return [data[at : at + 1] for at in range(len(data))] or [b""]


@library.scalar(
    "split_to_map",
    "(STRING input, STRING entryDelimiter, STRING kvDelimiter) -> MAP<STRING, STRING>",
)
def split_to_map(text: str, entry_delimiter: str, kv_delimiter: str) -> dict[str, str] | None:
    """The entries of text such as a=1;b=2."""
    if not entry_delimiter or not kv_delimiter or entry_delimiter == kv_delimiter:
        return None
    check_items(text.count(entry_delimiter))
    return dict(_entries(text.split(entry_delimiter), kv_delimiter))


def _entries(parts: Iterable[str], delimiter: str) -> Iterable[tuple[str, str]]:
    for part in parts:
        if part and delimiter in part:
            key, value, *_ = part.split(delimiter)
            yield key, value
