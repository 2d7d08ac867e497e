"""Row formats for tests, and random columns with rows of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from headrace.sql.formats import (
    Feature,
    RowFormat,
    format_info,
    key_features,
    value_features,
)
from headrace.sql.schema import Column
from headrace.sql.syntax.parser import parse_columns
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
    Field,
    MapType,
    SqlType,
    StructType,
)


def columns(text: str) -> tuple[Column, ...]:
    """`A INT, B STRING` as columns."""
    return tuple(Column(column.name, column.type) for column in parse_columns(text))


def values_of(format: str, text: str, wrap: bool | None = None, **settings: Any) -> RowFormat:
    """The values of a format with these columns."""
    info = format_info(format, **settings)
    return RowFormat(info, columns(text), value_features(info, columns(text), wrap))


def keys_of(format: str, text: str) -> RowFormat:
    """The keys of a format with these columns."""
    info = format_info(format)
    return RowFormat(info, columns(text), key_features(info, columns(text)), is_key=True)


_names = st.sampled_from("ABCDEFGH")
_simple_types: st.SearchStrategy[SqlType] = st.sampled_from(
    [BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, DecimalType(5, 2)]
)


def _struct(members: dict[str, SqlType]) -> SqlType:
    return StructType(tuple(Field(name, type) for name, type in members.items()))


types = st.recursive(
    _simple_types,
    lambda inner: (
        inner.map(ArrayType)
        | inner.map(lambda type: MapType(STRING, type))
        | st.dictionaries(_names, inner, min_size=1, max_size=3).map(_struct)
    ),
    max_leaves=4,
)

_values: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "INTEGER": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(allow_nan=False, allow_infinity=False),
    "STRING": st.text(st.characters(codec="utf-8"), max_size=8),
    "BYTES": st.binary(max_size=8),
    "DATE": st.integers(-100_000, 100_000),
    "TIME": st.integers(0, 86_399_999),
    "TIMESTAMP": st.integers(-(10**14), 10**14),
    "DECIMAL": st.integers(-99_999, 99_999).map(lambda n: Decimal(n).scaleb(-2)),
}


def values(type: SqlType, *, nulls: bool = True) -> st.SearchStrategy[Any]:
    """Values of a type."""
    made: st.SearchStrategy[Any]
    if isinstance(type, ArrayType):
        made = st.lists(values(type.element, nulls=nulls), max_size=3)
    elif isinstance(type, MapType):
        keys = st.text('abcé"', max_size=3)
        made = st.dictionaries(keys, values(type.value, nulls=nulls), max_size=3)
    elif isinstance(type, StructType):
        made = st.fixed_dictionaries(
            {field.name: values(field.type, nulls=nulls) for field in type.fields}
        )
    else:
        made = _values[type.name]
    return st.none() | made if nulls else made


@st.composite
def rows_of(
    draw: st.DrawFn, format: str, types: st.SearchStrategy[SqlType], *, nulls: bool = True
) -> tuple[RowFormat, tuple[Any, ...]]:
    """A row format with random columns, wrapped or not, and a row of them."""
    info = format_info(format)
    members = draw(st.dictionaries(_names, types, min_size=1, max_size=4))
    made = tuple(Column(name, type) for name, type in members.items())
    wrap = None
    if len(made) == 1 and len(info.format.features) == len(Feature):
        wrap = draw(st.booleans())
    row = tuple(draw(values(column.type, nulls=nulls)) for column in made)
    return RowFormat(info, made, value_features(info, made, wrap)), row


simple_types = _simple_types
