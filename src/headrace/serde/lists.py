"""The serde of lists, in the format of Kafka's ListSerde.

A first byte says which of two layouts follows:
00  entries of one fixed length: count and indexes of the null entries, count of all entries,
    and the entries that aren't null
01  entries of any length: count, and each entry after its length (-1: null)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import pack
from typing import TypeVar

from headrace.core.errors import SerializationError
from headrace.serde.primitive import FixedSizeSerde
from headrace.serde.reader import Reader, sized
from headrace.serde.serde import Serde, check_serde

T = TypeVar("T")

_FIXED, _VARIABLE = 0, 1


def list_(inner: Serde[T]) -> Serde[list[T]]:
    """A list of what `inner` serializes. Entries may be None; `inner` is not asked for them."""
    check_serde(inner, "The serde of the entries")
    if isinstance(inner, FixedSizeSerde):
        size = inner.size
        return Serde(
            partial(_write_fixed, inner.serialize), partial(_read, inner.deserialize, size)
        )
    return Serde(partial(_write_variable, inner.serialize), partial(_read, inner.deserialize, None))


def _write_fixed(serialize: Callable[[T], bytes], values: list[T]) -> bytes:
    nulls = [index for index, value in enumerate(_checked(values)) if value is None]
    head = pack(f">bi{len(nulls)}ii", _FIXED, len(nulls), *nulls, len(values))
    return head + b"".join([serialize(value) for value in values if value is not None])


def _write_variable(serialize: Callable[[T], bytes], values: list[T]) -> bytes:
    entries = [sized(None if value is None else serialize(value)) for value in _checked(values)]
    return pack(">bi", _VARIABLE, len(values)) + b"".join(entries)


def _checked(values: list[T]) -> list[T]:
    if not isinstance(values, list | tuple):
        raise SerializationError(f"The list serde writes a list, got {type(values).__name__}")
    return values


def _read(deserialize: Callable[[bytes], T], size: int | None, data: bytes) -> list[T]:
    reader = Reader(data)
    layout = reader.byte()
    if layout == _VARIABLE:
        entries = (reader.sized() for _ in range(reader.int32()))
    elif layout == _FIXED and size is not None:
        nulls = {reader.int32() for _ in range(reader.int32())}
        entries = (None if index in nulls else reader.take(size) for index in range(reader.int32()))
    else:
        raise SerializationError(
            f"A list of this type can't be read from layout {layout}; was it written with "
            "another inner serde?"
        )
    # Entries that are None are not in the type: few lists have any.
    return [None if entry is None else deserialize(entry) for entry in entries]  # type: ignore[misc]
