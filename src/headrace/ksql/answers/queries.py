"""SHOW QUERIES and EXPLAIN."""

from __future__ import annotations

from typing import Any

from headrace.ksql.answers.context import Context
from headrace.ksql.answers.schemas import fields_json, type_json
from headrace.ksql.entities import Entity
from headrace.ksql.running import QueryState
from headrace.sql.errors import SqlError
from headrace.sql.queries import PersistentQuery
from headrace.sql.syntax import ast
from headrace.sql.syntax.parser import ParsedStatement
from headrace.sql.syntax.statement_formatter import format_statement


def query_json(context: Context, query: PersistentQuery) -> dict[str, Any]:
    """A persistent query, as lists have it."""
    state = context.state(query.id).value
    return {
        "queryString": query.sql,
        "sinks": [] if query.sink is None else [query.sink],
        "sinkKafkaTopics": [] if query.sink_topic is None else [query.sink_topic],
        "id": query.id,
        "statusCount": {state: 1},
        "queryType": "PERSISTENT",
        "state": state,
    }


def show_queries(context: Context, extended: bool, sql: str) -> Entity:
    """`SHOW QUERIES`."""
    queries = list(context.engine.queries.values())
    if extended:
        described = [query_description(context, query) for query in queries]
        return Entity("query_descriptions", sql, {"queryDescriptions": described})
    listed = [query_json(context, query) for query in queries]
    running = QueryState.RUNNING.value
    listed += [
        {
            "queryString": push.sql,
            "sinks": [],
            "sinkKafkaTopics": [],
            "id": push.id,
            "statusCount": {running: 1},
            "queryType": "PUSH",
            "state": running,
        }
        for push in context.pushes
    ]
    return Entity("queries", sql, {"queries": listed})


def explain(context: Context, statement: ast.Explain, sql: str) -> Entity:
    """`EXPLAIN query_id` and `EXPLAIN statement`. The engine is one to try things on."""
    what = statement.what
    if isinstance(what, str):
        query = context.engine.queries.get(what)
        if query is None:
            raise SqlError(
                f"Query with id:{what} does not exist, use SHOW QUERIES to view the full set of "
                "queries."
            )
        return Entity(
            "queryDescription", sql, {"queryDescription": query_description(context, query)}
        )
    parsed = ParsedStatement(what, format_statement(what))
    if isinstance(what, ast.QueryStatement):
        described = _of_select(context, parsed, what)
    else:
        if not isinstance(what, ast.CreateAsSelect | ast.InsertInto):
            raise SqlError("The provided statement does not run a ksql query")
        outcome = context.engine.execute(parsed, context.overrides)
        if not isinstance(outcome, PersistentQuery):
            raise SqlError("The provided statement does not run a ksql query")
        described = query_description(context, outcome, planned=True)
    return Entity("queryDescription", sql, {"queryDescription": described})


def query_description(
    context: Context, query: PersistentQuery, *, planned: bool = False
) -> dict[str, Any]:
    """All about a query. `planned`: it is not running."""
    sink = None if query.sink is None else context.engine.metastore.find(query.sink)
    state = None if planned else context.state(query.id).value
    return {
        "id": query.id,
        "statementText": query.sql,
        "windowType": None if sink is None or sink.window is None else sink.window.kind.value,
        "fields": [] if sink is None else fields_json(sink.schema),
        "sources": list(query.sources),
        "sinks": [] if query.sink is None else [query.sink],
        "topology": str(query.topology.describe()),
        "executionPlan": "",
        "overriddenProperties": {},
        "ksqlHostQueryStatus": {} if state is None else {context.host: state},
        "queryType": "PERSISTENT",
        "queryErrors": [] if planned else [e.json() for e in context.errors(query.id)],
        "tasksMetadata": [],
        "consumerGroupId": query.application_id,
        "state": state,
    }


def _of_select(
    context: Context, parsed: ParsedStatement, statement: ast.QueryStatement
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": "",
        "statementText": parsed.text,
        "windowType": None,
        "sinks": [],
        "executionPlan": "",
        "overriddenProperties": {},
        "ksqlHostQueryStatus": {},
        "queryErrors": [],
        "tasksMetadata": [],
        "consumerGroupId": "",
        "state": None,
    }
    if statement.query.emit is None:
        pull = context.engine.pull(parsed, context.overrides)
        fields = [
            {"name": column.name, "schema": type_json(column.type)}
            | ({"type": "KEY"} if column.note == "KEY" else {})
            for column in pull.columns
        ]
        return described | {
            "queryType": "PULL",
            "fields": fields,
            "sources": [pull.source.name],
            "topology": "",
        }
    push = context.engine.push(parsed, "transient_explained", context.overrides)
    topology = push.topology(lambda row, is_tombstone: None)
    topics = set(push.source_topics)
    return described | {
        "queryType": "PUSH",
        "fields": [
            {"name": column.name, "schema": type_json(column.type)} for column in push.columns
        ],
        "sources": [each.name for each in context.engine.metastore if each.topic in topics],
        "topology": str(topology.describe()),
    }
