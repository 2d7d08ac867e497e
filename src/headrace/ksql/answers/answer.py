"""Finds the answer of a statement that only asks."""

from __future__ import annotations

from headrace.ksql.answers.connectors import (
    create_connector,
    describe_connector,
    drop_connector,
    show_connectors,
    show_plugins,
)
from headrace.ksql.answers.context import Context
from headrace.ksql.answers.lists import (
    describe_function,
    show_functions,
    show_properties,
    show_topics,
    show_types,
    show_variables,
)
from headrace.ksql.answers.queries import explain, show_queries
from headrace.ksql.answers.sources import describe_all, describe_source, show_sources
from headrace.ksql.entities import Entity
from headrace.sql.syntax import ast
from headrace.sql.syntax.ast import Listed, SourceKind


def answer(context: Context, statement: ast.Statement, sql: str) -> Entity | None:
    """None, if it isn't such a statement. Raises SqlError if there is no answer."""
    match statement:
        case ast.Show(what, extended):
            return _show(context, what, extended, sql)
        case ast.DescribeSource():
            return describe_source(context, statement, sql)
        case ast.DescribeAll():
            return describe_all(context, statement, sql)
        case ast.DescribeFunction():
            return describe_function(context, statement, sql)
        case ast.Explain():
            return explain(context, statement, sql)
        case _:
            return None


def ask_connect(context: Context, statement: ast.Statement, sql: str) -> Entity | None:
    """The same for statements that are for Kafka Connect, some of which change things there."""
    match statement:
        case ast.CreateConnector():
            return create_connector(context, statement, sql)
        case ast.DropConnector():
            return drop_connector(context, statement, sql)
        case ast.DescribeConnector():
            return describe_connector(context, statement, sql)
        case ast.Show(Listed.CONNECTORS):
            return show_connectors(context, None, sql)
        case ast.Show(Listed.SOURCE_CONNECTORS):
            return show_connectors(context, "source", sql)
        case ast.Show(Listed.SINK_CONNECTORS):
            return show_connectors(context, "sink", sql)
        case ast.Show(Listed.CONNECTOR_PLUGINS):
            return show_plugins(context, sql)
        case _:
            return None


def _show(context: Context, what: Listed, extended: bool, sql: str) -> Entity | None:
    match what:
        case Listed.STREAMS:
            return show_sources(context, SourceKind.STREAM, extended, sql)
        case Listed.TABLES:
            return show_sources(context, SourceKind.TABLE, extended, sql)
        case Listed.TOPICS | Listed.ALL_TOPICS:
            all_of_them = what is Listed.ALL_TOPICS
            return show_topics(context, all_of_them=all_of_them, extended=extended, sql=sql)
        case Listed.PROPERTIES:
            return show_properties(context, sql)
        case Listed.FUNCTIONS:
            return show_functions(context, sql)
        case Listed.TYPES:
            return show_types(context, sql)
        case Listed.VARIABLES:
            return show_variables(context, sql)
        case Listed.QUERIES:
            return show_queries(context, extended, sql)
        case _:
            return None
