"""Values of JSON, as leniently as ksqlDB reads them: names in any case, text for numbers, anything
for STRING."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from headrace.core.errors import SerializationError
from headrace.sql.decimals import fitted
from headrace.sql.types import STRING, ArrayType, DecimalType, MapType, SqlType, StructType

Convert = Callable[[Any], Any]


class Inexact(Exception):
    """A fraction is needed digit by digit, which orjson doesn't give."""


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
    raise unfit(content, "BOOLEAN")


def _integer_decoder(bits: int, name: str) -> Convert:
    half = 1 << (bits - 1)

    def decode(content: Any) -> int:
        kind = type(content)
        if kind is int:
            return int(content) if -half <= content < half else _wrapped(content, bits)
        if kind is float or kind is Decimal:
            return int(max(-half, min(half - 1, content)))  # a huge number is never spelled out
        if kind is str:
            number = _parsed_integer(content, name)
            if -half <= number < half:
                return number
        raise unfit(content, name)

    return decode


def _wrapped(number: int, bits: int) -> int:
    """As Java narrows an integer: the lowest bits count."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _parsed_integer(text: str, name: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise unfit(text, name)
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
    raise unfit(content, "DOUBLE")


def _decode_string(content: Any) -> str:
    kind = type(content)
    if kind is str:
        return str(content)
    if kind is bool:
        return "true" if content else "false"
    if kind is int or kind is Decimal:
        return str(content)
    if kind is float:
        raise Inexact
    if _has_float(content):
        raise Inexact
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
    raise unfit(content, "BYTES")


def _decimal_decoder(type: DecimalType) -> Convert:
    def decode(content: Any) -> Decimal:
        if isinstance(content, bool) or not isinstance(content, int | str | Decimal):
            raise unfit(content, str(type))
        try:
            number = Decimal(content)
        except InvalidOperation:
            raise unfit(content, str(type)) from None
        if not number.is_finite():
            raise unfit(content, str(type))
        return fitted(number, type)

    return decode


def _array_decoder(element: Convert) -> Convert:
    def decode(content: Any) -> list[Any]:
        if not isinstance(content, list):
            raise unfit(content, "ARRAY")
        return [None if item is None else element(item) for item in content]

    return decode


def _map_decoder(value: Convert) -> Convert:
    def decode(content: Any) -> dict[str, Any]:
        if not isinstance(content, dict):
            raise unfit(content, "MAP")
        return {key: None if item is None else value(item) for key, item in content.items()}

    return decode


def _pairs_decoder(key: Convert, value: Convert) -> Convert:
    def decode(content: Any) -> dict[Any, Any]:
        if not isinstance(content, list):
            raise unfit(content, "MAP")
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
            raise unfit(content, "STRUCT")
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


def unfit(content: Any, what: str) -> SerializationError:
    """The error that something isn't what it should be."""
    shown = json.dumps(content, default=str)
    shown = shown if len(shown) <= 100 else shown[:97] + "…"
    return SerializationError(f"Can't convert type. {shown} isn't {what}")


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
