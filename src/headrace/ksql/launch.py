"""Starts servers over Kafka and Spark, as a configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from headrace.kafka.schema_registry import HttpSchemaRegistry
from headrace.ksql.commands import CommandLog, InMemoryCommandLog
from headrace.ksql.configuration import advertised, service_id
from headrace.ksql.forwarding import Forwarding
from headrace.ksql.kafka import (
    KafkaCluster,
    KafkaCommandLog,
    KafkaLeadership,
    client_settings,
)
from headrace.ksql.leadership import Leadership
from headrace.ksql.requests import StatementsRequest
from headrace.ksql.server import Server
from headrace.ksql.spark import SparkRunner
from headrace.sql.errors import SqlError
from headrace.sql.formats import SchemaRegistry
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.syntax import ast
from headrace.sql.syntax.parser import parse

_HEADLESS = (
    ast.SetProperty,
    ast.UnsetProperty,
    ast.CreateSource,
    ast.CreateAsSelect,
    ast.CreateType,
    ast.InsertInto,
)


def interactive_server(
    settings: Mapping[str, Any],
    *,
    functions: FunctionRegistry | None = None,
    forwarding: Forwarding | None = None,
) -> Server:
    """A server that takes statements, and shares them with others of its service by the command
    topic. It isn't started yet."""
    service, clients = service_id(settings), client_settings(settings)
    url = advertised(settings)
    log = KafkaCommandLog(clients, service)
    leadership = KafkaLeadership(clients, service, url)
    return _server(settings, log, functions, urlsplit(url).netloc, leadership, forwarding)


def headless_server(
    settings: Mapping[str, Any], text: str, *, functions: FunctionRegistry | None = None
) -> Server:
    """A server that runs the queries of a text, and is started. Raises KsqlError if a statement is
    wrong, SqlError if it is none for a text of queries."""
    for parsed in parse(text):
        if not isinstance(parsed.statement, _HEADLESS):
            raise SqlError(
                "A file of queries can have SET, UNSET, CREATE STREAM, CREATE TABLE, CREATE TYPE "
                f"and INSERT INTO … SELECT, but not: {parsed.text}"
            )
    server = _server(settings, InMemoryCommandLog(), functions, "headless", None, None)
    server.start()
    try:
        server.execute(StatementsRequest(text))
    except BaseException:
        server.close()
        raise
    return server


def _server(
    settings: Mapping[str, Any],
    log: CommandLog,
    functions: FunctionRegistry | None,
    host: str,
    leadership: Leadership | None,
    forwarding: Forwarding | None,
) -> Server:
    registry: SchemaRegistry | None = None
    if settings.get("ksql.schema.registry.url"):
        registry = HttpSchemaRegistry(settings)
    return Server(
        settings,
        cluster=KafkaCluster(client_settings(settings)),
        log=log,
        runner=SparkRunner(settings),
        registry=registry,
        functions=functions,
        host=host,
        leadership=leadership,
        forwarding=forwarding,
    )
