"""KAFKA: one column, in the bytes of Kafka's own serializers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.serde import primitive
from headrace.serde.serde import Serde
from headrace.sql.formats.codec import Codec
from headrace.sql.formats.registry import SchemaRegistry
from headrace.sql.formats.shape import RowFormat

_SERDES: dict[str, Callable[[], Serde[Any]]] = {
    "INTEGER": primitive.integer,
    "BIGINT": primitive.long,
    "DOUBLE": primitive.double,
    "STRING": primitive.string,
    "BYTES": primitive.bytes_,
}


def kafka_codec(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> Codec:
    """The codec of rows with one column."""
    (column,) = rows.columns
    if column.type.name == "STRING":
        return Codec(_write_text, _read_text)
    serde = _SERDES[column.type.name]()
    write, read = serde.serialize, serde.deserialize

    def serialize(row: tuple[Any, ...]) -> bytes | None:
        (value,) = row
        return None if value is None else write(value)

    def deserialize(data: bytes) -> tuple[Any, ...]:
        return (read(data),)

    return Codec(serialize, deserialize)


# Text is what most keys are, so it has functions of its own, which call no others.


def _write_text(row: tuple[Any, ...]) -> Any:
    try:
        return row[0].encode()
    except AttributeError:
        return None


def _read_text(data: bytes) -> tuple[Any, ...]:
    try:
        return (data.decode(),)
    except UnicodeDecodeError:
        return (primitive.string().deserialize(data),)
