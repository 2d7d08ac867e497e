"""Statements about connectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.known_keys import shown_value
from headrace.ksql.answers.context import Context
from headrace.ksql.connect import Connect
from headrace.ksql.entities import Entity
from headrace.sql.errors import SqlError
from headrace.sql.syntax import ast

URL = "ksql.connect.url"


def create_connector(context: Context, statement: ast.CreateConnector, sql: str) -> Entity:
    connect = _connect(context)
    name = statement.name
    if connect.exists(name):
        message = f"Connector {name} already exists"
        if statement.if_not_exists:
            return Entity("warning_entity", sql, {"message": message})
        raise SqlError(message)
    config = {key: str(literal.value) for key, literal in statement.properties}
    info = connect.create(name, config)
    return Entity("connector_info", sql, {"info": {**info, "config": _shown(info["config"])}})


def drop_connector(context: Context, statement: ast.DropConnector, sql: str) -> Entity:
    connect = _connect(context)
    name = statement.name
    if not connect.exists(name):
        message = f"Connector '{name}' does not exist."
        if statement.if_exists:
            return Entity("warning_entity", sql, {"message": message})
        raise SqlError(message)
    connect.drop(name)
    return Entity("drop_connector", sql, {"connectorName": name})


def show_connectors(context: Context, kind: str | None, sql: str) -> Entity:
    """`SHOW [SOURCE | SINK] CONNECTORS`."""
    connect = _connect(context)
    shown = []
    for name in connect.names():
        info, status = connect.info(name), connect.status(name)
        type_ = str(info.get("type", "unknown")).lower()
        if kind is None or type_ == kind:
            shown.append(
                {
                    "name": name,
                    "type": type_,
                    "className": info["config"].get("connector.class"),
                    "state": _state(status),
                }
            )
    return Entity("connector_list", sql, {"connectors": shown})


def show_plugins(context: Context, sql: str) -> Entity:
    """`SHOW CONNECTOR PLUGINS`."""
    plugins = [
        {"className": each["class"], "type": each.get("type"), "version": each.get("version")}
        for each in _connect(context).plugins()
    ]
    return Entity("connector_plugins_list", sql, {"connectorsPlugins": plugins})


def describe_connector(context: Context, statement: ast.DescribeConnector, sql: str) -> Entity:
    connect = _connect(context)
    name = statement.name
    info = connect.info(name)
    return Entity(
        "connector_description",
        sql,
        {
            "connectorClass": info["config"].get("connector.class"),
            "status": connect.status(name),
            "sources": [],
            "topics": connect.topics(name),
        },
    )


def _shown(config: Mapping[str, Any]) -> dict[str, str]:
    return {key: shown_value(key, value, "[hidden]") for key, value in config.items()}


def _connect(context: Context) -> Connect:
    if context.connect is None:
        raise SqlError(f"There is no Kafka Connect: set {URL} in the server's configuration.")
    return context.connect


def _state(status: Any) -> str:
    tasks = status.get("tasks", [])
    running = sum(task.get("state") == "RUNNING" for task in tasks)
    if not tasks:
        return str(status["connector"]["state"])
    if running == len(tasks):
        return f"RUNNING ({running}/{len(tasks)} tasks RUNNING)"
    return f"WARNING ({running}/{len(tasks)} tasks RUNNING)"
