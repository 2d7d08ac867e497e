"""CREATE STREAM and CREATE TABLE with columns: what a statement says about a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.sql.errors import SqlError
from headrace.sql.formats import (
    FormatInfo,
    RowFormat,
    SchemaRegistry,
    check,
    infer_columns,
    key_features,
    key_info_of,
    value_features,
)
from headrace.sql.metastore import DataSource, TimestampColumn
from headrace.sql.named_types import resolved_type
from headrace.sql.properties import CREATE, SourceProperties
from headrace.sql.schema import Column, HeaderColumn, Schema
from headrace.sql.syntax.ast import ColumnDefinition, ColumnKind, CreateSource
from headrace.sql.types import (
    BIGINT,
    BYTES,
    STRING,
    TIMESTAMP,
    ArrayType,
    Field,
    SqlType,
    StructType,
)

SYSTEM_COLUMNS = ("ROWTIME", "ROWPARTITION", "ROWOFFSET", "WINDOWSTART", "WINDOWEND")
"""Names that columns of users can't have."""

HEADERS_TYPE = ArrayType(StructType((Field("KEY", STRING), Field("VALUE", BYTES))))

WRAP_BY_DEFAULT = "ksql.persistence.wrap.single.values"
KEY_FORMAT_BY_DEFAULT = "ksql.persistence.default.format.key"
VALUE_FORMAT_BY_DEFAULT = "ksql.persistence.default.format.value"


def define_source(
    statement: CreateSource,
    types: Mapping[str, SqlType],
    settings: Mapping[str, Any],
    registry: SchemaRegistry | None,
    sql: str,
) -> DataSource:
    """The stream or table that a statement describes. Columns it doesn't name are taken from the
    registry. Raises SqlError if it can't be."""
    properties = SourceProperties.read(statement.properties, CREATE)
    topic = properties.text("KAFKA_TOPIC")
    if topic is None:
        raise SqlError('Missing required property "KAFKA_TOPIC" which has no default value.')
    key_info = properties.format("KEY", settings.get(KEY_FORMAT_BY_DEFAULT, "KAFKA"))
    key_info = key_info_of(statement.name, key_info)
    value_info = properties.format("VALUE", settings.get(VALUE_FORMAT_BY_DEFAULT))
    declared = declared_schema(statement.columns, types)
    _check_schema_ids(properties, declared)
    schema = _with_inferred(declared, topic, key_info, value_info, properties, registry)
    _check_columns(statement, schema)
    window = properties.window
    if window is not None and not schema.key:
        raise SqlError("Windowed sources require a key column.")
    key = RowFormat(key_info, schema.key, key_features(key_info, schema.key), is_key=True)
    check(key)
    features = value_features(
        value_info,
        schema.value,
        properties.wrap_single_value,
        wrap_by_default(settings),
    )
    value = RowFormat(value_info, schema.value, features)
    check(value)
    timestamp = properties.timestamp
    check_timestamp(timestamp, schema)
    return DataSource(
        name=statement.name,
        kind=statement.kind,
        schema=schema,
        topic=topic,
        key_format=key,
        value_format=value,
        window=window,
        timestamp=timestamp,
        sql=sql,
        read_only=statement.read_only,
    )


def wrap_by_default(settings: Mapping[str, Any]) -> bool | None:
    value = settings.get(WRAP_BY_DEFAULT)
    return None if value is None else str(value).lower() == "true"


def declared_schema(columns: tuple[ColumnDefinition, ...], types: Mapping[str, SqlType]) -> Schema:
    """The columns of a statement, with their types resolved. Raises SqlError for names that are
    reserved or given twice, and for headers of the wrong type."""
    key: list[Column] = []
    value: list[Column] = []
    headers: list[HeaderColumn] = []
    seen: set[str] = set()
    for column in columns:
        if column.name in SYSTEM_COLUMNS:
            raise SqlError(
                f"'{column.name}' is a reserved column name. "
                "You cannot use it as a name for a column."
            )
        if column.name in seen:
            raise SqlError(f"Duplicate column names: `{column.name}`")
        seen.add(column.name)
        type_ = resolved_type(column.type, types)
        if column.kind is ColumnKind.HEADERS:
            _check_header(column, type_)
            headers.append(HeaderColumn(column.name, type_, column.header))
        elif column.kind is ColumnKind.VALUE:
            value.append(Column(column.name, type_))
        else:
            key.append(Column(column.name, type_))
    return Schema(tuple(key), tuple(value), tuple(headers))


def _check_header(column: ColumnDefinition, type_: SqlType) -> None:
    if column.header is not None and type_ != BYTES:
        raise SqlError(
            f"Invalid type for HEADER('{column.header}') column: expected BYTES, got {type_}"
        )
    if column.header is None and type_ != HEADERS_TYPE:
        raise SqlError(f"Invalid type for HEADERS column: expected {HEADERS_TYPE}, got {type_}")


def _check_schema_ids(properties: SourceProperties, declared: Schema) -> None:
    for part, columns in (("KEY", declared.key), ("VALUE", declared.value)):
        if columns and properties.number(f"{part}_SCHEMA_ID") is not None:
            raise SqlError(
                f"Table elements and {part}_SCHEMA_ID cannot both exist for create statement."
            )


def _with_inferred(
    declared: Schema,
    topic: str,
    key: FormatInfo,
    value: FormatInfo,
    properties: SourceProperties,
    registry: SchemaRegistry | None,
) -> Schema:
    key_columns, value_columns = declared.key, declared.value
    if not key_columns and key.format.schemas:
        key_columns = infer_columns(key, topic, registry, is_key=True)
    if not value_columns and value.format.schemas:
        unwrapped = properties.wrap_single_value is False
        value_columns = infer_columns(value, topic, registry, is_key=False, unwrapped=unwrapped)
    return Schema(key_columns, value_columns, declared.headers)


def _check_columns(statement: CreateSource, schema: Schema) -> None:
    if not schema.value and not statement.columns and not schema.key:
        raise SqlError("No columns supplied.")
    if statement.kind.value == "TABLE" and not schema.key:
        raise SqlError("Tables require a PRIMARY KEY. Please define the PRIMARY KEY.")


def check_timestamp(timestamp: TimestampColumn | None, schema: Schema) -> None:
    """Raise SqlError if the column can't give the time of rows."""
    if timestamp is None:
        return
    column = schema.find(timestamp.name)
    if column is None:
        raise SqlError(
            "The TIMESTAMP column set in the WITH clause does not exist in the schema: "
            f"'{timestamp.name}'"
        )
    if column.type == STRING:
        if timestamp.format is None:
            raise SqlError(
                "A String timestamp field has been specified without also specifying the "
                "timestamp_format"
            )
    elif column.type not in (BIGINT, TIMESTAMP):
        raise SqlError(
            f"Timestamp column, `{timestamp.name}`, should be LONG(INT64), TIMESTAMP, or a String "
            "with a timestamp_format specified"
        )
    elif timestamp.format is not None:
        raise SqlError(
            "'timestamp_format' set in the WITH clause can only be used when the timestamp column "
            "is of type STRING."
        )
