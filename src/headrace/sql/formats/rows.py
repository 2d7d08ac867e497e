"""Serdes of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from headrace.serde.serde import Serde
from headrace.sql.formats.avro import avro_codec
from headrace.sql.formats.codec import Codec
from headrace.sql.formats.delimited import delimited_codec
from headrace.sql.formats.json import json_codec
from headrace.sql.formats.json_sr import json_sr_codec
from headrace.sql.formats.kafka import kafka_codec
from headrace.sql.formats.protobuf import protobuf_codec, protobuf_nosr_codec
from headrace.sql.formats.registry import SchemaRegistry
from headrace.sql.formats.shape import RowFormat

Row: TypeAlias = tuple[Any, ...]
"""The values of a key's or value's columns, in their order."""


@dataclass(frozen=True)
class RowSerde(Serde[Row]):
    """A serde of rows, which is made anew where it is unpickled."""

    rows: RowFormat
    topic: str
    registry: SchemaRegistry | None

    def __reduce__(self) -> tuple[Callable[..., RowSerde], tuple[Any, ...]]:
        return row_serde, (self.rows, self.topic, self.registry)


def row_serde(rows: RowFormat, topic: str, registry: SchemaRegistry | None = None) -> RowSerde:
    """The serde of a topic's keys or values.

    A null of an unwrapped column is written as no bytes at all: `serialize` gives None. Some bytes
    are read as None: JSON's `null`, and keys that have no columns.
    """
    codec = _codec(rows, topic, registry)
    return RowSerde(
        codec.serialize,
        codec.deserialize,
        rows,
        topic,
        registry,
        immutable=True,
        check=codec.check,
    )


def _codec(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> Codec:
    if not rows.columns and (rows.is_key or rows.info.name in ("NONE", "KAFKA")):
        return _NOTHING if rows.is_key else _EMPTY
    return _CODECS[rows.info.name](rows, topic, registry)


_CODECS: dict[str, Callable[[RowFormat, str, SchemaRegistry | None], Codec]] = {
    "KAFKA": kafka_codec,
    "DELIMITED": delimited_codec,
    "JSON": json_codec,
    "JSON_SR": json_sr_codec,
    "AVRO": avro_codec,
    "PROTOBUF": protobuf_codec,
    "PROTOBUF_NOSR": protobuf_nosr_codec,
}


def _none(_: object) -> Any:
    return None


def _empty_row(_: bytes) -> Row:
    return ()


_NOTHING = Codec(_none, _none)
_EMPTY = Codec(_none, _empty_row)
