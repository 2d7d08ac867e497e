"""SHOW of what isn't a source or a query."""

from __future__ import annotations

from typing import Any

from headrace.core.known_keys import shown_value
from headrace.ksql.answers.context import Context
from headrace.ksql.answers.schemas import type_json
from headrace.ksql.entities import Entity
from headrace.sql.errors import SqlError
from headrace.sql.functions.function import Overload
from headrace.sql.settings import STREAMS_PREFIX, Settings
from headrace.sql.syntax import ast

_INTERNAL = ("_confluent-ksql-", "__")
_MASK = "[hidden]"


def show_topics(context: Context, *, all_of_them: bool, extended: bool, sql: str) -> Entity:
    """`SHOW [ALL] TOPICS`."""
    topics = sorted(context.cluster.topics, key=lambda topic: topic.name)
    shown: list[dict[str, Any]] = [
        {"name": topic.name, "replicaInfo": [topic.replicas] * topic.partitions}
        for topic in topics
        if all_of_them or not topic.name.startswith(_INTERNAL)
    ]
    if not extended:
        return Entity("kafka_topics", sql, {"topics": shown})
    for topic in shown:
        readers = [
            query
            for query in context.engine.queries.values()
            if topic["name"] in query.source_topics
        ]
        topic |= {"consumerCount": len(readers), "consumerGroupCount": len(readers)}
    return Entity("kafka_topics_extended", sql, {"topics": shown})


def show_properties(context: Context, sql: str) -> Entity:
    """`SHOW PROPERTIES`."""
    settings = context.engine.settings
    shown = []
    for name in sorted({*settings, *context.overrides}):
        overridden = name in context.overrides
        value = context.overrides.get(name, settings.get(name))
        is_ksql = name.startswith("ksql.") and not name.startswith(STREAMS_PREFIX)
        shown.append(
            {
                "name": name.removeprefix(STREAMS_PREFIX),
                "scope": "KSQL" if is_ksql else "KAFKA STREAMS",
                "value": shown_value(name, value, _MASK),
                "editable": is_editable(name),
                "level": "SESSION" if overridden else "SERVER",
            }
        )
    return Entity(
        "properties",
        sql,
        {
            "properties": shown,
            "overwrittenProperties": sorted(context.overrides),
            "defaultProperties": [],
        },
    )


def is_editable(name: str) -> bool:
    """Whether requests may set it."""
    try:
        Settings({}).override(name, "")
    except SqlError:
        return False
    return True


def show_functions(context: Context, sql: str) -> Entity:
    """`SHOW FUNCTIONS`."""
    shown = [
        {"name": each.name.upper(), "type": each.kind.value, "category": each.category}
        for each in context.engine.functions
    ]
    return Entity("function_names", sql, {"functions": sorted(shown, key=lambda f: f["name"])})


def describe_function(context: Context, statement: ast.DescribeFunction, sql: str) -> Entity:
    """`DESCRIBE FUNCTION name`."""
    function = context.engine.functions.find(statement.name)
    if function is None:
        raise SqlError(f"Can't find any functions with the name '{statement.name}'")
    return Entity(
        "describe_function",
        sql,
        {
            "name": function.name.upper(),
            "description": function.description,
            "author": function.author,
            "version": function.version,
            "path": "internal",
            "type": function.kind.value,
            "functions": [_overload(each, function.description) for each in function.overloads],
        },
    )


def _overload(overload: Overload, description: str) -> dict[str, Any]:
    signature = overload.signature
    return {
        "arguments": [
            {
                "name": parameter.name,
                "type": str(parameter.type),
                "description": "",
                "isVariadic": parameter.variadic,
            }
            for parameter in signature.parameters
        ],
        "argumentTypes": [str(parameter.type) for parameter in signature.parameters],
        "returnType": str(signature.returns),
        "description": description,
    }


def show_types(context: Context, sql: str) -> Entity:
    """`SHOW TYPES`."""
    types = context.engine.metastore.types
    return Entity(
        "type_list", sql, {"types": {name: type_json(types[name]) for name in sorted(types)}}
    )


def show_variables(context: Context, sql: str) -> Entity:
    """`SHOW VARIABLES`."""
    variables = sorted(context.variables.items())
    shown = [{"name": name, "value": value} for name, value in variables]
    return Entity("variables", sql, {"variables": shown})
