"""Functions of JSON text."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from headrace.sql import times
from headrace.sql.functions import json_values
from headrace.sql.functions.function import Call
from headrace.sql.functions.json_values import parse, quoted, written
from headrace.sql.functions.library import Library
from headrace.sql.functions.sizes import check_text, weight
from headrace.sql.java_numbers import double_text
from headrace.sql.types import ArrayType, MapType, SqlType, StructType

library = Library("JSON")


@library.scalar("is_json_string", "(STRING input) -> BOOLEAN", strict=False)
def is_json_string(text: str | None) -> bool:
    """Whether text is JSON."""
    if not text:
        return False
    try:
        parse(text)
    except (ValueError, RecursionError):
        return False
    return True


_STEP = re.compile(r"""\.([\w@$:-]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\['([^']*)'\]""")


@lru_cache(maxsize=1_000)
def json_path(path: str) -> tuple[str | int, ...]:
    """The steps of a path such as `$.a.b[0]["c d"]`."""
    if not path.startswith("$"):
        raise ValueError(f"Invalid JSON path: {path}")
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise ValueError(f"Invalid JSON path: {path}")
        plain, index, double, single = match.groups()
        if index is not None:
            steps.append(int(index))
        elif plain is not None:
            steps.append(plain)
        else:
            steps.append(re.sub(r"\\(.)", r"\1", double) if double is not None else single)
        at = match.end()
    return tuple(steps)


@library.scalar("extractjsonfield", "(STRING input, STRING path) -> STRING")
def extract_json_field(text: str, path: str) -> str | None:
    """The text of what is at a path in JSON text."""
    steps = json_path(path)
    value = parse(text)
    for step in steps:
        if isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value if isinstance(value, str) else written(value)


@library.scalar("json_array_contains", "(STRING jsonArray, T val) -> BOOLEAN", strict=False)
def json_array_contains(text: str | None, value: Any) -> bool:
    """Whether the JSON text of an array has an element."""
    if text is None:
        raise ValueError("the JSON text is NULL")
    try:
        array = parse(text)
    except ValueError:
        return False
    return isinstance(array, list) and any(_is_equal(each, value) for each in array)


def _is_equal(element: Any, value: Any) -> bool:
    if isinstance(element, Decimal) and isinstance(value, float):
        return float(element) == value
    return type(element) is type(value) and bool(element == value)


@library.scalar("json_array_length", "(STRING jsonArray) -> INT")
def json_array_length(text: str) -> int | None:
    """The number of elements of the JSON text of an array."""
    array = parse(text)
    return len(array) if isinstance(array, list) else None


@library.scalar("json_concat", "(STRING... jsonStrings) -> STRING")
def json_concat(*texts: str) -> str | None:
    """Several JSON texts as one: objects are merged, all else becomes an array."""
    if not texts:
        return None
    values = [parse(text) for text in texts]
    if all(isinstance(value, dict) for value in values):
        merged: dict[str, Any] = {}
        for value in values:
            merged |= value
        return written(merged)
    elements: list[Any] = []
    for value in values:
        elements += value if isinstance(value, list) else [value]
    return written(elements)


@library.scalar("json_items", "(STRING jsonItems) -> ARRAY<STRING>")
def json_items(text: str) -> list[str]:
    """The JSON text of each element of the JSON text of an array."""
    array = parse(text)
    if not isinstance(array, list):
        raise ValueError("the JSON text is no array")
    return [written(each) for each in array]


@library.scalar("json_keys", "(STRING jsonObj) -> ARRAY<STRING>")
def json_keys(text: str) -> list[str] | None:
    """The names of the fields of the JSON text of an object."""
    value = parse(text)
    return list(value) if isinstance(value, dict) else None


@library.scalar("json_records", "(STRING jsonObj) -> MAP<STRING, STRING>")
def json_records(text: str) -> dict[str, str] | None:
    """The fields of the JSON text of an object, with the text of each."""
    value = parse(text)
    if not isinstance(value, dict):
        return None
    return {name: each if isinstance(each, str) else written(each) for name, each in value.items()}


@library.scalar("to_json_string", "(T input) -> STRING", strict=False, bound=True)
def to_json_string(call: Call) -> Callable[[Any], str]:
    """The JSON text of any value."""
    write = json_writer(call.types[0])

    def bounded(value: Any) -> str:
        check_text(weight(value))
        return write(value)

    return bounded


def json_writer(type: SqlType | None) -> Callable[[Any], str]:
    """What writes values of a type, NULL too."""
    write = _null if type is None else _writer(type)
    return lambda value: "null" if value is None else write(value)


def _null(value: Any) -> str:
    return "null"


def _writer(type: SqlType) -> Callable[[Any], str]:
    if isinstance(type, ArrayType):
        element = json_writer(type.element)
        return lambda array: f"[{','.join(map(element, array))}]"
    if isinstance(type, MapType):
        value = json_writer(type.value)
        return lambda entries: _object((str(key), value(each)) for key, each in entries.items())
    if isinstance(type, StructType):
        fields = {field.name: json_writer(field.type) for field in type.fields}
        return lambda struct: _object((name, fields[name](each)) for name, each in struct.items())
    return _WRITERS[type.name]


def _object(entries: Any) -> str:
    return "{" + ",".join(f"{quoted(name)}:{text}" for name, text in sorted(entries)) + "}"


def _double(number: float) -> str:
    text = double_text(number)
    return text if text[-1].isdigit() else quoted(text)


def _decimal(number: Decimal) -> str:
    return f"{number:f}"


_WRITERS: dict[str, Callable[[Any], str]] = {
    "BOOLEAN": quoted,
    "INTEGER": str,
    "BIGINT": str,
    "DOUBLE": _double,
    "DECIMAL": _decimal,
    "STRING": json_values.quoted,
    "BYTES": lambda data: quoted(base64.b64encode(data).decode()),
    "DATE": lambda days: quoted(times.date_text(days)),
    "TIME": lambda time: quoted(times.time_text(time)),
    "TIMESTAMP": lambda timestamp: quoted(times.timestamp_text(timestamp)),
}
