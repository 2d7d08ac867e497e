"""SQL types from Python's annotations.

| Python | SQL |
|---|---|
| `bool`, `int`, `float`, `str`, `bytes` | BOOLEAN, BIGINT, DOUBLE, STRING, BYTES |
| `datetime.date`, `datetime.time`, `datetime.datetime` | DATE, TIME, TIMESTAMP (in UTC) |
| `list[T]`, `dict[K, V]` | ARRAY<T>, MAP<K, V> |
| a dataclass | STRUCT, its fields in upper case |
| `Decimal` | DECIMAL of any precision, as a parameter |
| `Annotated[int, INTEGER]`, `Annotated[Decimal, DecimalType(10, 2)]` | the type that it says |
| a TypeVar | a type variable: the same type wherever it stands |
| `Any` | any type, as a parameter |
| `T | None` | T, and NULL is passed to the function |
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from headrace.core.errors import ArgumentError
from headrace.sql import times
from headrace.sql.functions.parameter_types import (
    AnyDecimal,
    Anything,
    ArrayOf,
    Exactly,
    MapOf,
    ParameterType,
    Variable,
)
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    Field,
    MapType,
    SqlType,
    StructType,
)

Converter = Callable[[Any], Any]
"""From a value that isn't NULL."""


@dataclass(frozen=True)
class Annotation:
    """What an annotation says."""

    type: ParameterType
    optional: bool = False
    """NULL is a value as any other."""
    read: Converter | None = None
    """From the value of SQL to what Python's code is given; None: it is the same."""
    write: Converter | None = None
    """From what Python's code gives to the value of SQL."""


def understood(annotation: Any, where: str) -> Annotation:
    """What an annotation says; `where` is for the error, if it says nothing in SQL."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType) and type(None) in arguments:
        (inner,) = (each for each in arguments if each is not type(None))
        return dataclasses.replace(understood(inner, where), optional=True)
    if origin is typing.Annotated:
        for extra in arguments[1:]:
            if isinstance(extra, SqlType):
                return Annotation(Exactly(extra))
        return understood(arguments[0], where)
    if origin is list:
        return _list(understood(arguments[0], where))
    if origin is dict:
        return _dict(understood(arguments[0], where), understood(arguments[1], where))
    if isinstance(annotation, TypeVar):
        return Annotation(Variable(annotation.__name__))
    if annotation is Any:
        return Annotation(Anything())
    if isinstance(annotation, type):
        if dataclasses.is_dataclass(annotation):
            return _struct(annotation, where)
        if annotation in _SIMPLE:
            return _SIMPLE[annotation]
    raise ArgumentError(
        f"{where} is annotated with {annotation!r}, which is no type of SQL. Use bool, int, float, "
        "str, bytes, Decimal, date, time, datetime, list[…], dict[…, …], a dataclass, or "
        "Annotated[…, a type of headrace.sql.types]"
    )


def exact_type(annotation: Annotation, where: str) -> SqlType:
    """The one type that an annotation stands for."""
    found = annotation.type.bound(None, {})
    if found is None:
        raise ArgumentError(
            f"{where} must be of one type, not {annotation.type}. Say which: "
            "Annotated[…, a type of headrace.sql.types]"
        )
    return found


def _nullable(converter: Converter | None) -> Converter:
    if converter is None:
        return lambda value: value
    return lambda value: None if value is None else converter(value)


def _list(element: Annotation) -> Annotation:
    def mapped(converter: Converter | None) -> Converter | None:
        if converter is None:
            return None
        convert = _nullable(converter)
        return lambda array: [convert(each) for each in array]

    type = (
        Exactly(ArrayType(element.type.type))
        if isinstance(element.type, Exactly)
        else ArrayOf(element.type)
    )
    return Annotation(type, read=mapped(element.read), write=mapped(element.write))


def _dict(key: Annotation, value: Annotation) -> Annotation:
    def mapped(keys: Converter | None, values: Converter | None) -> Converter | None:
        if keys is None and values is None:
            return None
        convert_key, convert_value = _nullable(keys), _nullable(values)
        return lambda entries: {convert_key(k): convert_value(v) for k, v in entries.items()}

    type = (
        Exactly(MapType(key.type.type, value.type.type))
        if isinstance(key.type, Exactly) and isinstance(value.type, Exactly)
        else MapOf(key.type, value.type)
    )
    return Annotation(type, read=mapped(key.read, value.read), write=mapped(key.write, value.write))


def _struct(cls: type, where: str) -> Annotation:
    hints = typing.get_type_hints(cls, include_extras=True)
    fields, readers, writers = [], [], []
    for each in dataclasses.fields(cls):
        place = f"the field {each.name} of {where}"
        inner = understood(hints[each.name], place)
        fields.append(Field(each.name.upper(), exact_type(inner, place)))
        readers.append((each.name.upper(), _nullable(inner.read)))
        writers.append((each.name, each.name.upper(), _nullable(inner.write)))
    return Annotation(
        Exactly(StructType(tuple(fields))),
        read=lambda struct: cls(*[read(struct[name]) for name, read in readers]),
        write=lambda value: {upper: write(getattr(value, name)) for name, upper, write in writers},
    )


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def _timestamp(value: datetime) -> int:
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MILLISECOND


_SIMPLE: dict[type, Annotation] = {
    bool: Annotation(Exactly(BOOLEAN)),
    int: Annotation(Exactly(BIGINT)),
    float: Annotation(Exactly(DOUBLE)),
    str: Annotation(Exactly(STRING)),
    bytes: Annotation(Exactly(BYTES)),
    Decimal: Annotation(AnyDecimal()),
    date: Annotation(
        Exactly(DATE),
        read=times.date_of,
        write=lambda day: times.days_of(day.year, day.month, day.day),
    ),
    time: Annotation(
        Exactly(TIME),
        read=lambda value: (_EPOCH + value * _MILLISECOND).time(),
        write=lambda value: (
            ((value.hour * 60 + value.minute) * 60 + value.second) * 1000
            + value.microsecond // 1000
        ),
    ),
    datetime: Annotation(
        Exactly(TIMESTAMP),
        read=lambda value: _EPOCH + value * _MILLISECOND,
        write=_timestamp,
    ),
}
