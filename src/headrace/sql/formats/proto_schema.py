"""Protobuf schemas of columns, and messages of protobuf schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from google.protobuf import (
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from headrace.sql.formats.catalog import (
    FULL_SCHEMA_NAME,
    NULLABLE_REPRESENTATION,
    FormatError,
)
from headrace.sql.formats.proto_text import file_descriptor
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

DEFAULT_NAME = "ConnectDefault1"

# Columns to schema


def protobuf_schema(rows: RowFormat) -> SchemaText:
    """The schema of rows."""
    name = rows.info.get(FULL_SCHEMA_NAME) or DEFAULT_NAME
    package, _, simple = name.rpartition(".")
    text = _SchemaText(rows.info.get(NULLABLE_REPRESENTATION))
    message = text.message(simple, [(c.name, c.type) for c in rows.columns], "")
    heading = ['syntax = "proto3";\n']
    if package:
        heading.append(f"package {package};\n")
    if text.imports:
        heading.append("".join(f'import "{file}";\n' for file in sorted(text.imports)))
    return SchemaText("PROTOBUF", "\n".join([*heading, message]))


class _SchemaText:
    """Writes messages, and knows what they need imported."""

    def __init__(self, nullable: str | None) -> None:
        self._nullable = nullable
        self._messages = 1
        self.imports: set[str] = set()

    def message(self, name: str, members: Iterable[tuple[str, SqlType]], indent: str) -> str:
        fields, nested = [], []
        for number, (member, type) in enumerate(members, 1):
            declared, inner = self._declared(type, indent + "  ")
            nested.extend(inner)
            fields.append(f"{indent}  {declared} {member} = {number}{self._options(type)};\n")
        body = "".join(fields) + "".join(f"\n{message}" for message in nested)
        return f"{indent}message {name} {{\n{body}{indent}}}\n"

    def _declared(self, type: SqlType, indent: str) -> tuple[str, list[str]]:
        """How a field of a type is declared, and the messages that this needs."""
        if isinstance(type, ArrayType):
            name, nested = self._named(type.element, indent)
            return f"repeated {name}", nested
        if isinstance(type, MapType):
            key, nested_in_key = self._named(type.key, indent)
            value, nested_in_value = self._named(type.value, indent)
            if key in _MAP_KEYS:
                return f"map<{key}, {value}>", nested_in_value
            entry = self._next_name()
            text = self.message(entry, [("key", type.key), ("value", type.value)], indent)
            return f"repeated {entry}", [*nested_in_key, text]
        name, nested = self._named(type, indent)
        if name in _WRAPPERS and self._nullable == "WRAPPER":
            self.imports.add("google/protobuf/wrappers.proto")
            return f"google.protobuf.{_WRAPPERS[name]}", nested
        if name in _WRAPPERS and self._nullable == "OPTIONAL":
            return f"optional {name}", nested
        return name, nested

    def _named(self, type: SqlType, indent: str) -> tuple[str, list[str]]:
        if isinstance(type, StructType):
            name = self._next_name()
            members = [(field.name, field.type) for field in type.fields]
            return name, [self.message(name, members, indent)]
        if isinstance(type, ArrayType | MapType):
            # Neither can be in a list or map by itself.
            name = self._next_name()
            return name, [self.message(name, [("value", type)], indent)]
        if isinstance(type, DecimalType):
            self.imports |= {"confluent/meta.proto", "confluent/type/decimal.proto"}
            return "confluent.type.Decimal", []
        if type.name in _LOGICAL:
            name, file = _LOGICAL[type.name]
            self.imports.add(file)
            return name, []
        return _SCALARS[type.name], []

    def _options(self, type: SqlType) -> str:
        if isinstance(type, ArrayType):
            type = type.element
        elif isinstance(type, MapType):
            type = type.value
        if not isinstance(type, DecimalType):
            return ""
        return (
            " [(confluent.field_meta) = { params: ["
            f'{{ key: "precision", value: "{type.precision}" }}, '
            f'{{ key: "scale", value: "{type.scale}" }}] }}]'
        )

    def _next_name(self) -> str:
        self._messages += 1
        return f"ConnectDefault{self._messages}"


_MAP_KEYS = frozenset({"string", "int32", "int64", "bool"})
_SCALARS = {
    "BOOLEAN": "bool",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "DOUBLE": "double",
    "STRING": "string",
    "BYTES": "bytes",
}
_WRAPPERS = {
    "bool": "BoolValue",
    "int32": "Int32Value",
    "int64": "Int64Value",
    "double": "DoubleValue",
    "string": "StringValue",
    "bytes": "BytesValue",
}
_LOGICAL = {
    "DATE": ("google.type.Date", "google/type/date.proto"),
    "TIME": ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    "TIMESTAMP": ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}


# Schema to messages

_PROVIDED = {
    "google/type/date.proto": """syntax = "proto3"; package google.type;
        message Date { int32 year = 1; int32 month = 2; int32 day = 3; }""",
    "google/type/timeofday.proto": """syntax = "proto3"; package google.type;
        message TimeOfDay {
          int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4;
        }""",
    "confluent/type/decimal.proto": """syntax = "proto3"; package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }""",
    "confluent/meta.proto": """syntax = "proto3"; package confluent;
        message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
        """,
}
_LIBRARY: dict[str, Any] = {
    module.DESCRIPTOR.name: module.DESCRIPTOR
    for module in (duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
}


def message_descriptor(
    schema: SchemaText, registry: SchemaRegistry | None, name: str | None
) -> Any:
    """The descriptor of the message of that name; without one, of the first."""
    files: dict[str, FileDescriptorProto] = {}
    if registry is not None:
        for path, other in referenced(registry, schema).items():
            _add_file(path, other.text, files)
    main = _add_file("schema.proto", schema.text, files)
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in files.values():
            pool.Add(file)
        if name is None:
            return next(iter(pool.FindFileByName(main.name).message_types_by_name.values()))
        return pool.FindMessageTypeByName(name)
    except StopIteration:
        raise FormatError("The protobuf schema has no message in it") from None
    except KeyError:
        raise FormatError(f"The protobuf schema has no message {name!r}") from None
    except TypeError as reason:  # what the pool raises for descriptors that make no sense
        raise FormatError(f"The protobuf schema is wrong: {reason}") from reason


def _add_file(path: str, text: str, files: dict[str, FileDescriptorProto]) -> FileDescriptorProto:
    """Parse a file and what it imports, each after those that it needs."""
    for imported in re.findall(r"""\bimport\s+(?:public\s+|weak\s+)?["']([^"']+)["']""", text):
        if imported in files:
            continue
        if imported in _PROVIDED:
            _add_file(imported, _PROVIDED[imported], files)
        elif imported in _LIBRARY:
            file = FileDescriptorProto()
            _LIBRARY[imported].CopyToProto(file)
            files[imported] = file
        else:
            raise FormatError(
                f"The protobuf schema imports {imported!r}, which isn't among its references"
            )
    files[path] = file_descriptor(text, path, files.values())
    return files[path]


# Messages to types

_T = FieldDescriptorProto
SQL_TYPES: dict[int, SqlType] = {
    _T.TYPE_BOOL: BOOLEAN,
    **dict.fromkeys((_T.TYPE_INT32, _T.TYPE_SINT32, _T.TYPE_SFIXED32), INTEGER),
    **dict.fromkeys((_T.TYPE_INT64, _T.TYPE_SINT64, _T.TYPE_SFIXED64), BIGINT),
    **dict.fromkeys((_T.TYPE_UINT32, _T.TYPE_FIXED32), BIGINT),
    **dict.fromkeys((_T.TYPE_UINT64, _T.TYPE_FIXED64), BIGINT),
    **dict.fromkeys((_T.TYPE_FLOAT, _T.TYPE_DOUBLE), DOUBLE),
    _T.TYPE_STRING: STRING,
    _T.TYPE_ENUM: STRING,
    _T.TYPE_BYTES: BYTES,
}
MESSAGE_TYPES: dict[str, SqlType] = {
    "google.type.Date": DATE,
    "google.type.TimeOfDay": TIME,
    "google.protobuf.Timestamp": TIMESTAMP,
}
WRAPPER_TYPES: dict[str, SqlType] = {
    "google.protobuf.BoolValue": BOOLEAN,
    "google.protobuf.Int32Value": INTEGER,
    "google.protobuf.Int64Value": BIGINT,
    "google.protobuf.UInt32Value": BIGINT,
    "google.protobuf.UInt64Value": BIGINT,
    "google.protobuf.FloatValue": DOUBLE,
    "google.protobuf.DoubleValue": DOUBLE,
    "google.protobuf.StringValue": STRING,
    "google.protobuf.BytesValue": BYTES,
}
DECIMAL_MESSAGE = "confluent.type.Decimal"


def message_type(message: Any, *, keep_case: bool, around: tuple[str, ...] = ()) -> StructType:
    """The SQL type of a message."""
    if message.full_name in around:
        raise FormatError(f"The message {message.full_name} has itself in it, which SQL can't")
    around = (*around, message.full_name)
    return StructType(
        tuple(
            Field(
                field.name if keep_case else field.name.upper(),
                _field_type(field, keep_case, around),
            )
            for field in message.fields
        )
    )


def is_map(field: Any) -> bool:
    """Whether a field is written as a map."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _field_type(field: Any, keep_case: bool, around: tuple[str, ...]) -> SqlType:
    if is_map(field):
        members = field.message_type.fields_by_name
        value = members["value"]
        if value.message_type is not None and value.message_type.full_name == DECIMAL_MESSAGE:
            return MapType(_single_type(members["key"], keep_case, around), _decimal_type(field))
        return MapType(
            _single_type(members["key"], keep_case, around),
            _single_type(value, keep_case, around),
        )
    type = _single_type(field, keep_case, around)
    return ArrayType(type) if field.is_repeated else type


def _single_type(field: Any, keep_case: bool, around: tuple[str, ...]) -> SqlType:
    message = field.message_type
    if message is None:
        return SQL_TYPES[field.type]
    name = message.full_name
    if name == DECIMAL_MESSAGE:
        return _decimal_type(field)
    known = MESSAGE_TYPES.get(name) or WRAPPER_TYPES.get(name)
    return known or message_type(message, keep_case=keep_case, around=around)


def _decimal_type(field: Any) -> DecimalType:
    """Precision and scale are in an option of the field."""
    parameters = {"precision": 64, "scale": 0}
    for option in field.GetOptions().uninterpreted_option:
        for pair in re.findall(r"\{[^{}]*\}", option.aggregate_value):
            members = dict(re.findall(r"""(key|value)\s*:\s*["']([^"']*)["']""", pair))
            if members.get("key") in parameters and members.get("value", "").isdigit():
                parameters[members["key"]] = int(members["value"])
    return DecimalType(parameters["precision"], parameters["scale"])
