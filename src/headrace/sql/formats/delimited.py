"""DELIMITED: a line of values, quoted where need be, as Apache Commons CSV reads and writes it."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from headrace.core.errors import SerializationError
from headrace.sql.decimals import fitted
from headrace.sql.formats.catalog import DELIMITER, delimiter_character
from headrace.sql.formats.codec import Codec
from headrace.sql.formats.registry import SchemaRegistry
from headrace.sql.formats.shape import RowFormat
from headrace.sql.java_numbers import double_text
from headrace.sql.types import BYTES, DecimalType, SqlType


def delimited_codec(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> Codec:
    """The codec of rows as lines."""
    delimiter = delimiter_character(rows.info.get(DELIMITER) or ",")
    types = [column.type for column in rows.columns]
    return Codec(_writer(types, delimiter), _reader(types, delimiter))


def _writer(types: list[SqlType], delimiter: str) -> Callable[[tuple[Any, ...]], bytes]:
    texts = [_text_of(type) for type in types]

    def write(row: tuple[Any, ...]) -> bytes:
        tokens = [
            "" if value is None else _quoted(text(value), delimiter, index == 0)
            for index, (text, value) in enumerate(zip(texts, row, strict=True))
        ]
        return delimiter.join(tokens).encode()

    return write


def _text_of(type: SqlType) -> Callable[[Any], str]:
    if type.name == "BOOLEAN":
        return lambda value: "true" if value else "false"
    if type.name == "DOUBLE":
        return double_text
    if type.name == "DECIMAL":
        return lambda value: format(value, "f")
    if type.name == "BYTES":
        return lambda value: base64.b64encode(value).decode()
    return str


def _quoted(token: str, delimiter: str, is_first: bool) -> str:
    """A token in quotes if it could be misread. The first of a line could also be the beginning of
    a comment, so it is quoted unless it begins with a letter or digit."""
    if not token:
        return '""' if is_first else token
    first = token[0]
    misread = (
        (is_first and not (first.isascii() and first.isalnum()))
        or first <= "#"
        or token[-1] <= " "
        or any(c in token for c in (delimiter, '"', "\n", "\r"))
    )
    return f'"{token.replace(chr(34), chr(34) * 2)}"' if misread else token


def _reader(types: list[SqlType], delimiter: str) -> Callable[[bytes], tuple[Any, ...]]:
    parsers = [_parser_of(type) for type in types]

    def read(data: bytes) -> tuple[Any, ...]:
        try:
            text = data.decode()
            tokens = next(_records(text, delimiter), None)
        except (UnicodeDecodeError, csv.Error) as reason:
            raise SerializationError(f"This isn't DELIMITED: {reason}") from reason
        if tokens is None:
            raise SerializationError("There is no line of DELIMITED in it")
        if len(tokens) != len(parsers):
            raise SerializationError(
                f"Unexpected field count, csvFields:{len(tokens)} schemaFields:{len(parsers)}"
            )
        return tuple(
            parse(token) if token else None for parse, token in zip(parsers, tokens, strict=True)
        )

    return read


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    lines = io.StringIO(text, newline="")
    return (tokens for tokens in csv.reader(lines, delimiter=delimiter, strict=True) if tokens)


def _parser_of(type: SqlType) -> Callable[[str], Any]:
    if isinstance(type, DecimalType):
        return lambda token: fitted(_parsed(token, Decimal, type), type)
    if type.name in _PARSERS:
        return _PARSERS[type.name]
    if type.name == "DOUBLE":
        return lambda token: _parsed(token, float, type)
    bits = 63 if type.name in ("BIGINT", "TIMESTAMP") else 31

    def integer(token: str) -> int:
        number: int = _parsed(token, int, type)
        if not -(1 << bits) <= number < 1 << bits:
            raise _unfit(token, type)
        return number

    return integer


def _boolean(token: str) -> bool:
    return token.lower() == "true"


def _bytes(token: str) -> bytes:
    return bytes(_parsed(token, base64.b64decode, BYTES))


_PARSERS: dict[str, Callable[[str], Any]] = {
    "STRING": str,
    "BOOLEAN": _boolean,
    "BYTES": _bytes,
}


def _parsed(token: str, parse: Callable[[str], Any], type: SqlType) -> Any:
    try:
        return parse(token.strip())
    except (ValueError, InvalidOperation):
        raise _unfit(token, type) from None


def _unfit(token: str, type: SqlType) -> SerializationError:
    return SerializationError(f"{token!r} isn't {type}")
