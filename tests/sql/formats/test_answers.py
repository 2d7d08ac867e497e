"""Values in answers of the server."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson
import pytest

from headrace.sql.formats.answers import answer_encoder
from headrace.sql.syntax.parser import parse_type


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
