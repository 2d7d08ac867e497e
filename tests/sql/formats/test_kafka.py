"""KAFKA and NONE."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import SerializationError
from headrace.sql.formats import RowFormat, format_info, row_serde

from .rows import keys_of, values_of


@pytest.mark.parametrize(
    ("type", "value", "data"),
    [
        ("INT", -2, b"\xff\xff\xff\xfe"),
        ("BIGINT", 1, b"\0\0\0\0\0\0\0\1"),
        ("DOUBLE", 1.0, b"\x3f\xf0\0\0\0\0\0\0"),
        ("STRING", "é", b"\xc3\xa9"),
        ("BYTES", b"\1", b"\1"),
    ],
)
def test_the_bytes_of_kafkas_serializers(type: str, value: Any, data: bytes) -> None:
    serde = row_serde(keys_of("KAFKA", f"A {type}"), "t")
    assert serde.serialize((value,)) == data
    assert serde.deserialize(data) == (value,)
    assert serde.serialize((None,)) is None


def test_a_number_has_a_certain_size() -> None:
    with pytest.raises(SerializationError):
        row_serde(values_of("KAFKA", "A INT"), "t").deserialize(b"12345")


@pytest.mark.parametrize("format", ["KAFKA", "NONE"])
def test_without_columns_nothing_is_read_or_written(format: str) -> None:
    key = row_serde(RowFormat(format_info(format), (), is_key=True), "t")
    assert key.deserialize(b"ignored") is None
    value = row_serde(RowFormat(format_info(format), ()), "t")
    assert value.deserialize(b"ignored") == ()
    assert value.serialize(()) is None
