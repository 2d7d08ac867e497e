"""Confluent's wire format: a zero byte and the schema's id before the data."""

from __future__ import annotations

from struct import Struct

from headrace.core.errors import SerializationError
from headrace.sql.formats.catalog import FormatError
from headrace.sql.formats.registry import SchemaRegistry, SchemaText

_PREFIX = Struct(">bI")
PREFIX_SIZE = _PREFIX.size


def prefix(schema_id: int) -> bytes:
    """The bytes that go before the data."""
    return _PREFIX.pack(0, schema_id)


def schema_id(data: bytes) -> int:
    """The id of the schema that the data was written with."""
    if len(data) < PREFIX_SIZE or data[0] != 0:
        raise SerializationError("Unknown magic byte! The data has no schema id before it.")
    id: int = _PREFIX.unpack_from(data)[1]
    return id


def needed(registry: SchemaRegistry | None, format: str) -> SchemaRegistry:
    """The registry, which a format can't do without."""
    if registry is None:
        raise FormatError(
            f"{format} needs a schema registry. Set ksql.schema.registry.url to its address."
        )
    return registry


def schema_of(registry: SchemaRegistry, id: int) -> SchemaText:
    """The schema of an id that came with data."""
    schema = registry.by_id(id)
    if schema is None:
        raise SerializationError(f"The schema registry has no schema with id {id}")
    return schema
