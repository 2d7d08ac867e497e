"""Statements as text. What is parsed from it is the same statement again."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.sql.syntax import ast
from headrace.sql.syntax.ast import ColumnKind, Expression, Properties, Query, Statement
from headrace.sql.syntax.formatter import (
    format_expression,
    format_name,
    format_string,
    format_type,
)


def format_statement(statement: Statement) -> str:
    """A statement, with its semicolon."""
    return f"{_statement(statement)};"


def format_query(query: Query) -> str:
    parts = [
        f"SELECT {', '.join(map(_select_item, query.select))}",
        f"FROM {_relation(query.source)}",
    ]
    if query.window is not None:
        parts.append(f"WINDOW {_window(query.window)}")
    if query.where is not None:
        parts.append(f"WHERE {format_expression(query.where)}")
    if query.group_by:
        parts.append(f"GROUP BY {_listed(query.group_by)}")
    if query.partition_by:
        parts.append(f"PARTITION BY {_listed(query.partition_by)}")
    if query.having is not None:
        parts.append(f"HAVING {format_expression(query.having)}")
    if query.emit is not None:
        parts.append(f"EMIT {query.emit.value}")
    if query.limit is not None:
        parts.append(f"LIMIT {query.limit}")
    return " ".join(parts)


def _select_item(item: ast.SelectItem) -> str:
    match item:
        case ast.SingleColumn(expression, None):
            return format_expression(expression)
        case ast.SingleColumn(expression, alias):
            return f"{format_expression(expression)} AS {format_name(str(alias))}"
        case ast.AllColumns(None):
            return "*"
        case ast.AllColumns(source):
            return f"{format_name(str(source))}.*"
        case ast.StructAll(base):
            return f"{format_expression(base)}->*"
        case _:
            raise TypeError(f"{type(item).__name__} can't be selected")


def _relation(relation: ast.Relation) -> str:
    match relation:
        case ast.AliasedSource(source, alias):
            name = format_name(source)
            return name if source == alias else f"{name} AS {format_name(alias)}"
        case ast.Join(kind, left, right, criteria, within):
            outer = "" if kind is ast.JoinKind.INNER else " OUTER"
            window = "" if within is None else f" {_within(within)}"
            return (
                f"{_relation(left)} {kind.value}{outer} JOIN {_relation(right)}{window} "
                f"ON {format_expression(criteria)}"
            )
        case _:
            raise TypeError(f"{type(relation).__name__} is no relation")


def _within(within: ast.Within) -> str:
    grace = "" if within.grace is None else f" GRACE PERIOD {_duration(within.grace)}"
    if within.before == within.after:
        return f"WITHIN {_duration(within.before)}{grace}"
    return f"WITHIN ({_duration(within.before)}, {_duration(within.after)}){grace}"


def _window(window: ast.WindowExpression) -> str:
    match window:
        case ast.TumblingWindow(size=size):
            kind, parts = "TUMBLING", [f"SIZE {_duration(size)}"]
        case ast.HoppingWindow(size=size, advance=advance):
            kind, parts = "HOPPING", [f"SIZE {_duration(size)}", f"ADVANCE BY {_duration(advance)}"]
        case ast.SessionWindow(gap=gap):
            kind, parts = "SESSION", [_duration(gap)]
        case _:
            raise TypeError(f"{type(window).__name__} is no window")
    if window.retention is not None:
        parts.append(f"RETENTION {_duration(window.retention)}")
    if window.grace is not None:
        parts.append(f"GRACE PERIOD {_duration(window.grace)}")
    return f"{kind} ({', '.join(parts)})"


def _duration(duration: ast.Duration) -> str:
    return f"{duration.amount} {duration.unit.name}"


def _statement(statement: Statement) -> str:
    match statement:
        case ast.QueryStatement(query):
            return format_query(query)
        case ast.CreateSource():
            return _create_source(statement)
        case ast.CreateAsSelect():
            return (
                f"CREATE {_if(statement.or_replace, 'OR REPLACE ')}{statement.kind.value} "
                f"{_if(statement.if_not_exists, 'IF NOT EXISTS ')}{format_name(statement.name)}"
                f"{_with(statement.properties)} AS {format_query(statement.query)}"
            )
        case ast.InsertInto(target, query, properties):
            return f"INSERT INTO {format_name(target)}{_with(properties)} {format_query(query)}"
        case ast.InsertValues(target, columns, values):
            return f"INSERT INTO {_values(target, columns, 'VALUES', values)}"
        case ast.DropSource(kind, name, if_exists, delete_topic):
            return (
                f"DROP {kind.value} {_if(if_exists, 'IF EXISTS ')}{format_name(name)}"
                f"{_if(delete_topic, ' DELETE TOPIC')}"
            )
        case ast.AlterSource(kind, name, columns):
            added = ", ".join(f"ADD COLUMN {_column(column)}" for column in columns)
            return f"ALTER {kind.value} {format_name(name)} {added}"
        case ast.AlterSystem(name, value):
            return f"ALTER SYSTEM {format_string(name)}={format_string(value)}"
        case ast.CreateType(name, type_, if_not_exists):
            head = f"CREATE TYPE {_if(if_not_exists, 'IF NOT EXISTS ')}{format_name(name)}"
            return f"{head} AS {format_type(type_)}"
        case ast.DropType(name, if_exists):
            return f"DROP TYPE {_if(if_exists, 'IF EXISTS ')}{format_name(name)}"
        case ast.CreateConnector(kind, name, properties, if_not_exists):
            return (
                f"CREATE {kind.value} CONNECTOR {_if(if_not_exists, 'IF NOT EXISTS ')}"
                f"{format_name(name)} WITH ({_properties(properties)})"
            )
        case ast.DropConnector(name, if_exists):
            return f"DROP CONNECTOR {_if(if_exists, 'IF EXISTS ')}{format_name(name)}"
        case _:
            return _inquiry(statement)


def _create_source(statement: ast.CreateSource) -> str:
    columns = ", ".join(map(_column, statement.columns))
    return (
        f"CREATE {_if(statement.or_replace, 'OR REPLACE ')}{_if(statement.read_only, 'SOURCE ')}"
        f"{statement.kind.value} {_if(statement.if_not_exists, 'IF NOT EXISTS ')}"
        f"{format_name(statement.name)}{_if(bool(columns), f' ({columns})')}"
        f"{_with(statement.properties)}"
    )


def _inquiry(statement: Statement) -> str:
    """Statements that only ask."""
    match statement:
        case ast.Show(what, extended):
            return f"SHOW {what.value}{_if(extended, ' EXTENDED')}"
        case ast.DescribeSource(name, extended):
            return f"DESCRIBE {format_name(name)}{_if(extended, ' EXTENDED')}"
        case ast.DescribeAll(kind, extended):
            return f"DESCRIBE {kind.value}S{_if(extended, ' EXTENDED')}"
        case ast.DescribeFunction(name):
            return f"DESCRIBE FUNCTION {format_name(name)}"
        case ast.DescribeConnector(name):
            return f"DESCRIBE CONNECTOR {format_name(name)}"
        case ast.Explain(what):
            return f"EXPLAIN {format_name(what) if isinstance(what, str) else _statement(what)}"
        case ast.PrintTopic(topic, from_beginning, interval, limit):
            return (
                f"PRINT {format_string(topic)}{_if(from_beginning, ' FROM BEGINNING')}"
                f"{_if(interval is not None, f' INTERVAL {interval}')}"
                f"{_if(limit is not None, f' LIMIT {limit}')}"
            )
        case _:
            return _session(statement)


def _session(statement: Statement) -> str:
    """Statements about queries and sessions."""
    match statement:
        case ast.ControlQuery(action, query_id):
            return f"{action.value} {'ALL' if query_id is None else format_name(query_id)}"
        case ast.SetProperty(name, value):
            return f"SET {format_string(name)}={format_string(value)}"
        case ast.UnsetProperty(name):
            return f"UNSET {format_string(name)}"
        case ast.DefineVariable(name, value):
            return f"DEFINE {format_name(name)}={format_string(value)}"
        case ast.UndefineVariable(name):
            return f"UNDEFINE {format_name(name)}"
        case _:
            return _assertion(statement)


def _assertion(statement: Statement) -> str:
    """Statements of tests."""
    match statement:
        case ast.AssertTopic(name, exists, properties, timeout):
            return (
                f"ASSERT {_if(not exists, 'NOT EXISTS ')}TOPIC {format_string(name)}"
                f"{_with(properties)}{_timeout(timeout)}"
            )
        case ast.AssertSchema(subject, id_, exists, timeout):
            return (
                f"ASSERT {_if(not exists, 'NOT EXISTS ')}SCHEMA"
                f"{'' if subject is None else f' SUBJECT {format_string(subject)}'}"
                f"{'' if id_ is None else f' ID {id_}'}{_timeout(timeout)}"
            )
        case ast.AssertValues(target, columns, values):
            return f"ASSERT VALUES {_values(target, columns, 'VALUES', values)}"
        case ast.AssertTombstone(target, columns, values):
            return f"ASSERT NULL VALUES {_values(target, columns, 'KEY', values)}"
        case ast.AssertSource(kind, name, columns, properties):
            listed = ", ".join(map(_column, columns))
            head = f"ASSERT {kind.value} {format_name(name)}"
            return f"{head}{_if(bool(listed), f' ({listed})')}{_with(properties)}"
        case ast.RunScript(path):
            return f"RUN SCRIPT {format_string(path)}"
        case _:
            raise TypeError(f"{type(statement).__name__} is no statement")


def _column(column: ast.ColumnDefinition) -> str:
    text = f"{format_name(column.name)} {format_type(column.type)}"
    if column.header is not None:
        return f"{text} HEADER({format_string(column.header)})"
    return text if column.kind is ColumnKind.VALUE else f"{text} {column.kind.value}"


def _values(
    target: str, columns: tuple[str, ...], word: str, values: tuple[Expression, ...]
) -> str:
    names = f" ({', '.join(map(format_name, columns))})" if columns else ""
    return f"{format_name(target)}{names} {word} ({_listed(values)})"


def _with(properties: Properties) -> str:
    return f" WITH ({_properties(properties)})" if properties else ""


def _properties(properties: Properties) -> str:
    return ", ".join(f"{format_name(name)}={format_expression(v)}" for name, v in properties)


def _timeout(timeout: ast.Duration | None) -> str:
    return "" if timeout is None else f" TIMEOUT {_duration(timeout)}"


def _listed(expressions: Iterable[Expression]) -> str:
    return ", ".join(map(format_expression, expressions))


def _if(condition: bool, text: str) -> str:
    return text if condition else ""
