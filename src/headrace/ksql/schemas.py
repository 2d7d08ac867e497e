"""Columns and types in answers, as JSON."""

from __future__ import annotations

from typing import Any

from headrace.sql.pull.query import ResultColumn
from headrace.sql.schema import Column, HeaderColumn
from headrace.sql.types import ArrayType, DecimalType, MapType, SqlType, StructType


def field_json(column: Column, *, is_key: bool = False) -> dict[str, Any]:
    """A column. Those of the key and of headers say so."""
    field: dict[str, Any] = {"name": column.name, "schema": type_json(column.type)}
    if is_key or (isinstance(column, ResultColumn) and column.note.endswith("KEY")):
        field["type"] = "KEY"
    if isinstance(column, HeaderColumn):
        field["type"] = "HEADER"
        if column.header is not None:
            field["headerKey"] = column.header
    return field


def type_json(type: SqlType) -> dict[str, Any]:
    """A type: `fields` are those of a STRUCT, `memberSchema` is of elements or values."""
    schema: dict[str, Any] = {"type": type.name, "fields": None, "memberSchema": None}
    match type:
        case ArrayType():
            schema["memberSchema"] = type_json(type.element)
        case MapType():
            schema["memberSchema"] = type_json(type.value)
        case StructType():
            schema["fields"] = [
                {"name": field.name, "schema": type_json(field.type)} for field in type.fields
            ]
        case DecimalType():
            schema["parameters"] = {"precision": type.precision, "scale": type.scale}
    return schema
