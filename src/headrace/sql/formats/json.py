"""JSON: rows as objects, or a single column by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

from headrace.core.errors import SerializationError
from headrace.sql.formats.codec import Codec
from headrace.sql.formats.json_decoders import Inexact, decoder, unfit
from headrace.sql.formats.json_encoders import encoder, same
from headrace.sql.formats.registry import SchemaRegistry
from headrace.sql.formats.shape import RowFormat
from headrace.sql.schema import Column
from headrace.sql.types import ArrayType, DecimalType, MapType, SqlType, StructType

Row = tuple[Any, ...]


def json_codec(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> Codec:
    """The codec of rows as JSON."""
    return Codec(json_writer(rows), json_reader(rows))


# Writing


def json_writer(rows: RowFormat) -> Callable[[Row], bytes | None]:
    """The function that writes a row."""
    if rows.is_unwrapped:
        dumps = orjson.dumps
        encode = encoder(rows.columns[0].type) or same

        def write_single(row: Row) -> bytes | None:
            (value,) = row
            return None if value is None else dumps(encode(value))

        return write_single
    return _object_writer(rows.columns)


def _object_writer(columns: tuple[Column, ...]) -> Callable[[Row], bytes]:
    """A function made for these columns. Its text has numbers in it, and no names of users'."""
    constants: dict[str, Any] = {"dumps": orjson.dumps}
    members = []
    for index, column in enumerate(columns):
        constants[f"name{index}"] = column.name
        encode = encoder(column.type)
        value = f"v{index}"
        if encode is not None:
            constants[f"encode{index}"] = encode
            as_it_is = f"{value} is None"
            if column.type.name == "DOUBLE":  # where orjson writes what Java does
                as_it_is += f" or 1e-3 <= {value} < 1e7"
            value = f"{value} if {as_it_is} else encode{index}({value})"
        members.append(f"name{index}: {value}")
    values = "".join(f"v{index}, " for index in range(len(columns)))
    unpacked = f"({values}) = row" if columns else "() = row"
    text = f"def write(row):\n    {unpacked}\n    return dumps({{{', '.join(members)}}})\n"
    exec(compile(text, "<JSON writer>", "exec"), constants)
    write: Callable[[Row], bytes] = constants["write"]
    return write


# Reading


def json_reader(rows: RowFormat) -> Callable[[bytes], Row | None]:
    """The function that reads a row."""
    parse = _parse_exactly if _has_decimal([c.type for c in rows.columns]) else orjson.loads
    if not rows.is_unwrapped:
        return _ObjectReader(rows.columns, parse).read
    decode = decoder(rows.columns[0].type)
    return _careful(parse, lambda content: (decode(content),))


def _careful(
    parse: Callable[[bytes], Any], read: Callable[[Any], Row]
) -> Callable[[bytes], Row | None]:
    """Reads a row of what is in the bytes, if anything is; all that can go wrong is told."""

    def read_row(data: bytes) -> Row | None:
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
        except Inexact:
            return read(_parse_exactly(data))

    return read_row


@dataclass(frozen=True)
class _Shape:
    """What is known of objects with certain names."""

    names: list[str | None]
    """For each column the name of its value; None if there is none."""
    read: Callable[[dict[str, Any]], Row | None]
    """Reads one of these objects; None if a value isn't of the type that is expected most."""


class _ObjectReader:
    """Reads rows from objects. Most objects of a topic have the same names, and values of the same
    types. `read` does all that is to be done for these in one function, whose constants are changed
    when there are others; what it can't do is done with more care."""

    def __init__(self, columns: tuple[Column, ...], parse: Callable[[bytes], Any]) -> None:
        self._names = [column.name for column in columns]
        self._decoders = [decoder(column.type) for column in columns]
        self._types = [column.type.name for column in columns]
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        self._expected: dict[str, Any] = {
            "parse": parse,
            "size": -1,
            "read_any": _careful(parse, self._read_any),
        }
        self.read: Callable[[bytes], Row | None] = self._made(_EXPECTED, self._expected)

    def _read_any(self, content: Any) -> Row:
        if type(content) is not dict:
            raise unfit(content, "a row")
        names = tuple(content)
        shape = self._shapes.get(names) or self._learned(names)
        row = shape.read(content)
        if row is not None:
            return row
        return tuple(
            None if name is None or (value := content[name]) is None else decode(value)
            for name, decode in zip(shape.names, self._decoders, strict=True)
        )

    def _learned(self, names: tuple[str, ...]) -> _Shape:
        """A column is found by its name, else by the first name that is it in upper case."""
        upper: dict[str, str] = {}
        for name in names:
            upper.setdefault(name.upper(), name)
        found = [name if name in names else upper.get(name) for name in self._names]
        if len(self._shapes) >= _REMEMBERED:
            return _Shape(found, _nothing)
        if None not in found:
            # From now on, objects with these names are expected. Where all names are columns', or
            # all are exactly those of columns, no other name could be meant.
            certain = len(names) == len(found) or found == self._names
            self._expected |= {"size": len(names), "certain": certain, "names": names}
            self._expected |= {f"name{at}": name for at, name in enumerate(found)}
        constants = {f"name{at}": name for at, name in enumerate(found) if name is not None}
        shape = _Shape(found, self._made(_KNOWN, constants))
        self._shapes[names] = shape
        return shape

    def _made(self, template: str, constants: dict[str, Any]) -> Callable[[Any], Any]:
        """A function for the columns that have names in the constants, or will have them. Its text
        has numbers in it, and no names of users'."""
        values, checks = [], ["True"]
        for at, (type, decode) in enumerate(zip(self._types, self._decoders, strict=True)):
            if template is _KNOWN and f"name{at}" not in constants:
                values.append(f"v{at} = None")
                continue
            constants[f"decode{at}"] = decode
            values.append(f"v{at} = content[name{at}]")
            natural = _NATURAL.get(type)
            if natural is None:
                values.append(f"if v{at} is not None: v{at} = decode{at}(v{at})")
                continue
            if type == "DOUBLE":
                values.append(f"if type(v{at}) is int: v{at} = decode{at}(v{at})")
            bits = _BITS.get(type)
            within = f" and -{1 << bits} <= v{at} < {1 << bits}" if bits else ""
            checks.append(f"(type(v{at}) is {natural.__name__}{within} or v{at} is None)")
        text = template.format(
            values=_STATEMENTS.join(values) or "pass",
            checks=" and ".join(checks),
            row="".join(f"v{at}, " for at in range(len(self._types))),
        )
        exec(compile(text, "<JSON reader>", "exec"), constants)
        read: Callable[[Any], Any] = constants["read"]
        return read


_EXPECTED = """
def read(data):
    try:
        content = parse(data)
        if len(content) == size and (certain or tuple(content) == names):
            {values}
            if {checks}:
                return ({row})
    except Exception:
        pass
    return read_any(data)
"""
"""Whatever goes wrong here goes wrong again in `read_any`, which tells it."""

_KNOWN = """
def read(content):
            {values}
            if {checks}:
                return ({row})
"""


def _nothing(content: dict[str, Any]) -> Row | None:
    return None


_REMEMBERED = 256
_STATEMENTS = "\n" + 12 * " "
_NATURAL = {
    "BOOLEAN": bool,
    "INTEGER": int,
    "BIGINT": int,
    "DOUBLE": float,
    "STRING": str,
    "DATE": int,
    "TIME": int,
    "TIMESTAMP": int,
}
_BITS = {"INTEGER": 31, "DATE": 31, "TIME": 31, "BIGINT": 63, "TIMESTAMP": 63}


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
