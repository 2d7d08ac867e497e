"""Protobuf messages from values."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.core.errors import SerializationError
from headrace.sql.decimals import EXACT
from headrace.sql.formats.catalog import FormatError
from headrace.sql.formats.proto_schema import DECIMAL_MESSAGE, SQL_TYPES, WRAPPER_TYPES, is_map
from headrace.sql.types import ArrayType, Field, MapType, SqlType, StructType

Convert = Callable[[Any], Any]


def message_encoder(descriptor: Any, type: StructType) -> Callable[[Any, Any], None]:
    """What fills a message from a struct; NULLs leave fields unset."""
    by_name = {field.name: field for field in type.fields}
    by_upper_name = {field.name.upper(): field for field in reversed(type.fields)}
    setters = []
    for field in descriptor.fields:
        member = by_name.get(field.name) or by_upper_name.get(field.name.upper())
        if member is not None:
            setters.append((member.name, _setter(field, member.type)))

    def encode(message: Any, struct: dict[str, Any]) -> None:
        for name, set_field in setters:
            value = struct[name]
            if value is not None:
                set_field(message, value)

    return encode


def _setter(field: Any, type: SqlType) -> Callable[[Any, Any], None]:
    """What sets a field to a value that isn't NULL."""
    name = field.name
    if is_map(field) and isinstance(type, MapType):
        return _map_setter(field, type)
    if field.is_repeated and isinstance(type, ArrayType):
        return _array_setter(field, type)
    if field.is_repeated and isinstance(type, MapType):
        return _entries_setter(field, type)
    if field.is_repeated:
        raise FormatError(f"{type} can't be written as the list {name} of the protobuf schema")
    if field.message_type is None:
        convert = _scalar_encoder(field, type)
        return lambda message, value: setattr(message, name, convert(value))
    fill = _filler(field, type)

    def set_message(message: Any, value: Any) -> None:
        part = getattr(message, name)
        part.SetInParent()
        fill(part, value)

    return set_message


def _map_setter(field: Any, type: MapType) -> Callable[[Any, Any], None]:
    name = field.name
    value_field = field.message_type.fields_by_name["value"]
    if value_field.message_type is not None:
        fill = _filler(value_field, type.value)

        def set_messages(message: Any, entries: dict[Any, Any]) -> None:
            target = getattr(message, name)
            for key, value in entries.items():
                part = target[key]
                if value is not None:
                    fill(part, value)

        return set_messages
    convert = _scalar_encoder(value_field, type.value)

    def set_scalars(message: Any, entries: dict[Any, Any]) -> None:
        target = getattr(message, name)
        for key, value in entries.items():
            target[key] = value_field.default_value if value is None else convert(value)

    return set_scalars


def _array_setter(field: Any, type: ArrayType) -> Callable[[Any, Any], None]:
    name = field.name
    if field.message_type is not None:
        fill = _filler(field, type.element)

        def add_messages(message: Any, items: list[Any]) -> None:
            target = getattr(message, name)
            for item in items:
                part = target.add()
                if item is not None:
                    fill(part, item)

        return add_messages
    convert = _scalar_encoder(field, type.element)

    def add_scalars(message: Any, items: list[Any]) -> None:
        if None in items:
            raise SerializationError(f"Protobuf has no NULL in a list: field {name}")
        getattr(message, name).extend(map(convert, items))

    return add_scalars


def _entries_setter(field: Any, type: MapType) -> Callable[[Any, Any], None]:
    entry = StructType((Field("key", type.key), Field("value", type.value)))
    encode = message_encoder(field.message_type, entry)

    def add_entries(message: Any, entries: dict[Any, Any]) -> None:
        for key, value in entries.items():
            encode(getattr(message, field.name).add(), {"key": key, "value": value})

    return add_entries


def _filler(field: Any, type: SqlType) -> Callable[[Any, Any], None]:
    """What puts a value into the message that a field has."""
    descriptor = field.message_type
    name = descriptor.full_name
    if name in WRAPPER_TYPES:
        convert = _scalar_encoder(descriptor.fields_by_name["value"], type)
        return lambda part, value: setattr(part, "value", convert(value))
    fill = _FILLERS.get((name, type.name))
    if fill is not None:
        return fill
    if isinstance(type, StructType):
        return message_encoder(descriptor, type)
    inner = descriptor.fields_by_name.get("value")
    if isinstance(type, ArrayType | MapType) and inner is not None:
        return _setter(inner, type)
    raise FormatError(f"{type} can't be written as the message {name}")


def _fill_decimal(part: Any, number: Decimal) -> None:
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # SQL knows no decimal infinity
    unscaled = int(EXACT.scaleb(number, -exponent))
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    part.value = unscaled.to_bytes(size, "big", signed=True)
    part.precision = max(len(digits), -exponent)
    part.scale = -exponent


def _fill_date(part: Any, days: int) -> None:
    date = datetime.date.fromordinal(_EPOCH + days)
    part.year, part.month, part.day = date.year, date.month, date.day


def _fill_time(part: Any, milliseconds: int) -> None:
    seconds, rest = divmod(milliseconds, 1000)
    part.hours, part.minutes, part.seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    part.nanos = rest * 1_000_000


def _fill_timestamp(part: Any, milliseconds: int) -> None:
    part.seconds, rest = divmod(milliseconds, 1000)
    part.nanos = rest * 1_000_000


_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FILLERS: dict[tuple[str, str], Callable[[Any, Any], None]] = {
    (DECIMAL_MESSAGE, "DECIMAL"): _fill_decimal,
    ("google.type.Date", "DATE"): _fill_date,
    ("google.type.TimeOfDay", "TIME"): _fill_time,
    ("google.protobuf.Timestamp", "TIMESTAMP"): _fill_timestamp,
}


def _scalar_encoder(field: Any, type: SqlType) -> Convert:
    if field.enum_type is not None and type.name == "STRING":
        numbers: dict[str, int] = {
            name: value.number for name, value in field.enum_type.values_by_name.items()
        }

        def number_of(name: str) -> int:
            if name not in numbers:
                raise SerializationError(f"{name!r} is no {field.enum_type.full_name}")
            return numbers[name]

        return number_of
    expected = SQL_TYPES.get(field.type)
    if expected is None or (expected.name, type.name) not in _WRITABLE:
        raise FormatError(f"{type} can't be written as field {field.name} of the protobuf schema")
    return _same


_WRITABLE = frozenset(
    {
        *((name, name) for name in ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES")),
        ("BIGINT", "INTEGER"),
        ("INTEGER", "DATE"),
        ("INTEGER", "TIME"),
        ("BIGINT", "TIMESTAMP"),
    }
)


def _same(value: Any) -> Any:
    return value
