"""JSON_SR: JSON in Confluent's wire format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headrace.sql.formats.catalog import SCHEMA_ID
from headrace.sql.formats.codec import Codec
from headrace.sql.formats.json import json_writer
from headrace.sql.formats.json_reader import json_readers
from headrace.sql.formats.json_schema import json_schema, parsed, sql_type
from headrace.sql.formats.registry import SchemaRegistry, subject
from headrace.sql.formats.shape import RowFormat
from headrace.sql.formats.wire import PREFIX_SIZE, needed, prefix, schema_id, schema_of
from headrace.sql.schema import Column
from headrace.sql.types import StructType


def json_sr_codec(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> Codec:
    """The codec of rows as JSON with a schema id before it."""
    read_json, _ = json_readers(rows)

    def read(data: bytes) -> tuple[Any, ...] | None:
        schema_id(data)
        return read_json(data[PREFIX_SIZE:])

    return Codec(_Writer(rows, topic, needed(registry, "JSON_SR")).write, read)


class _Writer:
    """Writes rows. The schema is looked up, or registered, when the first row comes."""

    def __init__(self, rows: RowFormat, topic: str, registry: SchemaRegistry) -> None:
        self._rows = rows
        self._subject = subject(topic, is_key=rows.is_key)
        self._registry = registry
        self._prepared: tuple[bytes, tuple[None, ...], Callable[[Any], bytes | None]] | None = None

    def write(self, row: tuple[Any, ...]) -> bytes | None:
        before, missing, write_json = self._prepared or self._prepare()
        data = write_json(row + missing)
        return None if data is None else before + data

    def _prepare(self) -> tuple[bytes, tuple[None, ...], Callable[[Any], bytes | None]]:
        """Columns that only the schema of a given id has are written as null."""
        given = self._rows.info.get(SCHEMA_ID)
        rows = self._rows
        missing: list[Column] = []
        if given is None:
            id = self._registry.register(self._subject, json_schema(rows))
        else:
            id = int(given)
            schema = parsed(schema_of(self._registry, id), self._registry)
            type = sql_type(schema, keep_case=True)
            if isinstance(type, StructType) and not rows.is_unwrapped:
                known = {column.name for column in rows.columns}
                missing = [Column(f.name, f.type) for f in type.fields if f.name not in known]
        write_json = json_writer(replace(rows, columns=(*rows.columns, *missing)))
        self._prepared = (prefix(id), (None,) * len(missing), write_json)
        return self._prepared
