"""Statements with the columns that they have left to the schema registry.

What the registry says may be something else when a command is executed again. So a command has the
columns that were found when it was accepted.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.metastore import DataSource
from headrace.sql.syntax.ast import ColumnDefinition, ColumnKind, CreateSource


def with_columns(statement: CreateSource, source: DataSource) -> CreateSource:
    """The statement with the columns of what it made. Where it names a schema by its id, that is
    the same schema for ever, and it stays as it is."""
    given = {name.upper() for name, _ in statement.properties}
    declared = {column.name for column in statement.columns}
    key_kind = ColumnKind.PRIMARY_KEY if source.is_table else ColumnKind.KEY
    key = [
        ColumnDefinition(column.name, column.type, key_kind)
        for column in source.schema.key
        if column.name not in declared and "KEY_SCHEMA_ID" not in given
    ]
    value = [
        ColumnDefinition(column.name, column.type)
        for column in source.schema.value
        if column.name not in declared and "VALUE_SCHEMA_ID" not in given
    ]
    if not key and not value:
        return statement
    return replace(statement, columns=(*key, *statement.columns, *value))
