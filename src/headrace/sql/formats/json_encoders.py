"""Values as orjson writes them: ksqlDB's JSON of each type."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import orjson

from headrace.sql.java_numbers import double_text
from headrace.sql.types import (
    STRING,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

Convert = Callable[[Any], Any]


def _converted(members: Iterable[tuple[str, SqlType]]) -> list[tuple[str, Convert]]:
    """Those members that aren't written as they are."""
    encoders = ((name, encoder(type)) for name, type in members)
    return [(name, encode) for name, encode in encoders if encode is not None]


def encoder(type: SqlType) -> Convert | None:
    """What turns a value that isn't NULL into what orjson writes; None if nothing is to be done."""
    if isinstance(type, DecimalType):
        return _encode_decimal
    if isinstance(type, ArrayType):
        element = encoder(type.element)
        return None if element is None else _array_encoder(element)
    if isinstance(type, MapType):
        value = encoder(type.value)
        if type.key != STRING:
            return _pairs_encoder(encoder(type.key) or same, value or same)
        return _null_key_named if value is None else _map_encoder(value)
    if isinstance(type, StructType):
        return _struct_encoder(type.fields)
    return _ENCODERS.get(type.name)


def same(value: Any) -> Any:
    """The value as it is."""
    return value


def encode_double(number: float) -> Any:
    """The number as Java writes it."""
    if 1e-3 <= number < 1e7:  # where orjson writes what Java does
        return number
    if number != number or number in (float("inf"), float("-inf")):
        return double_text(number)
    return orjson.Fragment(double_text(number))


def _encode_decimal(number: Decimal) -> Any:
    return orjson.Fragment(str(number))


def _encode_bytes(data: bytes) -> str:
    return base64.b64encode(data).decode()


_ENCODERS: dict[str, Convert] = {"DOUBLE": encode_double, "BYTES": _encode_bytes}


def _array_encoder(element: Convert) -> Convert:
    return lambda items: [None if item is None else element(item) for item in items]


def _map_encoder(value: Convert) -> Convert:
    return lambda entries: {
        _key_name(key): None if item is None else value(item) for key, item in entries.items()
    }


def _pairs_encoder(key: Convert, value: Convert) -> Convert:
    """Topics have no such maps, but what is kept between steps may."""
    return lambda entries: [
        [None if name is None else key(name), None if item is None else value(item)]
        for name, item in entries.items()
    ]


def _null_key_named(entries: dict[Any, Any]) -> dict[Any, Any]:
    if None in entries:
        return {_key_name(key): item for key, item in entries.items()}
    return entries


def _key_name(key: str | None) -> str:
    return "null" if key is None else key


def _struct_encoder(fields: tuple[Field, ...]) -> Convert | None:
    converted = _converted((field.name, field.type) for field in fields)
    if not converted:
        return None

    def encode(struct: dict[str, Any]) -> dict[str, Any]:
        members = dict(struct)
        for name, convert in converted:
            value = members[name]
            if value is not None:
                members[name] = convert(value)
        return members

    return encode
