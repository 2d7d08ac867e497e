"""Values from protobuf messages."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.core.errors import SerializationError
from headrace.sql.decimals import EXACT, fitted
from headrace.sql.formats.proto_schema import (
    DECIMAL_MESSAGE,
    MESSAGE_TYPES,
    SQL_TYPES,
    WRAPPER_TYPES,
    is_map,
)
from headrace.sql.java_numbers import double_text
from headrace.sql.types import ArrayType, DecimalType, Field, MapType, SqlType, StructType

Convert = Callable[[Any], Any]
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def message_decoder(descriptor: Any, type: StructType) -> Callable[[Any], dict[str, Any]]:
    """What turns a message into a struct."""
    fields = {field.name: field for field in descriptor.fields}
    upper = {name.upper(): name for name in reversed(list(fields))}
    getters: list[tuple[str, Convert]] = []
    for member in type.fields:
        name = member.name if member.name in fields else upper.get(member.name)
        getters.append((member.name, _none if name is None else _getter(fields[name], member.type)))

    def decode(message: Any) -> dict[str, Any]:
        return {name: get(message) for name, get in getters}

    return decode


def _none(_: Any) -> None:
    return None


def _same(value: Any) -> Any:
    return value


def _getter(field: Any, type: SqlType) -> Convert:
    name = field.name
    if is_map(field) and isinstance(type, MapType):
        members = field.message_type.fields_by_name
        key = _single_decoder(members["key"], type.key)
        value = _single_decoder(members["value"], type.value)
        return lambda message: {
            key(entry): value(item) for entry, item in getattr(message, name).items()
        }
    if field.is_repeated and isinstance(type, MapType):
        entry_type = StructType((Field("key", type.key), Field("value", type.value)))
        decode_entry = message_decoder(field.message_type, entry_type)
        return lambda message: {
            entry["key"]: entry["value"] for entry in map(decode_entry, getattr(message, name))
        }
    if field.is_repeated and isinstance(type, ArrayType):
        element = _single_decoder(field, type.element)
        return lambda message: [element(item) for item in getattr(message, name)]
    if field.is_repeated:
        raise _unfit(field, type)
    decode = _single_decoder(field, type)
    if field.has_presence:
        return lambda message: decode(getattr(message, name)) if message.HasField(name) else None
    return lambda message: decode(getattr(message, name))


def _single_decoder(field: Any, type: SqlType) -> Convert:
    descriptor = field.message_type
    if descriptor is None:
        return _scalar_decoder(field, type)
    name = descriptor.full_name
    if name in WRAPPER_TYPES:
        convert = _scalar_decoder(descriptor.fields_by_name["value"], type)
        return lambda part: convert(part.value)
    if name == DECIMAL_MESSAGE and isinstance(type, DecimalType):
        return lambda part: fitted(
            EXACT.scaleb(Decimal(int.from_bytes(part.value, "big", signed=True)), -part.scale),
            type,
        )
    if MESSAGE_TYPES.get(name) == type:
        return _PART_DECODERS[name]
    if isinstance(type, StructType):
        return message_decoder(descriptor, type)
    inner = descriptor.fields_by_name.get("value")
    if isinstance(type, ArrayType | MapType) and inner is not None:
        return _getter(inner, type)
    raise _unfit(field, type)


_PART_DECODERS: dict[str, Convert] = {
    "google.type.Date": lambda part: (
        datetime.date(part.year, part.month, part.day).toordinal() - _EPOCH
    ),
    "google.type.TimeOfDay": lambda part: (
        (part.hours * 3600 + part.minutes * 60 + part.seconds) * 1000 + part.nanos // 1_000_000
    ),
    "google.protobuf.Timestamp": lambda part: part.seconds * 1000 + part.nanos // 1_000_000,
}


def _scalar_decoder(field: Any, type: SqlType) -> Convert:
    if field.enum_type is not None and type.name == "STRING":
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return lambda number: names.get(number, str(number))
    actual = SQL_TYPES[field.type].name
    if type.name == "STRING" and actual in _TEXTS:
        return _TEXTS[actual]
    if actual == "BIGINT" and type.name == "BIGINT":
        return lambda number: number if number < 1 << 63 else number - (1 << 64)
    if (actual, type.name) in _READABLE:
        return _same
    raise _unfit(field, type)


_READABLE = frozenset(
    {
        *((name, name) for name in ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES")),
        ("INTEGER", "BIGINT"),
        ("INTEGER", "DATE"),
        ("INTEGER", "TIME"),
        ("BIGINT", "TIMESTAMP"),
    }
)
_TEXTS: dict[str, Convert] = {
    "BOOLEAN": lambda value: "true" if value else "false",
    "INTEGER": str,
    "BIGINT": str,
    "DOUBLE": double_text,
    "STRING": _same,
}


def _unfit(field: Any, type: SqlType) -> SerializationError:
    return SerializationError(f"Field {field.full_name} of the message isn't {type}")
