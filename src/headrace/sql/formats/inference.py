"""Columns from the schema registry, and schemas of columns for it."""

from __future__ import annotations

from collections.abc import Callable

from headrace.sql.formats import avro_schema, json_schema, proto_schema
from headrace.sql.formats.catalog import (
    FULL_SCHEMA_NAME,
    SCHEMA_ID,
    Feature,
    FormatError,
    FormatInfo,
)
from headrace.sql.formats.registry import SchemaRegistry, SchemaText, subject
from headrace.sql.formats.shape import RowFormat
from headrace.sql.formats.wire import needed
from headrace.sql.schema import Column
from headrace.sql.types import SqlType, StructType


def infer_columns(
    info: FormatInfo,
    topic: str,
    registry: SchemaRegistry | None,
    *,
    is_key: bool,
    unwrapped: bool = False,
) -> tuple[Column, ...]:
    """The columns of a topic's keys or values, from the newest schema of its subject, or from the
    schema whose id the info has (then the names keep their case).

    `unwrapped`: the schema is that of a single column, which is called ROWVAL. A key is unwrapped
    whenever its format can be; its column is called ROWKEY.

    Raises FormatError if there is no schema, or if it can't be had in SQL.
    """
    registry = needed(registry, info.name)
    given = info.get(SCHEMA_ID)
    schema = _schema(info, topic, registry, is_key=is_key)
    type = _type_of(schema, registry, info, keep_case=given is not None)
    if unwrapped or (is_key and info.format.supports(Feature.UNWRAP_SINGLES)):
        return (Column("ROWKEY" if is_key else "ROWVAL", type),)
    if not isinstance(type, StructType):
        raise FormatError(
            f"The schema of topic '{topic}' is {type}, which has no columns in it. "
            "Use WRAP_SINGLE_VALUE=false to have it as one column."
        )
    return tuple(Column(field.name, field.type) for field in type.fields)


def register(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> int | None:
    """Register the schema of these columns for a topic. Gives its id, or None if the format has no
    schemas in the registry, or there are no columns. A schema id of the info stays as it is."""
    if not rows.info.format.schemas or not rows.columns:
        return None
    given = rows.info.get(SCHEMA_ID)
    if given is not None:
        return int(given)
    registry = needed(registry, rows.info.name)
    return registry.register(subject(topic, is_key=rows.is_key), schema_of_columns(rows))


def schema_of_columns(rows: RowFormat) -> SchemaText:
    """The schema that rows are written with if none is given."""
    return _SCHEMAS[rows.info.name](rows)


def check_physical_schema(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> None:
    """Raise FormatError if the schema whose id the info has doesn't have these columns, in this
    order. It may have more, after them."""
    if rows.info.get(SCHEMA_ID) is None:
        return
    actual = infer_columns(
        rows.info, topic, registry, is_key=rows.is_key, unwrapped=rows.is_unwrapped
    )
    if rows.is_unwrapped:
        wrong = [c for c, other in zip(rows.columns, actual, strict=True) if c.type != other.type]
    else:
        padded = (*actual, *(None for _ in rows.columns))
        wrong = [c for c, other in zip(rows.columns, padded, strict=False) if c != other]
    if wrong:
        role = "key" if rows.is_key else "value"
        raise FormatError(
            f"The following {role} columns are changed, missing or reordered: "
            f"[{', '.join(map(str, wrong))}]. "
            f"Schema from schema registry is [{', '.join(map(str, actual))}]"
        )


def _schema(info: FormatInfo, topic: str, registry: SchemaRegistry, *, is_key: bool) -> SchemaText:
    role = "keys" if is_key else "values"
    given = info.get(SCHEMA_ID)
    if given is not None:
        schema = registry.by_id(int(given))
        if schema is None:
            raise FormatError(
                f"Schema for message {role} on topic '{topic}' does not exist in the Schema "
                f"Registry.\nSchema Id: {given}"
            )
        return schema
    name = subject(topic, is_key=is_key)
    latest = registry.latest(name)
    if latest is None:
        raise FormatError(
            f"Schema for message {role} on topic '{topic}' does not exist in the Schema "
            f"Registry.\nSubject: {name}\nPossible causes include:\n"
            "- The topic itself does not exist\n\t-> Use SHOW TOPICS; to check\n"
            f"- Messages on the topic are not serialized using a format Schema Registry supports\n"
            f"\t-> Use PRINT '{topic}' FROM BEGINNING; to verify\n"
            "- Messages on the topic have not been serialized using a Confluent Schema Registry "
            "supported serializer\n"
            "- The schema is registered on a different instance of the Schema Registry\n"
            "- You do not have permissions to access the Schema Registry."
        )
    return latest.schema


def _type_of(
    schema: SchemaText, registry: SchemaRegistry, info: FormatInfo, *, keep_case: bool
) -> SqlType:
    kind = {"JSON_SR": "JSON"}.get(info.name, info.name)
    if schema.kind != kind:
        raise FormatError(f"The schema in the registry is {schema.kind}, not {kind}")
    if kind == "AVRO":
        return avro_schema.sql_type(avro_schema.parsed(schema, registry), keep_case=keep_case)
    if kind == "JSON":
        return json_schema.sql_type(json_schema.parsed(schema, registry), keep_case=keep_case)
    message = proto_schema.message_descriptor(schema, registry, info.get(FULL_SCHEMA_NAME))
    return proto_schema.message_type(message, keep_case=keep_case)


_SCHEMAS: dict[str, Callable[[RowFormat], SchemaText]] = {
    "AVRO": avro_schema.avro_schema,
    "JSON_SR": json_schema.json_schema,
    "PROTOBUF": proto_schema.protobuf_schema,
}
