"""Avro schemas of columns, and columns of Avro schemas.

Written as Kafka Connect's Avro converter does it for ksqlDB: every field may be null, a map is a
list of entries, a nested record is named after its path.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace.sql.formats.catalog import FULL_SCHEMA_NAME, FormatError
from headrace.sql.formats.registry import SchemaRegistry, SchemaText, referenced
from headrace.sql.formats.shape import RowFormat
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

DEFAULT_NAME = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
_MAP_ENTRY = "MapEntry"


# Columns to schema


def avro_schema(rows: RowFormat) -> SchemaText:
    """The schema of rows."""
    name = rows.info.get(FULL_SCHEMA_NAME) or DEFAULT_NAME
    if rows.is_unwrapped:
        content = _type(rows.columns[0].type, name)
    else:
        content = _record([(column.name, column.type) for column in rows.columns], name)
    return SchemaText("AVRO", json.dumps(_without_repeated_namespaces(content, None)))


def _record(members: Iterable[tuple[str, SqlType]], name: str) -> dict[str, Any]:
    namespace, _, simple = name.rpartition(".")
    return {
        "type": "record",
        "name": simple,
        **({"namespace": namespace} if namespace else {}),
        "fields": [
            {"name": member, "type": ["null", _type(type, f"{name}_{member}")], "default": None}
            for member, type in members
        ],
        "connect.name": name,
    }


def _without_repeated_namespaces(schema: Any, around: str | None) -> Any:
    """The same schema, where records in records leave out the namespace that they have anyway."""
    if isinstance(schema, list):
        return [_without_repeated_namespaces(branch, around) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    namespace = schema.get("namespace", around)
    return {
        key: _without_repeated_namespaces(value, namespace)
        if key in ("type", "items", "fields")
        else value
        for key, value in schema.items()
        if key != "namespace" or value != around
    }


def _type(type: SqlType, name: str) -> Any:
    if isinstance(type, DecimalType):
        return {
            "type": "bytes",
            "scale": type.scale,
            "precision": type.precision,
            "connect.version": 1,
            "connect.parameters": {
                "scale": str(type.scale),
                "connect.decimal.precision": str(type.precision),
            },
            "connect.name": "org.apache.kafka.connect.data.Decimal",
            "logicalType": "decimal",
        }
    if isinstance(type, ArrayType):
        return {"type": "array", "items": ["null", _type(type.element, name)]}
    if isinstance(type, MapType):
        entry = _record([("key", type.key), ("value", type.value)], name)
        entry["connect.internal.type"] = _MAP_ENTRY
        del entry["connect.name"]
        return {"type": "array", "items": entry, "connect.internal.type": _MAP_ENTRY}
    if isinstance(type, StructType):
        return _record([(field.name, field.type) for field in type.fields], name)
    return _SIMPLE[type.name]


def _logical(type: str, logical: str, connect: str) -> dict[str, Any]:
    return {
        "type": type,
        "connect.version": 1,
        "connect.name": f"org.apache.kafka.connect.data.{connect}",
        "logicalType": logical,
    }


_SIMPLE: dict[str, Any] = {
    "BOOLEAN": "boolean",
    "INTEGER": "int",
    "BIGINT": "long",
    "DOUBLE": "double",
    "STRING": "string",
    "BYTES": "bytes",
    "DATE": _logical("int", "date", "Date"),
    "TIME": _logical("int", "time-millis", "Time"),
    "TIMESTAMP": _logical("long", "timestamp-millis", "Timestamp"),
}


# Schema to types


@dataclass
class AvroSchema:
    """A parsed schema with the definitions of all names in it."""

    content: Any
    names: dict[str, Any] = field(default_factory=dict)

    def resolved(self, schema: Any, namespace: str) -> tuple[Any, str]:
        """The definition that a schema is or names, and the namespace in which it stands."""
        if isinstance(schema, str) and schema not in _PRIMITIVES:
            full = schema if "." in schema or not namespace else f"{namespace}.{schema}"
            found = self.names.get(full, self.names.get(schema))
            if found is None:
                raise FormatError(f"The Avro schema names {schema}, but doesn't define it")
            return found, _namespace(found, namespace)
        if isinstance(schema, dict) and isinstance(schema.get("type"), dict | list):
            return self.resolved(schema["type"], namespace)
        return schema, _namespace(schema, namespace)


_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


def _namespace(schema: Any, around: str) -> str:
    if isinstance(schema, dict) and "name" in schema:
        name = str(schema["name"])
        return name.rpartition(".")[0] if "." in name else str(schema.get("namespace", around))
    return around


def parsed(schema: SchemaText, registry: SchemaRegistry) -> AvroSchema:
    """The schema, with what it refers to."""
    names: dict[str, Any] = {}
    for other in referenced(registry, schema).values():
        _define(_loaded(other.text), "", names)
    content = _loaded(schema.text)
    _define(content, "", names)
    return AvroSchema(content, names)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as reason:
        raise FormatError(f"The Avro schema isn't JSON: {reason}") from reason


def _define(schema: Any, namespace: str, names: dict[str, Any]) -> None:
    if isinstance(schema, list):
        for branch in schema:
            _define(branch, namespace, names)
    if not isinstance(schema, dict):
        return
    namespace = _namespace(schema, namespace)
    if "name" in schema and schema.get("type") in ("record", "enum", "fixed", "error"):
        simple = str(schema["name"]).rpartition(".")[2]
        names[f"{namespace}.{simple}" if namespace else simple] = schema
    for key in ("type", "items", "values"):
        if isinstance(schema.get(key), dict | list):
            _define(schema[key], namespace, names)
    for member in schema.get("fields", ()):
        _define(member["type"], namespace, names)


def kind_of(schema: Any) -> str:
    """The name of a resolved schema's type; `union` for a list, `entries` for a map that is written
    as a list."""
    if isinstance(schema, list):
        return "union"
    if isinstance(schema, str):
        return schema
    if not isinstance(schema, dict) or "type" not in schema:
        raise FormatError(f"A part of the AVRO schema has no type: {str(schema)[:80]}")
    kind = str(schema["type"])
    if kind == "array" and schema.get("connect.internal.type") == _MAP_ENTRY:
        return "entries"
    return kind


def only_branch(schema: list[Any]) -> Any:
    """The branch of a union that isn't null."""
    branches = [branch for branch in schema if branch != "null"]
    if len(branches) != 1:
        raise FormatError("Avro unions are supported only between null and one type")
    return branches[0]


def sql_type(schema: AvroSchema, *, keep_case: bool) -> SqlType:
    """The SQL type of a schema."""
    return _sql_type(schema, schema.content, "", keep_case, ())


def _sql_type(
    schema: AvroSchema, part: Any, namespace: str, keep_case: bool, around: tuple[int, ...]
) -> SqlType:
    part, namespace = schema.resolved(part, namespace)

    def inner(part: Any) -> SqlType:
        return _sql_type(schema, part, namespace, keep_case, around)

    kind = kind_of(part)
    if kind == "union":
        return inner(only_branch(part))
    if kind == "array":
        return ArrayType(inner(part["items"]))
    if kind == "map":
        return MapType(STRING, inner(part["values"]))
    if kind == "entries":
        entry, namespace = schema.resolved(part["items"], namespace)
        members = {member["name"]: member["type"] for member in entry["fields"]}
        return MapType(inner(members["key"]), inner(members["value"]))
    if kind == "record":
        if id(part) in around:
            raise FormatError(f"The Avro record {part['name']} has itself in it, which SQL can't")
        around = (*around, id(part))
        return StructType(
            tuple(
                Field(
                    member["name"] if keep_case else member["name"].upper(), inner(member["type"])
                )
                for member in part["fields"]
            )
        )
    logical = part.get("logicalType") if isinstance(part, dict) else None
    if logical == "decimal":
        return DecimalType(part["precision"], part.get("scale", 0))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if kind not in _SQL:
        raise FormatError(f"SQL has no type for Avro's {kind}")
    return _SQL[kind]


_LOGICAL = {"date": DATE, "time-millis": TIME, "timestamp-millis": TIMESTAMP}
_SQL = {
    "boolean": BOOLEAN,
    "int": INTEGER,
    "long": BIGINT,
    "float": DOUBLE,
    "double": DOUBLE,
    "string": STRING,
    "enum": STRING,
    "bytes": BYTES,
    "fixed": BYTES,
}
