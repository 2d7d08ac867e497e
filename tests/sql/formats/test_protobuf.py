"""Protobuf messages of other makers: enums, oneofs, wrappers, maps of other keys."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headrace.core.errors import SerializationError
from headrace.sql.formats import FormatError, InMemorySchemaRegistry, SchemaText, row_serde
from headrace.sql.formats.rows import RowSerde

from .rows import values_of


def serde_of(message: str, columns: str) -> RowSerde:
    """The serde of columns that are written as a message of a given schema."""
    registry = InMemorySchemaRegistry()
    text = f'syntax = "proto3"; import "google/protobuf/wrappers.proto"; {message}'
    id = registry.register("x", SchemaText("PROTOBUF", text))
    return row_serde(values_of("PROTOBUF", columns, schema_id=id), "t", registry)


@pytest.mark.parametrize(
    ("message", "columns", "row"),
    [
        ("message M { enum E { A = 0; B = 1; } E e = 1; }", "E STRING", ("B",)),
        ("message M { oneof o { int32 a = 1; string b = 2; } }", "A INT, B STRING", (None, "x")),
        ("message M { oneof o { int32 a = 1; string b = 2; } }", "A INT, B STRING", (0, None)),
        ("message M { google.protobuf.StringValue a = 1; }", "A STRING", (None,)),
        ("message M { google.protobuf.StringValue a = 1; }", "A STRING", ("",)),
        ("message M { map<int64, bool> m = 1; }", "M MAP<BIGINT, BOOLEAN>", ({-1: True},)),
        ("message M { int32 d = 1; int64 t = 2; }", "D DATE, T TIMESTAMP", (-1, 10**12)),
        ("message M { optional int32 a = 1; }", "A INT", (None,)),
        ("message M { int64 a = 1; }", "A BIGINT, B INT", (1, None)),
    ],
)
def test_rows(message: str, columns: str, row: tuple[Any, ...]) -> None:
    serde = serde_of(message, columns)
    assert serde.deserialize(serde.serialize(row)) == row


def test_numbers_without_a_sign() -> None:
    serde = serde_of("message M { uint64 a = 1; uint32 b = 2; }", "A BIGINT, B BIGINT")
    assert serde.deserialize(serde.serialize((2**63 - 1, 2**32 - 1))) == (2**63 - 1, 2**32 - 1)
    largest = serde.serialize((0, 0)) + b"\x08" + b"\xff" * 9 + b"\x01"
    assert serde.deserialize(largest) == (-1, 0)


def test_maps_of_keys_that_protobuf_has_not() -> None:
    rows = values_of("PROTOBUF", "M MAP<DOUBLE, STRING>, N MAP<STRING, DECIMAL(4,2)>")
    serde = row_serde(rows, "t", InMemorySchemaRegistry())
    row = ({1.5: "x"}, {"k": Decimal("1.10")})
    assert serde.deserialize(serde.serialize(row)) == row


def test_structs_without_a_value() -> None:
    rows = values_of("PROTOBUF_NOSR", "A ARRAY<STRUCT<X INT>>, M MAP<STRING, STRUCT<X INT>>")
    serde = row_serde(rows, "t")
    assert serde.deserialize(serde.serialize(([None], {"k": None}))) == (
        [{"X": 0}],
        {"k": {"X": 0}},
    )
    numbers = row_serde(values_of("PROTOBUF_NOSR", "M MAP<STRING, INT>"), "t")
    assert numbers.deserialize(numbers.serialize(({"k": None},))) == ({"k": 0},)


@pytest.mark.parametrize(
    ("message", "columns", "row"),
    [
        ("message M { int32 a = 1; }", "A STRING", ("x",)),
        ("message M { string a = 1; }", "A STRUCT<X INT>", ({"X": 1},)),
        ("message M { message N { int32 x = 1; } N a = 1; }", "A INT", (1,)),
        ("message M { repeated int32 a = 1; }", "A INT", (1,)),
    ],
)
def test_columns_that_the_schema_cannot_have(
    message: str, columns: str, row: tuple[Any, ...]
) -> None:
    with pytest.raises(FormatError):
        serde_of(message, columns).serialize(row)


def test_names_that_an_enum_has_not() -> None:
    serde = serde_of("message M { enum E { A = 0; } E e = 1; }", "E STRING")
    with pytest.raises(SerializationError, match=r"'B' is no M\.E"):
        serde.serialize(("B",))


def test_numbers_that_an_enum_has_not() -> None:
    serde = serde_of("message M { enum E { A = 0; } E e = 1; }", "E STRING")
    assert serde.deserialize(serde.serialize(("A",)) + b"\x08\x07") == ("7",)


@pytest.mark.parametrize("data", [b"\0\0\0\0\1", b"\0\0\0\0\1\x02\x0e", b"\0\0\0\0\1\xff\xff"])
def test_data_that_does_not_say_which_message_it_is(data: bytes) -> None:
    with pytest.raises(SerializationError):
        serde_of("message M { int32 a = 1; }", "A INT").deserialize(data)
