"""Values in answers of the server."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson
import pytest

from headrace.sql.formats.answers import answer_encoder, protobuf_answer
from headrace.sql.syntax.parser import parse_type

from .rows import columns


@pytest.mark.parametrize(
    ("type", "value", "text"),
    [
        ("INT", 1, "1"),
        ("INT", None, "null"),
        ("DOUBLE", 1e10, "1.0E10"),
        ("DECIMAL(12,10)", Decimal("0.0000000001"), "0.0000000001"),
        ("BYTES", b"\1\2", '"AQI="'),
        ("DATE", 1, '"1970-01-02"'),
        ("TIME", 37_200_000, '"10:20"'),
        ("TIMESTAMP", 1, '"1970-01-01T00:00:00.001"'),
        ("ARRAY<DATE>", [1, None], '["1970-01-02",null]'),
        ("ARRAY<INT>", [1, None], "[1,null]"),
        ("MAP<STRING, DATE>", {"a": 1, "b": None}, '{"a":"1970-01-02","b":null}'),
        ("MAP<INT, INT>", {1: 2}, '{"1":2}'),
        ("MAP<DATE, INT>", {1: 2}, '{"1970-01-02":2}'),
        ("STRUCT<A DATE, B INT>", {"A": 1, "B": None}, '{"A":"1970-01-02","B":null}'),
    ],
)
def test_values(type: str, value: Any, text: str) -> None:
    assert orjson.dumps(answer_encoder([parse_type(type)])((value,))) == f"[{text}]".encode()


def test_rows_as_protobuf() -> None:
    schema, write = protobuf_answer(columns("K INT, TEXT STRING"))
    assert schema == (
        'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  int32 K = 1;\n  string TEXT = 2;\n}\n'
    )
    assert write((1, "a")) == b"\x08\x01\x12\x01a"
