"""Keys and values of cases as bytes, and bytes as what cases compare with."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from decimal import Decimal
from struct import pack, unpack
from typing import Any

import fastavro
import orjson
from google.protobuf import message_factory

from headrace.sql.formats import (
    FormatInfo,
    RowFormat,
    SchemaRegistry,
    avro,
    avro_schema,
    json_schema,
    proto_encoders,
    proto_schema,
    protobuf,
    row_serde,
    subject,
)
from headrace.sql.formats.catalog import FULL_SCHEMA_NAME
from headrace.sql.formats.json_decoders import decoder
from headrace.sql.formats.registry import RegisteredSchema
from headrace.sql.formats.wire import PREFIX_SIZE, prefix, schema_id
from headrace.sql.java_numbers import double_text
from headrace.sql.types import ArrayType, MapType, SqlType, StructType


class TopicRecords:
    """Writes and reads the keys or values of a topic."""

    def __init__(
        self, rows: RowFormat, topic: str, registry: SchemaRegistry, *, exact: bool
    ) -> None:
        self._rows = rows
        self._topic = topic
        self._registry = registry
        self._parse_float: Callable[[str], Any] = Decimal if exact else float

    # Writing

    def to_bytes(self, node: Any) -> bytes | None:
        """The bytes of a part of a case. What doesn't fit the format is written as its text: such
        records are meant to be skipped."""
        if node is None:
            return None
        try:
            return self._to_bytes(node)
        except Exception:
            return _json_text(node)

    def _to_bytes(self, node: Any) -> bytes | None:
        name = self._rows.info.name
        if name == "JSON":
            return _json_text(node)
        if name in ("DELIMITED", "NONE") or not self._rows.columns:
            return _text(node).encode()
        if name == "KAFKA":
            return _kafka_bytes(node, self._rows.columns[0].type)
        if name == "PROTOBUF_NOSR":
            return self._by_columns(node)
        latest = self._registry.latest(subject(self._topic, is_key=self._rows.is_key))
        if latest is None:
            return _json_text(node)
        if name == "JSON_SR":
            return prefix(latest.id) + _json_text(node)
        if name == "AVRO":
            return _avro_bytes(node, latest, self._registry)
        return _protobuf_bytes(node, latest, self._rows.info, self._registry)

    def _by_columns(self, node: Any) -> bytes:
        type = protobuf.row_type(self._rows)
        row = decoder(type)(_renamed(node, type))
        return row_serde(self._rows, self._topic).serialize(tuple(row.values()))

    # Reading

    def from_bytes(self, data: bytes | None) -> Any:
        """What bytes say, in the types that their format has."""
        if data is None:
            return None
        name = self._rows.info.name
        if name == "JSON":
            return json.loads(data, parse_float=self._parse_float)
        if name in ("DELIMITED", "NONE") or not self._rows.columns:
            return data.decode()
        if name == "KAFKA":
            return _kafka_value(data, self._rows.columns[0].type)
        if name == "PROTOBUF_NOSR":
            row = row_serde(self._rows, self._topic).deserialize(data)
            return {c.name: v for c, v in zip(self._rows.columns, row, strict=True)}
        schema = self._registry.by_id(schema_id(data))
        assert schema is not None, "the record's schema isn't registered"
        if name == "AVRO":
            return avro.natural_value(avro_schema.parsed(schema, self._registry), data)
        if name == "PROTOBUF":
            return protobuf.natural_value(schema, self._registry, data)
        content = json.loads(data[PREFIX_SIZE:], parse_float=Decimal)
        type = json_schema.sql_type(json_schema.parsed(schema, self._registry), keep_case=True)
        return None if content is None else decoder(type)(content)


def _json_text(node: Any) -> bytes:
    return orjson.dumps(node, default=lambda number: orjson.Fragment(str(number)))


def _text(node: Any) -> str:
    if isinstance(node, str):
        return node
    return _json_text(node).decode()


_PACKED = {"INTEGER": ">i", "BIGINT": ">q", "DOUBLE": ">d"}


def _kafka_bytes(node: Any, type: SqlType) -> bytes:
    if type.name in _PACKED and not isinstance(node, str):
        number = float(node) if type.name == "DOUBLE" else int(node)
        return pack(_PACKED[type.name], number)
    return _text(node).encode()


def _kafka_value(data: bytes, type: SqlType) -> Any:
    if type.name not in _PACKED:
        return data.decode()
    (number,) = unpack(_PACKED[type.name], data)
    return Decimal(double_text(number)) if type.name == "DOUBLE" else number


def _avro_bytes(node: Any, latest: RegisteredSchema, registry: SchemaRegistry) -> bytes:
    schema = avro_schema.parsed(latest.schema, registry)
    type = avro_schema.sql_type(schema, keep_case=True)
    encode = avro.encoder(schema, schema.content, type, "")
    buffer = io.BytesIO()
    buffer.write(prefix(latest.id))
    content = encode(decoder(type)(_renamed(node, type)))
    fastavro.schemaless_writer(buffer, avro.for_fastavro(schema), content)
    return buffer.getvalue()


def _protobuf_bytes(
    node: Any, latest: RegisteredSchema, info: FormatInfo, registry: SchemaRegistry
) -> bytes:
    name = info.get(FULL_SCHEMA_NAME)
    descriptor = proto_schema.message_descriptor(latest.schema, registry, name)
    type = proto_schema.message_type(descriptor, keep_case=True)
    message = message_factory.GetMessageClass(descriptor)()
    proto_encoders.message_encoder(descriptor, type)(message, decoder(type)(_renamed(node, type)))
    data: bytes = message.SerializeToString()
    return prefix(latest.id) + protobuf.index_bytes(descriptor) + data


def _renamed(node: Any, type: SqlType) -> Any:
    """The node with its members called as the type's fields are, whatever their case."""
    if isinstance(type, StructType) and isinstance(node, dict):
        types = {field.name.upper(): field for field in type.fields}
        return {
            types[name.upper()].name: _renamed(member, types[name.upper()].type)
            for name, member in node.items()
            if name.upper() in types
        }
    if isinstance(type, ArrayType) and isinstance(node, list):
        return [_renamed(item, type.element) for item in node]
    if isinstance(type, MapType) and isinstance(node, dict):
        return {key: _renamed(item, type.value) for key, item in node.items()}
    return node
