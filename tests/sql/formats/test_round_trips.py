"""What is written is read again, and inferred columns are those that were registered."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.formats import (
    InMemorySchemaRegistry,
    RowFormat,
    check,
    infer_columns,
    register,
    row_serde,
)
from headrace.sql.types import ArrayType, MapType, SqlType, StructType

from .rows import rows_of, simple_types, types


def nothing_if_unwrapped(rows: RowFormat, row: tuple[Any, ...]) -> bool:
    return rows.is_unwrapped and row == (None,)


@pytest.mark.parametrize("format", ["JSON", "JSON_SR", "AVRO"])
@given(data=st.data())
def test_rows_survive(format: str, data: st.DataObject) -> None:
    rows, row = data.draw(rows_of(format, types))
    serde = row_serde(rows, "t", InMemorySchemaRegistry())
    check(rows)
    written = serde.serialize(row)
    if nothing_if_unwrapped(rows, row):
        assert written is None
    else:
        assert serde.deserialize(written) == row


def is_flat(type: SqlType) -> bool:
    """Protobuf has no lists in lists."""
    if isinstance(type, ArrayType):
        return not isinstance(type.element, ArrayType | MapType) and is_flat(type.element)
    if isinstance(type, MapType):
        return not isinstance(type.value, ArrayType | MapType) and is_flat(type.value)
    if isinstance(type, StructType):
        return all(is_flat(field.type) for field in type.fields)
    return True


@pytest.mark.parametrize("format", ["PROTOBUF", "PROTOBUF_NOSR"])
@given(data=st.data())
def test_rows_without_nulls_survive_protobuf(format: str, data: st.DataObject) -> None:
    rows, row = data.draw(rows_of(format, types, nulls=False))
    serde = row_serde(rows, "t", InMemorySchemaRegistry())
    assert serde.deserialize(serde.serialize(row)) == row


@given(data=st.data())
def test_rows_survive_delimited(data: st.DataObject) -> None:
    rows, row = data.draw(rows_of("DELIMITED", simple_types))
    row = tuple(None if value in ("", b"") else value for value in row)
    serde = row_serde(rows, "t")
    if row != (None,):  # an empty line is no row
        assert serde.deserialize(serde.serialize(row)) == row


@pytest.mark.parametrize("format", ["JSON_SR", "AVRO", "PROTOBUF"])
@given(data=st.data())
def test_columns_are_inferred_as_registered(format: str, data: st.DataObject) -> None:
    rows, _ = data.draw(rows_of(format, types.filter(is_flat)))
    registry = InMemorySchemaRegistry()
    assert register(rows, "t", registry) == 1
    inferred = infer_columns(rows.info, "t", registry, is_key=False, unwrapped=rows.is_unwrapped)
    if rows.is_unwrapped:
        assert [column.type for column in inferred] == [column.type for column in rows.columns]
    else:
        assert inferred == rows.columns


@pytest.mark.parametrize("format", ["JSON", "DELIMITED", "PROTOBUF_NOSR"])
@given(data=st.data())
def test_serdes_can_be_pickled(format: str, data: st.DataObject) -> None:
    rows, row = data.draw(rows_of(format, simple_types, nulls=False))
    serde = row_serde(rows, "t")
    other = pickle.loads(pickle.dumps(serde))
    assert other.serialize(row) == serde.serialize(row)
