"""Starts servers over Kafka and Spark, as a configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.core.config_sources import from_file
from headrace.core.errors import ConfigError
from headrace.kafka.schema_registry import HttpSchemaRegistry
from headrace.ksql.commands import CommandLog, InMemoryCommandLog
from headrace.ksql.forwarding import Forwarding
from headrace.ksql.kafka import (
    KafkaCluster,
    KafkaCommandLog,
    KafkaLeadership,
    client_settings,
)
from headrace.ksql.leadership import Leadership
from headrace.ksql.requests import StatementsRequest
from headrace.ksql.server import DEFAULTS, Server
from headrace.ksql.spark import SparkRunner
from headrace.sql.errors import SqlError
from headrace.sql.formats import SchemaRegistry
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.statements.session import SERVICE_ID
from headrace.sql.syntax import ast
from headrace.sql.syntax.parser import parse

LISTENERS = "listeners"
ADVERTISED = "ksql.advertised.listener"
DEFAULT_LISTENER = "http://127.0.0.1:8088"

_HEADLESS = (
    ast.SetProperty,
    ast.UnsetProperty,
    ast.CreateSource,
    ast.CreateAsSelect,
    ast.CreateType,
    ast.InsertInto,
)


def settings_of(path: Path | None, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a file, with those that are given over them. Raises ConfigError if the file
    can't be read, or `bootstrap.servers` is missing."""
    settings = {} if path is None else {each.key: each.value for each in from_file(path)}
    settings |= given or {}
    if not settings.get("bootstrap.servers"):
        raise ConfigError("bootstrap.servers isn't set: where is Kafka?")
    return settings


def listener(settings: Mapping[str, Any]) -> str:
    """The address to listen at. Raises ConfigError if it isn't one."""
    return _address(str(settings.get(LISTENERS, DEFAULT_LISTENER)).split(",")[0].strip())


def advertised(settings: Mapping[str, Any]) -> str:
    """The address at which other servers reach this one."""
    return _address(str(settings.get(ADVERTISED) or listener(settings)))


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{url!r} isn't an address such as {DEFAULT_LISTENER}.")
    return url


def interactive_server(
    settings: Mapping[str, Any],
    *,
    functions: FunctionRegistry | None = None,
    forwarding_headers: Mapping[str, str] | None = None,
) -> Server:
    """A server that takes statements, and shares them with others of its service by the command
    topic. It isn't started yet."""
    service_id = str(settings.get(SERVICE_ID, DEFAULTS[SERVICE_ID]))
    clients = client_settings(settings, service_id)
    url = advertised(settings)
    log = KafkaCommandLog(clients, service_id)
    leadership = KafkaLeadership(clients, service_id, url)
    return _server(
        settings, log, functions, urlsplit(url).netloc, leadership, Forwarding(forwarding_headers)
    )


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
    service_id = str(settings.get(SERVICE_ID, DEFAULTS[SERVICE_ID]))
    registry: SchemaRegistry | None = None
    if settings.get("ksql.schema.registry.url"):
        registry = HttpSchemaRegistry(settings)
    return Server(
        settings,
        cluster=KafkaCluster(client_settings(settings, service_id)),
        log=log,
        runner=SparkRunner(settings),
        registry=registry,
        functions=functions,
        host=host,
        leadership=leadership,
        forwarding=forwarding,
    )
