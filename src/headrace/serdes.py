"""The serdes that a program names: `from headrace import serdes`.

Your own is two functions:

>>> from headrace.serdes import Serde
>>> point = Serde(lambda p: f"{p[0]},{p[1]}".encode(), lambda d: tuple(map(int, d.split(b","))))
>>> point.deserialize(point.serialize((1, 2)))
(1, 2)
"""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError
from headrace.core.windowed import Windowed
from headrace.serde import windowed
from headrace.serde.json import json
from headrace.serde.lists import list_
from headrace.serde.primitive import (
    boolean,
    bytes_,
    double,
    float_,
    integer,
    long,
    short,
    string,
    uuid,
    void,
)
from headrace.serde.serde import Serde
from headrace.serde.windowed import session_windowed

K = TypeVar("K")

__all__ = [
    "Serde",
    "boolean",
    "bytes_",
    "double",
    "float_",
    "integer",
    "json",
    "list_",
    "long",
    "session_windowed",
    "short",
    "string",
    "time_windowed",
    "uuid",
    "void",
]


def time_windowed(inner: Serde[K], size: timedelta) -> Serde[Windowed[K]]:
    """The key and the start of its window. The end isn't written: it is read as start + `size`."""
    size_ms = to_ms(size, "size")
    if size_ms <= 0:
        raise ArgumentError(f"size must be positive, got {size}")
    return windowed.time_windowed(inner, size_ms)
