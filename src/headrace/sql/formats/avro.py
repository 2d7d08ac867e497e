"""AVRO: Confluent's wire format, by fastavro."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro

from headrace.core.errors import SerializationError
from headrace.sql.decimals import EXACT, fitted
from headrace.sql.formats.avro_schema import (
    AvroSchema,
    avro_schema,
    kind_of,
    only_branch,
    parsed,
    sql_type,
)
from headrace.sql.formats.catalog import SCHEMA_ID, FormatError
from headrace.sql.formats.codec import Codec
from headrace.sql.formats.registry import SchemaRegistry, subject
from headrace.sql.formats.shape import RowFormat
from headrace.sql.formats.wire import PREFIX_SIZE, needed, prefix, schema_id, schema_of
from headrace.sql.java_numbers import double_text
from headrace.sql.types import ArrayType, DecimalType, Field, MapType, SqlType, StructType

Convert = Callable[[Any], Any]


def avro_codec(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> Codec:
    """The codec of rows as Avro."""
    return Codec(
        _Writer(rows, topic, needed(registry, "AVRO")).write,
        _Reader(rows, needed(registry, "AVRO")).read,
    )


def row_type(rows: RowFormat) -> SqlType:
    """What is written: the record of the columns, or the only one by itself."""
    if rows.is_unwrapped:
        return rows.columns[0].type
    return StructType(tuple(Field(column.name, column.type) for column in rows.columns))


# Writing


class _Writer:
    """Writes rows. The schema is looked up, or registered, when the first row comes."""

    def __init__(self, rows: RowFormat, topic: str, registry: SchemaRegistry) -> None:
        self._rows = rows
        self._subject = subject(topic, is_key=rows.is_key)
        self._registry = registry
        self._prepared: tuple[bytes, Any, Convert] | None = None
        self._names = [column.name for column in rows.columns]

    def write(self, row: tuple[Any, ...]) -> bytes | None:
        content = row[0] if self._rows.is_unwrapped else dict(zip(self._names, row, strict=True))
        if content is None:
            return None
        before, schema, encode = self._prepared or self._prepare()
        buffer = io.BytesIO(before)
        buffer.seek(len(before))
        try:
            fastavro.schemaless_writer(buffer, schema, encode(content))
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as reason:
            raise SerializationError(f"The schema can't have this row: {reason!r}") from reason
        return buffer.getvalue()

    def _prepare(self) -> tuple[bytes, Any, Convert]:
        given = self._rows.info.get(SCHEMA_ID)
        if given is None:
            text = avro_schema(self._rows)
            id = self._registry.register(self._subject, text)
        else:
            id = int(given)
            text = schema_of(self._registry, id)
        schema = parsed(text, self._registry)
        encode = encoder(schema, schema.content, row_type(self._rows), "")
        self._prepared = (prefix(id), for_fastavro(schema), encode)
        return self._prepared


def for_fastavro(schema: AvroSchema) -> Any:
    """The schema as fastavro takes it. It leaves logical types to us."""
    return fastavro.parse_schema(_plain(_inlined(schema, schema.content, "", set())))


def _inlined(schema: AvroSchema, part: Any, namespace: str, done: set[str]) -> Any:
    """The schema with each named definition in the place of its first use."""
    if isinstance(part, list):
        return [_inlined(schema, branch, namespace, done) for branch in part]
    definition, inner = schema.resolved(part, namespace)
    if not isinstance(definition, dict):
        return definition
    if "name" in definition:
        simple = str(definition["name"]).rpartition(".")[2]
        full = f"{inner}.{simple}" if inner else simple
        if full in done:
            return full
        done.add(full)
        definition = {**definition, "name": full}
        definition.pop("namespace", None)
    if "fields" in definition:
        fields = [
            {**member, "type": _inlined(schema, member["type"], inner, done)}
            for member in definition["fields"]
        ]
        return {**definition, "fields": fields}
    for key in ("items", "values"):
        if key in definition:
            return {**definition, key: _inlined(schema, definition[key], inner, done)}
    return definition


def _plain(schema: Any) -> Any:
    """The schema without logical types."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if isinstance(schema, dict):
        return {
            key: value if key == "default" else _plain(value)
            for key, value in schema.items()
            if key != "logicalType"
        }
    return schema


def encoder(schema: AvroSchema, part: Any, type: SqlType, namespace: str) -> Convert:
    """What turns a value that isn't NULL into what fastavro writes."""
    part, namespace = schema.resolved(part, namespace)
    kind = kind_of(part)
    if kind == "union":
        return encoder(schema, only_branch(part), type, namespace)
    if kind == "record" and isinstance(type, StructType):
        return _record_encoder(schema, part, type, namespace)
    if kind == "array" and isinstance(type, ArrayType):
        return _each(encoder(schema, part["items"], type.element, namespace))
    if kind == "map" and isinstance(type, MapType):
        value = encoder(schema, part["values"], type.value, namespace)
        return lambda entries: {
            key: None if item is None else value(item) for key, item in entries.items()
        }
    if kind == "entries" and isinstance(type, MapType):
        return _entries_encoder(schema, part, type, namespace)
    if isinstance(type, DecimalType) and kind in ("bytes", "fixed"):
        size = part["size"] if kind == "fixed" else None
        return lambda number: _unscaled_bytes(number, part.get("scale", 0), size)
    if isinstance(type, ArrayType | MapType | StructType):
        raise FormatError(f"{type} can't be written as Avro's {kind}")
    return _same


def _same(value: Any) -> Any:
    return value


def _each(element: Convert) -> Convert:
    return lambda items: [None if item is None else element(item) for item in items]


def _record_encoder(schema: AvroSchema, part: Any, type: StructType, namespace: str) -> Convert:
    by_name = {field.name: field for field in type.fields}
    by_upper_name = {field.name.upper(): field for field in reversed(type.fields)}
    members: list[tuple[str, str | None, Convert, Any]] = []
    for member in part["fields"]:
        name = member["name"]
        field = by_name.get(name) or by_upper_name.get(name.upper())
        default = copy.deepcopy(member.get("default"))
        if field is None:
            members.append((name, None, _same, default))
        else:
            encode = encoder(schema, member["type"], field.type, namespace)
            members.append((name, field.name, encode, default))

    def encode_record(struct: dict[str, Any]) -> dict[str, Any]:
        record = {}
        for name, source, encode, default in members:
            value = None if source is None else struct[source]
            record[name] = default if value is None else encode(value)
        return record

    return encode_record


def _entries_encoder(schema: AvroSchema, part: Any, type: MapType, namespace: str) -> Convert:
    entry, namespace = schema.resolved(part["items"], namespace)
    types = {member["name"]: member["type"] for member in entry["fields"]}
    key_encoder = encoder(schema, types["key"], type.key, namespace)
    value_encoder = encoder(schema, types["value"], type.value, namespace)
    return lambda entries: [
        {
            "key": None if key is None else key_encoder(key),
            "value": None if value is None else value_encoder(value),
        }
        for key, value in entries.items()
    ]


def _unscaled_bytes(number: Decimal, scale: int, size: int | None) -> bytes:
    unscaled = int(EXACT.scaleb(number, scale))
    if size is None:
        size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return unscaled.to_bytes(size, "big", signed=True)


# Reading


class _Reader:
    """Reads rows, each by the schema that it was written with."""

    def __init__(self, rows: RowFormat, registry: SchemaRegistry) -> None:
        self._type = row_type(rows)
        self._registry = registry
        self._is_unwrapped = rows.is_unwrapped
        self._known: dict[int, tuple[Any, Convert]] = {}

    def read(self, data: bytes) -> tuple[Any, ...]:
        id = schema_id(data)
        known = self._known.get(id)
        if known is None:
            schema = parsed(schema_of(self._registry, id), self._registry)
            known = (for_fastavro(schema), decoder(schema, schema.content, self._type, ""))
            self._known[id] = known
        content = _read(known[0], data)
        if self._is_unwrapped:
            return (None if content is None else known[1](content),)
        return tuple(known[1](content).values())


def _read(schema: Any, data: bytes) -> Any:
    try:
        return fastavro.schemaless_reader(io.BytesIO(data[PREFIX_SIZE:]), schema, None)
    except (EOFError, ValueError, IndexError, OverflowError) as reason:
        raise SerializationError(f"This isn't Avro of its schema: {reason!r}") from reason


def natural_value(schema: AvroSchema, data: bytes) -> Any:
    """What the data says, in the types of its own schema."""
    content = _read(for_fastavro(schema), data)
    if content is None:
        return None
    return decoder(schema, schema.content, sql_type(schema, keep_case=True), "")(content)


def decoder(schema: AvroSchema, part: Any, type: SqlType, namespace: str) -> Convert:
    """What turns something that fastavro read, and isn't null, into a value."""
    part, namespace = schema.resolved(part, namespace)
    kind = kind_of(part)
    if kind == "union":
        return decoder(schema, only_branch(part), type, namespace)
    if isinstance(type, StructType) and kind == "record":
        return _record_decoder(schema, part, type, namespace)
    if isinstance(type, ArrayType) and kind == "array":
        return _each(decoder(schema, part["items"], type.element, namespace))
    if isinstance(type, MapType) and kind == "map":
        value = decoder(schema, part["values"], type.value, namespace)
        return lambda entries: {
            key: None if item is None else value(item) for key, item in entries.items()
        }
    if isinstance(type, MapType) and kind in ("entries", "array"):
        return _entries_decoder(schema, part, type, namespace)
    logical = part.get("logicalType") if isinstance(part, dict) else None
    if isinstance(type, DecimalType) and logical == "decimal":
        return _decimal_decoder(part.get("scale", 0), type)
    decode = None if logical == "decimal" else _SIMPLE.get((kind, type.name))
    if decode is None:
        raise SerializationError(f"Cannot deserialize type {kind} as type {type}")
    return decode


def _record_decoder(schema: AvroSchema, part: Any, type: StructType, namespace: str) -> Convert:
    names = [member["name"] for member in part["fields"]]
    types = {member["name"]: member["type"] for member in part["fields"]}
    upper = {name.upper(): name for name in reversed(names)}
    members: list[tuple[str, str | None, Convert]] = []
    for field in type.fields:
        source = field.name if field.name in types else upper.get(field.name)
        if source is None:
            members.append((field.name, None, _same))
        else:
            decode = decoder(schema, types[source], field.type, namespace)
            members.append((field.name, source, decode))

    def decode_record(record: dict[str, Any]) -> dict[str, Any]:
        struct = {}
        for name, source, decode in members:
            value = None if source is None else record[source]
            struct[name] = None if value is None else decode(value)
        return struct

    return decode_record


def _entries_decoder(schema: AvroSchema, part: Any, type: MapType, namespace: str) -> Convert:
    entry, namespace = schema.resolved(part["items"], namespace)
    if kind_of(entry) != "record":
        raise SerializationError(f"Cannot deserialize type array as type {type}")
    types = {member["name"]: member["type"] for member in entry["fields"]}
    key_decoder = decoder(schema, types["key"], type.key, namespace)
    value_decoder = decoder(schema, types["value"], type.value, namespace)

    def decode(entries: list[dict[str, Any]]) -> dict[Any, Any]:
        return {
            None if entry["key"] is None else key_decoder(entry["key"]): None
            if entry["value"] is None
            else value_decoder(entry["value"])
            for entry in entries
        }

    return decode


def _decimal_decoder(scale: int, type: DecimalType) -> Convert:
    def decode(data: bytes) -> Decimal:
        unscaled = int.from_bytes(data, "big", signed=True)
        return fitted(EXACT.scaleb(Decimal(unscaled), -scale), type)

    return decode


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


_SIMPLE: dict[tuple[str, str], Convert] = {
    ("boolean", "BOOLEAN"): _same,
    ("int", "INTEGER"): _same,
    ("int", "BIGINT"): _same,
    ("int", "DATE"): _same,
    ("int", "TIME"): _same,
    ("int", "STRING"): str,
    ("long", "BIGINT"): _same,
    ("long", "TIMESTAMP"): _same,
    ("long", "STRING"): str,
    ("float", "DOUBLE"): _same,
    ("float", "STRING"): double_text,
    ("double", "DOUBLE"): _same,
    ("double", "STRING"): double_text,
    ("boolean", "STRING"): _boolean_text,
    ("string", "STRING"): _same,
    ("enum", "STRING"): _same,
    ("bytes", "BYTES"): _same,
    ("fixed", "BYTES"): _same,
}
