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
    reader = _SingleReader(rows.columns[0]) if rows.is_unwrapped else _ObjectReader(rows.columns)

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
            return reader.read(content)
        except Inexact:
            return reader.read(_parse_exactly(data))

    return read_row


class _SingleReader:
    """Reads rows of one column, which stands by itself."""

    def __init__(self, column: Column) -> None:
        decode = decoder(column.type)
        self.read: Callable[[Any], Row] = lambda content: (decode(content),)


@dataclass(frozen=True)
class _Shape:
    """What is known of objects with certain names."""

    names: list[str | None]
    """For each column the name of its value; None if there is none."""
    read: Callable[[dict[str, Any]], Row | None]
    """Reads one of these objects; None if a value isn't of the type that is expected most."""


class _ObjectReader:
    """Reads rows from objects. Most objects of a topic have the same names, and values of the same
    types, so there are functions made for them."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.read: Callable[[Any], Row] = self._read_any
        self._names = [column.name for column in columns]
        self._decoders = [decoder(column.type) for column in columns]
        self._types = [column.type.name for column in columns]
        self._shapes: dict[tuple[str, ...], _Shape] = {}

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
        """From now on, objects with these names are expected. A column is found by its name, else
        by the first name that is it in upper case."""
        upper: dict[str, str] = {}
        for name in names:
            upper.setdefault(name.upper(), name)
        found = [name if name in names else upper.get(name) for name in self._names]
        if len(self._shapes) >= _REMEMBERED:
            return _Shape(found, _nothing)
        # There must be certainty that no other name could be meant. Names that are exactly the
        # columns' go before all others; where every name is a column's there are no others.
        condition = "type(content) is dict"
        if found != self._names:
            all_used = len(names) == len(found) and None not in found
            condition += f" and len(content) == {len(names)}" if all_used else _SAME_NAMES
        self.read = self._made_for(found, condition, "read_any(content)", names)
        shape = _Shape(found, self._made_for(found, "True", "None", names))
        self._shapes[names] = shape
        return shape

    def _made_for(
        self, found: list[str | None], condition: str, otherwise: str, names: tuple[str, ...]
    ) -> Callable[[Any], Any]:
        """A function made for these names. Its text has numbers in it, and no names of users'."""
        constants: dict[str, Any] = {"read_any": self._read_any, "names": names}
        values, checks = [], ["True"]
        for at, (name, type, decode) in enumerate(
            zip(found, self._types, self._decoders, strict=True)
        ):
            if name is None:
                values.append(f"v{at} = None")
                continue
            constants[f"name{at}"], constants[f"decode{at}"] = name, decode
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
        row = "".join(f"v{at}, " for at in range(len(found)))
        text = f"""
def read(content):
    if {condition}:
        try:
            {_STATEMENTS.join(values) or "pass"}
        except KeyError:
            return {otherwise}
        if {" and ".join(checks)}:
            return ({row})
    return {otherwise}
"""
        exec(compile(text, "<JSON reader>", "exec"), constants)
        read: Callable[[Any], Any] = constants["read"]
        return read


def _nothing(content: dict[str, Any]) -> Row | None:
    return None


_REMEMBERED = 256
_SAME_NAMES = " and tuple(content) == names"
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
