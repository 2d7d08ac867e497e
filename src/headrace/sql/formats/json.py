"""JSON: rows as objects, or a single column by itself.

Reading is as lenient as ksqlDB's: names in any case, text for numbers, anything for STRING.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from headrace.core.errors import SerializationError
from headrace.sql.decimals import fitted
from headrace.sql.formats.codec import Codec
from headrace.sql.formats.registry import SchemaRegistry
from headrace.sql.formats.shape import RowFormat
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


def json_codec(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> Codec:
    """The codec of rows as JSON."""
    return Codec(json_writer(rows), json_reader(rows))


# Writing


def json_writer(rows: RowFormat) -> Callable[[tuple[Any, ...]], bytes | None]:
    """The function that writes a row."""
    dumps = orjson.dumps
    if rows.is_unwrapped:
        encode = encoder(rows.columns[0].type) or _same

        def write_single(row: tuple[Any, ...]) -> bytes | None:
            (value,) = row
            return None if value is None else dumps(encode(value))

        return write_single

    names = tuple(column.name for column in rows.columns)
    converted = _converted((column.name, column.type) for column in rows.columns)
    if not converted:
        return lambda row: dumps(dict(zip(names, row, strict=True)))

    def write(row: tuple[Any, ...]) -> bytes:
        members = dict(zip(names, row, strict=True))
        for name, convert in converted:
            value = members[name]
            if value is not None:
                members[name] = convert(value)
        return dumps(members)

    return write


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
            return _pairs_encoder(encoder(type.key) or _same, value or _same)
        return _null_key_named if value is None else _map_encoder(value)
    if isinstance(type, StructType):
        return _struct_encoder(type.fields)
    return _ENCODERS.get(type.name)


def _same(value: Any) -> Any:
    return value


def _encode_double(number: float) -> Any:
    if 1e-3 <= number < 1e7:  # where orjson writes what Java does
        return number
    if number != number or number in (float("inf"), float("-inf")):
        return double_text(number)
    return orjson.Fragment(double_text(number))


def _encode_decimal(number: Decimal) -> Any:
    return orjson.Fragment(str(number))


def _encode_bytes(data: bytes) -> str:
    return base64.b64encode(data).decode()


_ENCODERS: dict[str, Convert] = {"DOUBLE": _encode_double, "BYTES": _encode_bytes}


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


# Reading


class _Inexact(Exception):
    """A fraction is needed digit by digit, which orjson doesn't give."""


def json_reader(rows: RowFormat) -> Callable[[bytes], tuple[Any, ...] | None]:
    """The function that reads a row."""
    parse = _parse_exactly if _has_decimal([c.type for c in rows.columns]) else orjson.loads
    read = _row_decoder(rows)

    def read_row(data: bytes) -> tuple[Any, ...] | None:
        if not data:
            return None
        try:
            content = parse(data)
        except ValueError as reason:
            raise SerializationError(f"This isn't JSON: {reason}") from reason
        if content is None:
            return None
        try:
            return read(content)
        except _Inexact:
            return read(_parse_exactly(data))

    return read_row


def _parse_exactly(data: bytes) -> Any:
    return json.loads(data, parse_float=Decimal, parse_constant=_no_constant)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _has_decimal(types: list[SqlType]) -> bool:
    for type in types:
        if isinstance(type, DecimalType):
            return True
        parts: list[SqlType] = []
        if isinstance(type, ArrayType):
            parts = [type.element]
        elif isinstance(type, MapType):
            parts = [type.key, type.value]
        elif isinstance(type, StructType):
            parts = [field.type for field in type.fields]
        if _has_decimal(parts):
            return True
    return False


def _row_decoder(rows: RowFormat) -> Callable[[Any], tuple[Any, ...]]:
    if rows.is_unwrapped:
        decode = decoder(rows.columns[0].type)
        return lambda content: (decode(content),)
    members = [(column.name, decoder(column.type)) for column in rows.columns]

    def read(content: Any) -> tuple[Any, ...]:
        if not isinstance(content, dict):
            raise _unfit(content, "a row")
        return tuple(_members(content, members))

    return read


def _members(content: dict[str, Any], members: list[tuple[str, Convert]]) -> list[Any]:
    """The values of an object's members. Names are as given, or in upper case."""
    upper: dict[str, Any] | None = None
    values = []
    for name, decode in members:
        if name in content:
            value = content[name]
        else:
            if upper is None:
                upper = {}
                for key, item in content.items():
                    upper.setdefault(key.upper(), item)
            value = upper.get(name)
        values.append(None if value is None else decode(value))
    return values


def decoder(type: SqlType) -> Convert:
    """What turns JSON that isn't null into a value."""
    if isinstance(type, DecimalType):
        return _decimal_decoder(type)
    if isinstance(type, ArrayType):
        return _array_decoder(decoder(type.element))
    if isinstance(type, MapType):
        if type.key != STRING:
            return _pairs_decoder(decoder(type.key), decoder(type.value))
        return _map_decoder(decoder(type.value))
    if isinstance(type, StructType):
        return _struct_decoder(type)
    return _DECODERS[type.name]


def _decode_boolean(content: Any) -> bool:
    if content is True or content is False:
        return bool(content)
    raise _unfit(content, "BOOLEAN")


def _integer_decoder(bits: int, name: str) -> Convert:
    half = 1 << (bits - 1)

    def decode(content: Any) -> int:
        kind = type(content)
        if kind is int:
            return int(content) if -half <= content < half else _wrapped(content, bits)
        if kind is float or kind is Decimal:
            return max(-half, min(half - 1, int(content)))
        if kind is str:
            number = _parsed_integer(content, name)
            if -half <= number < half:
                return number
        raise _unfit(content, name)

    return decode


def _wrapped(number: int, bits: int) -> int:
    """As Java narrows an integer: the lowest bits count."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _parsed_integer(text: str, name: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise _unfit(text, name)
    return int(text)


def _decode_double(content: Any) -> float:
    kind = type(content)
    if kind is float:
        return float(content)
    if kind is int or kind is Decimal:
        return float(content)
    if kind is str:
        try:
            return float(content)
        except ValueError:
            pass
    raise _unfit(content, "DOUBLE")


def _decode_string(content: Any) -> str:
    kind = type(content)
    if kind is str:
        return str(content)
    if kind is bool:
        return "true" if content else "false"
    if kind is int or kind is Decimal:
        return str(content)
    if kind is float:
        raise _Inexact
    if _has_float(content):
        raise _Inexact
    return orjson.dumps(content, default=_as_fragment).decode()


def _has_float(content: Any) -> bool:
    if isinstance(content, dict):
        return any(map(_has_float, content.values()))
    if isinstance(content, list):
        return any(map(_has_float, content))
    return isinstance(content, float)


def _as_fragment(number: Any) -> Any:
    return orjson.Fragment(str(number))


def _decode_bytes(content: Any) -> bytes:
    if isinstance(content, str):
        try:
            return base64.b64decode(content, validate=True)
        except ValueError:
            pass
    raise _unfit(content, "BYTES")


def _decimal_decoder(type: DecimalType) -> Convert:
    def decode(content: Any) -> Decimal:
        if isinstance(content, bool) or not isinstance(content, int | str | Decimal):
            raise _unfit(content, str(type))
        try:
            number = Decimal(content)
        except InvalidOperation:
            raise _unfit(content, str(type)) from None
        if not number.is_finite():
            raise _unfit(content, str(type))
        return fitted(number, type)

    return decode


def _array_decoder(element: Convert) -> Convert:
    def decode(content: Any) -> list[Any]:
        if not isinstance(content, list):
            raise _unfit(content, "ARRAY")
        return [None if item is None else element(item) for item in content]

    return decode


def _map_decoder(value: Convert) -> Convert:
    def decode(content: Any) -> dict[str, Any]:
        if not isinstance(content, dict):
            raise _unfit(content, "MAP")
        return {key: None if item is None else value(item) for key, item in content.items()}

    return decode


def _pairs_decoder(key: Convert, value: Convert) -> Convert:
    def decode(content: Any) -> dict[Any, Any]:
        if not isinstance(content, list):
            raise _unfit(content, "MAP")
        return {
            None if name is None else key(name): None if item is None else value(item)
            for name, item in content
        }

    return decode


def _struct_decoder(type: StructType) -> Convert:
    names = [field.name for field in type.fields]
    members = [(field.name, decoder(field.type)) for field in type.fields]

    def decode(content: Any) -> dict[str, Any]:
        if not isinstance(content, dict):
            raise _unfit(content, "STRUCT")
        return dict(zip(names, _members(content, members), strict=True))

    return decode


_decode_int32 = _integer_decoder(32, "INTEGER")
_decode_int64 = _integer_decoder(64, "BIGINT")

_DECODERS: dict[str, Convert] = {
    "BOOLEAN": _decode_boolean,
    "INTEGER": _decode_int32,
    "BIGINT": _decode_int64,
    "DOUBLE": _decode_double,
    "STRING": _decode_string,
    "BYTES": _decode_bytes,
    "DATE": _decode_int32,
    "TIME": _decode_int32,
    "TIMESTAMP": _decode_int64,
}


def _unfit(content: Any, what: str) -> SerializationError:
    shown = json.dumps(content, default=str)
    shown = shown if len(shown) <= 100 else shown[:97] + "…"
    return SerializationError(f"Can't convert type. {shown} isn't {what}")
