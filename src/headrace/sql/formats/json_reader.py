"""Reads rows from JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import orjson
from msgspec import structs

from headrace.core.errors import SerializationError
from headrace.sql.formats.json_decoders import Inexact, decoder, unfit
from headrace.sql.formats.shape import RowFormat
from headrace.sql.schema import Column
from headrace.sql.types import STRING, ArrayType, DecimalType, MapType, SqlType, StructType

Row = tuple[Any, ...]


Read = Callable[[bytes], "Row | None"]


def json_readers(rows: RowFormat) -> tuple[Read, Callable[[bytes], Any]]:
    """The functions that read a row, and that only check it."""
    parse = _parse_exactly if _has_decimal([c.type for c in rows.columns]) else orjson.loads
    if not rows.is_unwrapped:
        reader = _ObjectReader(rows.columns, parse)
        natural = all(_is_natural(column.type) for column in rows.columns)
        return reader.read, reader.checking() if natural else reader.read
    decode = decoder(rows.columns[0].type)
    read = _careful(parse, lambda content: (decode(content),))
    return read, read


def _careful(parse: Callable[[bytes], Any], read: Callable[[Any], Row]) -> Read:
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


class _ObjectReader:
    """Reads rows from objects. Most objects of a topic have the same names, and values of the types
    that are expected: these are read by `msgspec`, all others with more care."""

    def __init__(self, columns: tuple[Column, ...], parse: Callable[[bytes], Any]) -> None:
        self._columns, self._parse = columns, parse
        self._members = [(column.name, decoder(column.type)) for column in columns]
        self._seen: set[str] = set()
        self._decode, self._row_of = _NOT_YET
        self._read_any = _careful(parse, self._read_content)

    def __reduce__(self) -> tuple[Any, ...]:
        return _ObjectReader, (self._columns, self._parse)  # what it has learned stays here

    def read(self, data: bytes) -> Row | None:
        try:
            return self._row_of(self._decode(data))
        except Exception:  # It goes wrong again, and then it is told.
            return self._read_any(data)

    def checking(self) -> Callable[[bytes], Any]:
        """A function that does the same without making a row; if all types are natural."""
        decode = self._decode

        def check(data: bytes) -> Any:
            nonlocal decode
            try:
                return decode(data)
            except Exception:
                row = self._read_any(data)
                decode = self._decode  # it may have learned of another name
                return row

        return check

    def _read_content(self, content: Any) -> Row:
        if type(content) is not dict:
            raise unfit(content, "a row")
        if not content.keys() <= self._seen and len(self._seen) <= _MOST_NAMES:
            self._seen |= content.keys()
            self._decode, self._row_of = _fast_reader(self._columns, self._seen)
        upper: dict[str, str] = {}
        for name in content:
            upper.setdefault(name.upper(), name)
        row = []
        for name, decode in self._members:
            value = content.get(name if name in content else upper.get(name))
            row.append(None if value is None else decode(value))
        return tuple(row)


_MOST_NAMES = 256
"""Objects with so many different names are records of nothing."""


FastReader = tuple[Callable[[bytes], Any], Callable[[Any], Row]]
"""What reads an object, and what makes a row of it."""


def _not_yet(data: bytes) -> Any:
    raise LookupError


_NOT_YET: FastReader = _not_yet, tuple


def _fast_reader(columns: tuple[Column, ...], seen: set[str]) -> FastReader:
    """For objects that have no names but those. Raises an error if there are others, or values that
    aren't of the type that is expected most."""
    names = []
    for column in columns:
        found = [name for name in seen if column.name in (name, name.upper())]
        if len(found) > 1:
            return _NOT_YET  # which one counts is another matter
        names += found or [column.name]
    others = sorted(seen.difference(names))
    struct = _struct(columns, names, others)
    if struct is None:
        return _NOT_YET
    decode, size = msgspec.json.Decoder(struct).decode, len(columns)
    conversions = [
        (at, decoder(column.type))
        for at, column in enumerate(columns)
        if not _is_natural(column.type)
    ]

    def row_of(found: Any) -> Row:
        row = list(structs.astuple(found)[:size])
        for at, convert in conversions:
            if row[at] is not None:
                row[at] = convert(row[at])
        return tuple(row)

    return decode, row_of if conversions or others else structs.astuple


def _struct(columns: tuple[Column, ...], names: list[str], others: list[str]) -> Any:
    """The type of objects whose members of these names are columns, and others don't matter. None
    if there can't be one: two columns have the same name, or it has escapes in it."""
    fields: list[Any] = [
        (f"column_{at}", _expected(column.type), None) for at, column in enumerate(columns)
    ]
    fields += [(f"other_{at}", msgspec.Raw, msgspec.Raw()) for at in range(len(others))]
    rename = {field[0]: name for field, name in zip(fields, [*names, *others], strict=True)}
    try:
        return msgspec.defstruct("Row", fields, rename=rename, forbid_unknown_fields=True, gc=False)
    except ValueError:
        return None


def _integer(bits: int) -> Any:
    half = 1 << (bits - 1)
    return Annotated[int, msgspec.Meta(ge=-half, le=half - 1)]


_NATURAL: dict[str, Any] = {
    "BOOLEAN": bool,
    "INTEGER": _integer(32),
    "BIGINT": _integer(64),
    "DOUBLE": float,
    "STRING": str,
    "DATE": _integer(32),
    "TIME": _integer(32),
    "TIMESTAMP": _integer(64),
}


def _expected(type: SqlType) -> Any:
    """What `msgspec` is to read; more is to be done with it unless the type is natural."""
    if isinstance(type, ArrayType):
        return list[_expected(type.element)] | None  # type: ignore[misc]
    if isinstance(type, MapType) and type.key == STRING:
        return dict[str, _expected(type.value)] | None  # type: ignore[misc]
    if isinstance(type, DecimalType):
        return Decimal | None
    natural = _NATURAL.get(type.name)
    return Any if natural is None else natural | None


def _is_natural(type: SqlType) -> bool:
    """Whether values are right as they are read."""
    if isinstance(type, ArrayType):
        return _is_natural(type.element)
    if isinstance(type, MapType):
        return type.key == STRING and _is_natural(type.value)
    return type.name in _NATURAL


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
