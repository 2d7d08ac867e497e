"""Rows that clients bring as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.errors import HeadraceError
from headrace.core.record import ProducerRecord
from headrace.ksql.cluster import Cluster
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.json_values import by_column, column_name, sql_value
from headrace.sql.engine import Engine
from headrace.sql.formats import row_serde
from headrace.sql.metastore import DataSource


class RowInserts:
    """Writes rows to the topic of one source."""

    def __init__(self, source: DataSource, engine: Engine, cluster: Cluster) -> None:
        self._source = source
        self._cluster = cluster
        self._key = row_serde(source.key_format, source.topic, engine.registry)
        self._value = row_serde(source.value_format, source.topic, engine.registry)

    def insert(self, row: Mapping[str, Any]) -> None:
        values = by_column(row)
        schema = self._source.schema
        for column in schema.key:
            if values.get(column.name) is None:
                raise KsqlError(
                    ErrorCode.BAD_REQUEST, f"Key field must be specified: {column.name}"
                )
        key = tuple([sql_value(values[each.name], each.type) for each in schema.key])
        content = tuple([sql_value(values.get(each.name), each.type) for each in schema.value])
        try:
            record = ProducerRecord(
                self._source.topic,
                None,
                self._key.serialize(key) if key else None,
                self._value.serialize(content),
                None,
            )
        except HeadraceError as error:
            raise KsqlError(ErrorCode.BAD_REQUEST, str(error)) from error
        try:
            self._cluster.produce(record)
        except HeadraceError as error:
            raise KsqlError(ErrorCode.SERVER_ERROR, str(error)) from error


def inserts_into(name: str, engine: Engine, cluster: Cluster) -> RowInserts:
    """Begin to insert. Raises KsqlError if nothing can be inserted there."""
    source = engine.metastore.find(column_name(name))
    if source is None:
        raise KsqlError(
            ErrorCode.BAD_STATEMENT, f"Cannot insert values into an unknown stream/table: {name}"
        )
    kind = source.kind.value.lower()
    if source.window is not None:
        raise KsqlError(ErrorCode.BAD_STATEMENT, f"Cannot insert values into windowed {kind}")
    if source.read_only:
        message = f"Cannot insert values into read-only {kind}: {source.name}"
        raise KsqlError(ErrorCode.BAD_STATEMENT, message)
    if source.schema.headers:
        message = f"Cannot insert values into {kind} with header columns"
        raise KsqlError(ErrorCode.BAD_STATEMENT, message)
    return RowInserts(source, engine, cluster)
