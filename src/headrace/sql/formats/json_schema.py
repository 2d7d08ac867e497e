"""JSON schemas of columns, and types of JSON schemas, with Kafka Connect's hints in them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
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

_CONNECT = "org.apache.kafka.connect.data."


# Columns to schema


def json_schema(rows: RowFormat) -> SchemaText:
    """The schema of rows."""
    if rows.is_unwrapped:
        content = _optional(_type(rows.columns[0].type))
    else:
        content = _object((column.name, column.type) for column in rows.columns)
    name = rows.info.get(FULL_SCHEMA_NAME)
    if name is not None:
        content["title"] = name
    return SchemaText("JSON", json.dumps(content))


def _object(members: Iterable[tuple[str, SqlType]]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name: {"connect.index": index, **_optional(_type(type))}
            for index, (name, type) in enumerate(members)
        },
    }


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, schema]}


def _type(type: SqlType) -> dict[str, Any]:
    if isinstance(type, DecimalType):
        return {
            **_logical("number", "Decimal", "bytes"),
            "connect.parameters": {
                "scale": str(type.scale),
                "connect.decimal.precision": str(type.precision),
            },
        }
    if isinstance(type, ArrayType):
        return {"type": "array", "items": _optional(_type(type.element))}
    if isinstance(type, MapType):
        return {
            "type": "object",
            "connect.type": "map",
            "additionalProperties": _optional(_type(type.value)),
        }
    if isinstance(type, StructType):
        return _object((field.name, field.type) for field in type.fields)
    return dict(_SIMPLE[type.name])


def _logical(type: str, name: str, connect: str) -> dict[str, Any]:
    return {
        "type": type,
        "title": _CONNECT + name,
        "connect.version": 1,
        "connect.type": connect,
    }


_SIMPLE: dict[str, dict[str, Any]] = {
    "BOOLEAN": {"type": "boolean"},
    "INTEGER": {"type": "integer", "connect.type": "int32"},
    "BIGINT": {"type": "integer", "connect.type": "int64"},
    "DOUBLE": {"type": "number", "connect.type": "float64"},
    "STRING": {"type": "string"},
    "BYTES": {"type": "string", "connect.type": "bytes"},
    "DATE": _logical("integer", "Date", "int32"),
    "TIME": _logical("integer", "Time", "int32"),
    "TIMESTAMP": _logical("integer", "Timestamp", "int64"),
}


# Schema to types


@dataclass(frozen=True)
class JsonSchema:
    """A parsed schema, and those that it refers to by name."""

    content: Any
    others: dict[str, Any]


def parsed(schema: SchemaText, registry: SchemaRegistry) -> JsonSchema:
    """The schema, with what it refers to."""
    others = {name: _loaded(other.text) for name, other in referenced(registry, schema).items()}
    return JsonSchema(_loaded(schema.text), others)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as reason:
        raise FormatError(f"The JSON schema isn't JSON: {reason}") from reason


def sql_type(schema: JsonSchema, *, keep_case: bool) -> SqlType:
    """The SQL type of a schema."""
    return _Types(schema, keep_case).type_of(schema.content, ())


class _Types:
    def __init__(self, schema: JsonSchema, keep_case: bool) -> None:
        self._schema = schema
        self._keep_case = keep_case

    def type_of(self, part: Any, around: tuple[str, ...]) -> SqlType:
        if not isinstance(part, dict):
            raise FormatError(f"SQL has no type for the JSON schema {part!r}")
        reference = part.get("$ref")
        if reference is not None:
            if reference in around:
                raise FormatError(f"The JSON schema {reference} has itself in it, which SQL can't")
            return self.type_of(self._referenced(reference), (*around, reference))
        for choice in ("oneOf", "anyOf", "allOf"):
            if choice in part:
                return self.type_of(_only_choice(part[choice]), around)
        kind = part.get("type")
        if isinstance(kind, list):
            kind = _only_choice(kind)
        if kind == "array":
            return self._array(part, around)
        if kind == "object" or "properties" in part:
            return self._object(part, around)
        return _simple(part, kind)

    def _referenced(self, reference: str) -> Any:
        name, _, path = reference.partition("#")
        part = self._schema.others.get(name) if name else self._schema.content
        for step in filter(None, path.split("/")):
            step = step.replace("~1", "/").replace("~0", "~")
            part = part.get(step) if isinstance(part, dict) else None
        if part is None:
            raise FormatError(f"The JSON schema refers to {reference!r}, which isn't there")
        return part

    def _array(self, part: Any, around: tuple[str, ...]) -> SqlType:
        items = part.get("items")
        if items is None:
            raise FormatError("The JSON schema of an array doesn't say what its items are")
        if part.get("connect.type") == "map":
            members = items["properties"]
            return MapType(
                self.type_of(members["key"], around), self.type_of(members["value"], around)
            )
        return ArrayType(self.type_of(items, around))

    def _object(self, part: Any, around: tuple[str, ...]) -> SqlType:
        values = part.get("additionalProperties")
        is_map = "properties" not in part and isinstance(values, dict)
        if is_map or part.get("connect.type") == "map":
            return MapType(STRING, self.type_of(values, around))
        members = sorted(
            part.get("properties", {}).items(), key=lambda item: item[1].get("connect.index", 0)
        )
        return StructType(
            tuple(
                Field(name if self._keep_case else name.upper(), self.type_of(member, around))
                for name, member in members
            )
        )


def _only_choice(choices: list[Any]) -> Any:
    others = [choice for choice in choices if choice not in ("null", {"type": "null"})]
    if len(others) != 1:
        raise FormatError("JSON schemas may leave a choice only between null and one type")
    return others[0]


def _simple(part: Any, kind: Any) -> SqlType:
    logical = str(part.get("title", "")).removeprefix(_CONNECT)
    if logical == "Decimal":
        parameters = part.get("connect.parameters", {})
        precision = int(parameters.get("connect.decimal.precision", 64))
        return DecimalType(precision, int(parameters.get("scale", 0)))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    hint = part.get("connect.type")
    if kind == "integer":
        return INTEGER if hint in ("int8", "int16", "int32") else BIGINT
    if kind == "string":
        return BYTES if hint == "bytes" else STRING
    if kind in ("number", "boolean"):
        return DOUBLE if kind == "number" else BOOLEAN
    raise FormatError(f"SQL has no type for JSON schema type {kind!r}")


_LOGICAL = {"Date": DATE, "Time": TIME, "Timestamp": TIMESTAMP}
