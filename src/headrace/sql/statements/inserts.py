"""INSERT VALUES: one row, computed and written."""

from __future__ import annotations

from typing import Any

from headrace.sql.errors import SqlError
from headrace.sql.expressions import Scope, compile_expression, evaluator
from headrace.sql.formats import row_serde
from headrace.sql.metastore import DataSource
from headrace.sql.schema import Column
from headrace.sql.statements.outcome import InsertedRow, Outcome
from headrace.sql.statements.session import Session
from headrace.sql.syntax.ast import Cast, Expression, InsertValues
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)


def insert_values(session: Session, statement: InsertValues, sql: str) -> Outcome:
    source = _target(session, statement)
    columns = _columns(source, statement)
    values: dict[str, Any] = {}
    for column, expression in zip(columns, statement.values, strict=True):
        values[column.name] = _value(session, column, expression)
    timestamp = values.pop("ROWTIME", None)
    key = tuple([values.get(column.name) for column in source.schema.key])
    if source.is_table and None in key:
        names = ", ".join(column.name for column in source.schema.key)
        raise SqlError(f"Value for primary key column(s) {names} is required for tables")
    row = tuple([values.get(column.name) for column in source.schema.value])
    key_serde = row_serde(source.key_format, source.topic, session.registry)
    value_serde = row_serde(source.value_format, source.topic, session.registry)
    no_key = not key or all(part is None for part in key)
    return InsertedRow(
        source.topic,
        None if no_key else key_serde.serialize(key),
        value_serde.serialize(row),
        timestamp,
    )


def _target(session: Session, statement: InsertValues) -> DataSource:
    name = statement.target
    source = session.metastore.find(name)
    if source is None:
        raise SqlError(
            f"Cannot insert values into an unknown stream/table: `{name}`"
            f"{session.metastore.hint(name)}"
        )
    kind = source.kind.value.lower()
    if source.read_only:
        raise SqlError(f"Cannot insert values into read-only {kind}: {name}")
    if source.window is not None:
        raise SqlError(f"Cannot insert values into windowed {kind}!")
    return source


def _columns(source: DataSource, statement: InsertValues) -> list[Column]:
    headers = {column.name for column in source.schema.headers}
    wrong = [name for name in statement.columns if name in headers]
    if wrong:
        raise SqlError(f"Cannot insert into HEADER columns: {', '.join(wrong)}")
    if not statement.columns:
        columns = [*source.schema.key, *source.schema.value]
        if len(columns) != len(statement.values):
            names = ", ".join(f"`{column.name}`" for column in columns)
            raise SqlError(
                f"Expected a value for each column. Expected Columns: [{names}]. "
                f"Got ({', '.join(map(format_expression, statement.values))})"
            )
        return columns
    if len(statement.columns) != len(statement.values):
        raise SqlError(
            "Failed to prepare statement: Expected number columns and values to match: "
            f"{len(statement.columns)}, {len(statement.values)}"
        )
    found = []
    for name in statement.columns:
        if name in ("ROWPARTITION", "ROWOFFSET"):
            raise SqlError(f"Inserting into column `{name}` is not allowed.")
        column = Column("ROWTIME", BIGINT) if name == "ROWTIME" else source.schema.find(name)
        if column is None:
            raise SqlError(f"Column name {name} does not exist.")
        found.append(column)
    return found


def _value(session: Session, column: Column, expression: Expression) -> Any:
    scope = Scope((), {}, session.functions)
    given = compile_expression(expression, scope).type
    if given is None:
        return None
    if not can_become(given, column.type):
        raise SqlError(
            f"Expected type {column.type} for field `{column.name}` but got "
            f"{given}({format_expression(expression)})"
        )
    if given != column.type:
        expression = Cast(expression, column.type)
    return evaluator(compile_expression(expression, scope), _raise)()


_WIDENING = (INTEGER, BIGINT, DOUBLE)
_FROM_TEXT = (DATE, TIME, TIMESTAMP, BYTES)


def can_become(given: SqlType, wanted: SqlType) -> bool:
    """Whether a value can be put into a column of another type without asking."""
    if given == wanted:
        return True
    match given, wanted:
        case ArrayType(), ArrayType():
            return can_become(given.element, wanted.element)
        case MapType(), MapType():
            return can_become(given.key, wanted.key) and can_become(given.value, wanted.value)
        case StructType(), StructType():
            types = {field.name: field.type for field in wanted.fields}
            return all(
                can_become(field.type, types[field.name])
                for field in given.fields
                if field.name in types  # others are left out
            )
    if given == STRING:
        return wanted in _FROM_TEXT or isinstance(wanted, DecimalType)
    if isinstance(given, DecimalType):
        return isinstance(wanted, DecimalType) or wanted == DOUBLE
    if given in _WIDENING:
        if isinstance(wanted, DecimalType):
            return given != DOUBLE
        return wanted in _WIDENING and _WIDENING.index(given) < _WIDENING.index(wanted)
    return False


def _raise(what: str, error: Exception) -> None:
    raise SqlError(what) from error
