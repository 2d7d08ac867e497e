"""Values of stores that keep the headers of records.

Varint length of the headers ‖ headers ‖ timestamp (8 bytes; not in session stores) ‖ value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from struct import pack
from typing import Any, NamedTuple

from headrace.core.record import Header
from headrace.serde.headers import read_headers, write_headers
from headrace.serde.reader import Reader, varint
from headrace.serde.serde import Serde


class ValueTimestampHeaders(NamedTuple):
    """What a timestamped key-value or window store with headers holds for a key."""

    value: Any
    timestamp: int
    headers: Sequence[Header]


class AggregationWithHeaders(NamedTuple):
    """What a session store with headers holds for a session."""

    aggregation: Any
    headers: Sequence[Header]


def value_timestamp_headers(inner: Serde[Any]) -> Serde[ValueTimestampHeaders]:
    return Serde(
        partial(_write_with_timestamp, inner.serialize),
        partial(_read_with_timestamp, inner.deserialize),
    )


def aggregation_with_headers(inner: Serde[Any]) -> Serde[AggregationWithHeaders]:
    return Serde(
        partial(_write_aggregation, inner.serialize), partial(_read_aggregation, inner.deserialize)
    )


def with_headers(data: bytes, headers: Sequence[Header]) -> bytes:
    """`data` with headers before it: makes a header-aware value of one that isn't."""
    written = write_headers(headers)
    return varint(len(written)) + written + data


def without_headers(data: bytes) -> bytes:
    """Undo `with_headers`: what a store without headers would hold."""
    reader = Reader(data)
    reader.take(reader.varint())
    return reader.rest()


def _write_with_timestamp(serialize: Callable[[Any], bytes], value: ValueTimestampHeaders) -> bytes:
    return with_headers(pack(">q", value.timestamp) + serialize(value.value), value.headers)


def _read_with_timestamp(deserialize: Callable[[bytes], Any], data: bytes) -> ValueTimestampHeaders:
    reader = Reader(data)
    headers = read_headers(reader.take(reader.varint()))
    timestamp = reader.int64()
    return ValueTimestampHeaders(deserialize(reader.rest()), timestamp, headers)


def _write_aggregation(serialize: Callable[[Any], bytes], value: AggregationWithHeaders) -> bytes:
    return with_headers(serialize(value.aggregation), value.headers)


def _read_aggregation(deserialize: Callable[[bytes], Any], data: bytes) -> AggregationWithHeaders:
    reader = Reader(data)
    headers = read_headers(reader.take(reader.varint()))
    return AggregationWithHeaders(deserialize(reader.rest()), headers)
