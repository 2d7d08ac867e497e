"""CAST: from one SQL type to another, and text as Java writes values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from headrace.sql import decimals, times
from headrace.sql.java_numbers import double_text
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

Converter = Callable[[Any], Any]
"""From a value that isn't NULL."""


class UnsupportedCast(TypeError):
    """There is no cast between two types."""

    def __init__(self, source: SqlType, target: SqlType) -> None:
        super().__init__(f"Cast of {source} to {target} is not supported")


@lru_cache(maxsize=10_000)
def caster(source: SqlType, target: SqlType) -> Converter | None:
    """What casts values from a type to another; None if they can stay as they are."""
    if source == target or (source, target) == (INTEGER, BIGINT):
        return None
    if target == STRING:
        if source == BYTES:
            raise UnsupportedCast(source, target)
        return text_of(source)
    if isinstance(target, DecimalType):
        return _to_decimal(source, target)
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _array_caster(source, target)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return _map_caster(source, target)
    if isinstance(source, StructType) and isinstance(target, StructType):
        return _struct_caster(source, target)
    converter = _SCALARS.get((source.name, target.name))
    if converter is None:
        raise UnsupportedCast(source, target)
    return converter


def _to_decimal(source: SqlType, target: DecimalType) -> Converter:
    if source in (INTEGER, BIGINT):
        return lambda number: decimals.fitted(Decimal(number), target)
    if source == DOUBLE:
        return lambda number: decimals.fitted(decimals.of_double(number), target)
    if source == STRING:
        return lambda text: decimals.fitted(parse_decimal(text), target)
    if isinstance(source, DecimalType):
        return lambda number: decimals.fitted(number, target)
    raise UnsupportedCast(source, target)


def _nullable(converter: Converter | None) -> Converter:
    """The same for values that may be NULL."""
    if converter is None:
        return lambda value: value
    return lambda value: None if value is None else converter(value)


def _array_caster(source: ArrayType, target: ArrayType) -> Converter:
    element = _nullable(caster(source.element, target.element))
    return lambda array: [element(each) for each in array]


def _map_caster(source: MapType, target: MapType) -> Converter:
    key = _nullable(caster(source.key, target.key))
    value = _nullable(caster(source.value, target.value))
    return lambda entries: {key(k): value(v) for k, v in entries.items()}


def _struct_caster(source: StructType, target: StructType) -> Converter:
    """By name: a field that the source hasn't got is NULL."""
    known = {field.name: field.type for field in source.fields}
    fields = [
        (
            field.name,
            _nullable(caster(known[field.name], field.type)) if field.name in known else None,
        )
        for field in target.fields
    ]

    def cast(struct: dict[str, Any]) -> dict[str, Any]:
        return {
            name: None if converter is None else converter(struct[name])
            for name, converter in fields
        }

    return cast


# Numbers


def wrapped_int(number: int) -> int:
    """The low 32 bits, as Java's int."""
    return (number + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000


def wrapped_bigint(number: int) -> int:
    """The low 64 bits, as Java's long."""
    return (number + (1 << 63) & (1 << 64) - 1) - (1 << 63)


def _saturating(bits: int) -> Callable[[float], int]:
    """From double, as Java: cut off, the nearest there is, 0 for what is no number."""
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def cast(number: float) -> int:
        if number != number:
            return 0
        if math.isinf(number):
            return high if number > 0 else low
        return min(max(int(number), low), high)

    return cast


double_to_int = _saturating(32)
double_to_bigint = _saturating(64)

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?)", re.ASCII)


def _parse_whole(bits: int) -> Callable[[str], int]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def parse(text: str) -> int:
        stripped = text.strip()
        number = int(stripped) if _INTEGER.fullmatch(stripped) else None
        if number is None or not low <= number <= high:
            raise ValueError(f'For input string: "{stripped}"')
        return number

    return parse


parse_int = _parse_whole(32)
parse_bigint = _parse_whole(64)


def parse_decimal(text: str) -> Decimal:
    stripped = text.strip()
    if not _DECIMAL.fullmatch(stripped):
        raise ValueError(f'"{stripped}" is no DECIMAL')
    return Decimal(stripped)


def parse_double(text: str) -> float:
    stripped = text.strip()
    if not _DOUBLE.fullmatch(stripped):
        raise ValueError(f'For input string: "{stripped}"')
    return float(stripped.rstrip("dDfF") if stripped[-1] in "dDfF" else stripped)


def parse_boolean(text: str) -> bool:
    """`true`, in any case. All else is FALSE."""
    return text.strip().lower() == "true"


def parse_boolean_generously(text: str) -> bool | None:
    """`true` or `yes`, or the beginning of one, in any case; `on`; `1`; or what says the opposite.
    None if it is neither."""
    lowered = text.strip().lower()
    if not lowered:
        return None
    if "true".startswith(lowered) or "yes".startswith(lowered) or lowered in ("on", "1"):
        return True
    if "false".startswith(lowered) or "no".startswith(lowered) or lowered in ("of", "off", "0"):
        return False
    return None


_SCALARS: dict[tuple[str, str], Converter] = {
    ("INTEGER", "DOUBLE"): float,
    ("BIGINT", "INTEGER"): wrapped_int,
    ("BIGINT", "DOUBLE"): float,
    ("DECIMAL", "INTEGER"): lambda number: wrapped_int(int(number)),
    ("DECIMAL", "BIGINT"): lambda number: wrapped_bigint(int(number)),
    ("DECIMAL", "DOUBLE"): float,
    ("DOUBLE", "INTEGER"): double_to_int,
    ("DOUBLE", "BIGINT"): double_to_bigint,
    ("STRING", "BOOLEAN"): parse_boolean,
    ("STRING", "INTEGER"): parse_int,
    ("STRING", "BIGINT"): parse_bigint,
    ("STRING", "DOUBLE"): parse_double,
    ("STRING", "DATE"): times.parse_date,
    ("STRING", "TIME"): times.parse_time,
    ("STRING", "TIMESTAMP"): times.parse_timestamp,
    ("TIMESTAMP", "DATE"): lambda instant: instant // times.DAY,
    ("TIMESTAMP", "TIME"): lambda instant: instant % times.DAY,
    ("DATE", "TIMESTAMP"): lambda days: days * times.DAY,
}


# Text

_TEXTS: dict[SqlType, Callable[[Any], str]] = {
    BOOLEAN: lambda value: "true" if value else "false",
    INTEGER: str,
    BIGINT: str,
    DOUBLE: double_text,
    STRING: str,
    DATE: times.date_text,
    TIME: times.time_text,
    TIMESTAMP: times.timestamp_text,
    BYTES: lambda value: f"java.nio.HeapByteBuffer[pos=0 lim={len(value)} cap={len(value)}]",
}


@lru_cache(maxsize=10_000)
def text_of(type: SqlType) -> Callable[[Any], str]:
    """What writes values of a type as ksqlDB does, which is as Java does."""
    if isinstance(type, DecimalType):
        return lambda number: f"{number:f}"
    if isinstance(type, ArrayType):
        element = _text_or_null(type.element)
        return lambda array: f"[{', '.join(map(element, array))}]"
    if isinstance(type, MapType):
        key, value = _text_or_null(type.key), _text_or_null(type.value)
        return lambda entries: (
            "{" + ", ".join(f"{key(k)}={value(v)}" for k, v in entries.items()) + "}"
        )
    if isinstance(type, StructType):
        texts = {field.name: text_of(field.type) for field in type.fields}
        return lambda struct: (
            "Struct{"
            + ",".join(
                f"{name}={texts[name](value)}"
                for name, value in struct.items()
                if value is not None
            )
            + "}"
        )
    return _TEXTS[type]


def _text_or_null(type: SqlType) -> Callable[[Any], str]:
    text = text_of(type)
    return lambda value: "null" if value is None else text(value)
