"""The order of values, where Python's isn't SQL's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.sql.types import BYTES, STRING, SqlType

Order = Callable[[Any], Any]
"""From a value to one that Python compares rightly."""

SIGNED = bytes(byte ^ 0x80 for byte in range(256))
"""Translates bytes so that they compare as signed ones, as in Java."""


def bytes_order(value: bytes) -> bytes:
    return value.translate(SIGNED)


def text_order(value: str) -> Any:
    """By units of UTF-16, as in Java. That differs from Python's only beyond the first 65,536
    characters."""
    return value.encode("utf-16-be", "surrogatepass")


def order_of(type: SqlType) -> Order | None:
    """None: the order is Python's."""
    if type == BYTES:
        return bytes_order
    return text_order if type == STRING else None
