"""Types and columns, as entities show them."""

from __future__ import annotations

from typing import Any

from headrace.sql.schema import Schema
from headrace.sql.types import ArrayType, DecimalType, MapType, SqlType, StructType


def type_json(type_: SqlType) -> dict[str, Any]:
    """A type: its fields if it is a struct, what it holds if it is an array or map."""
    shown: dict[str, Any] = {"type": type_.name, "fields": None, "memberSchema": None}
    match type_:
        case StructType():
            shown["fields"] = [
                {"name": field.name, "schema": type_json(field.type)} for field in type_.fields
            ]
        case ArrayType():
            shown["memberSchema"] = type_json(type_.element)
        case MapType():
            shown["memberSchema"] = type_json(type_.value)
        case DecimalType():
            shown["parameters"] = {"precision": type_.precision, "scale": type_.scale}
    return shown


def fields_json(schema: Schema) -> list[dict[str, Any]]:
    """The columns of a source."""
    shown: list[dict[str, Any]] = [
        {"name": column.name, "schema": type_json(column.type), "type": "KEY"}
        for column in schema.key
    ]
    shown += [{"name": each.name, "schema": type_json(each.type)} for each in schema.value]
    for header in schema.headers:
        field = {"name": header.name, "schema": type_json(header.type), "type": "HEADER"}
        if header.header is not None:
            field["headerKey"] = header.header
        shown.append(field)
    return shown
