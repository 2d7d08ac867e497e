"""Rows in answers of the server: JSON, with dates and times as text; or protobuf."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import orjson

from headrace.sql.formats.catalog import FormatInfo
from headrace.sql.formats.json_encoders import encode_double
from headrace.sql.formats.proto_schema import protobuf_schema
from headrace.sql.formats.rows import Row, row_serde
from headrace.sql.formats.shape import RowFormat
from headrace.sql.schema import Column
from headrace.sql.times import date_text, time_text, timestamp_text
from headrace.sql.types import ArrayType, MapType, SqlType, StructType

Encode = Callable[[Any], Any]


def answer_encoder(types: Sequence[SqlType]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function from a row of these types to what orjson writes of it in an answer."""
    encoders = [_encoder(type) for type in types]

    def encode(row: Sequence[Any]) -> list[Any]:
        return [
            value if value is None or encoder is None else encoder(value)
            for encoder, value in zip(encoders, row, strict=True)
        ]

    return encode


def protobuf_answer(columns: Sequence[Column]) -> tuple[str, Callable[[Row], bytes]]:
    """The text of a schema for rows of these columns, and a function that writes them as its
    message."""
    plain = tuple(Column(column.name, column.type) for column in columns)
    rows = RowFormat(FormatInfo("PROTOBUF_NOSR"), plain)
    return protobuf_schema(rows).text, row_serde(rows, "").serialize


def _encoder(type: SqlType) -> Encode | None:
    """None if values are written as they are."""
    if isinstance(type, ArrayType):
        element = _encoder(type.element)
        if element is None:
            return None
        return lambda items: [None if item is None else element(item) for item in items]
    if isinstance(type, MapType):
        key, value = _encoder(type.key), _encoder(type.value)
        return lambda entries: {
            _name(name, key): item if item is None or value is None else value(item)
            for name, item in entries.items()
        }
    if isinstance(type, StructType):
        fields = {field.name: _encoder(field.type) for field in type.fields}
        return lambda struct: {
            name: item if item is None or (encode := fields[name]) is None else encode(item)
            for name, item in struct.items()
        }
    return _ENCODERS.get(type.name)


def _name(key: Any, encode: Encode | None) -> str:
    """A member's name for a key of a map."""
    if isinstance(key, str):
        return key
    content = key if key is None or encode is None else encode(key)
    return content if isinstance(content, str) else orjson.dumps(content).decode()


def _decimal(number: Decimal) -> Any:
    return orjson.Fragment(format(number, "f"))


def _bytes(data: bytes) -> str:
    return base64.b64encode(data).decode()


_ENCODERS: dict[str, Encode] = {
    "DOUBLE": encode_double,
    "DECIMAL": _decimal,
    "BYTES": _bytes,
    "DATE": date_text,
    "TIME": time_text,
    "TIMESTAMP": timestamp_text,
}
