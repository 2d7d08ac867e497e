"""The server: its parts put together."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from headrace.console.description import full_description
from headrace.console.picture import Picture, picture
from headrace.core.errors import HeadraceError
from headrace.http.places import Places
from headrace.ksql.answers.connectors import URL
from headrace.ksql.answers.lists import is_editable
from headrace.ksql.cluster import Cluster
from headrace.ksql.commands import CommandLog
from headrace.ksql.configuration import DEFAULTS, number
from headrace.ksql.connect import Connect
from headrace.ksql.entities import Entity
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.executor import CommandExecutor
from headrace.ksql.failures import statement_errors
from headrace.ksql.forwarding import SKIP, Forwarding
from headrace.ksql.inserts import RowInserts, inserts_into
from headrace.ksql.leadership import Alone, Leadership
from headrace.ksql.printing import LIMIT as PRINT_LIMIT
from headrace.ksql.printing import print_topic
from headrace.ksql.pulling import PullLimits, pull_stream, pull_table
from headrace.ksql.pushing import PushQueries, PushRun
from headrace.ksql.requests import QueryRequest, Request, StatementsRequest
from headrace.ksql.results import PrintResult, QueryKind, QueryResult, ResultStream, Row
from headrace.ksql.running import QueryError, QueryState, Runner
from headrace.ksql.scalable import is_scalable
from headrace.ksql.service import CommandStatus, ServerInfo
from headrace.ksql.statements import ASSERT_TIMEOUT, Inside, StatementRun
from headrace.ksql.turns import TURNS
from headrace.ksql.watched import Watched
from headrace.sql.engine import Engine
from headrace.sql.errors import SqlError
from headrace.sql.formats import InMemorySchemaRegistry, SchemaRegistry
from headrace.sql.functions.java_regex import java_regex
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.pull.query import PullQuery
from headrace.sql.push.query import PushQuery
from headrace.sql.statements.session import SERVICE_ID
from headrace.sql.syntax import ast
from headrace.sql.syntax.formatter import format_name
from headrace.sql.syntax.parser import ParsedStatement, parse

_MAX_PUSH_QUERIES = "ksql.max.push.queries"


class Server:
    """A server over a cluster, a log of commands, and a runner of queries. It implements Service.

    `start` executes what is in the log, and has the queries run. `settings` are ksqlDB's and Kafka
    Streams', of the server's configuration; `host` is `host:port`, as others reach it. Of several
    servers with the same log, `leadership` says which one runs the queries.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        cluster: Cluster,
        log: CommandLog,
        runner: Runner,
        registry: SchemaRegistry | None = None,
        functions: FunctionRegistry | None = None,
        host: str = "localhost:8088",
        leadership: Leadership | None = None,
        forwarding: Forwarding | None = None,
    ) -> None:
        settings = {**DEFAULTS, **settings}
        self._cluster = cluster
        self._log = log
        self._runner = runner
        self._settings = settings
        self._leadership = leadership or Alone()
        self._forwarding = forwarding or Forwarding()
        self._ready = False
        self._closed = False
        self._transient_ids = itertools.count(time.time_ns() // 1_000_000)
        # Schemas, as topics, are registered and deleted once, by who writes a command.
        registrar = None if registry is None else InMemorySchemaRegistry()
        engine = Engine(
            settings,
            topics=cluster.topics,
            registry=registry,
            registrar=registrar,
            functions=functions,
        )
        self._executor = CommandExecutor(engine, cluster.topics, log, runner)
        self._pushes = PushQueries(number(settings, _MAX_PUSH_QUERIES, 100))
        self._prints = Places(number(settings, PRINT_LIMIT, 20))
        self._pulls = PullLimits(settings)
        self._kafka_is_there = Watched(self._ask_kafka)
        connect_url = settings.get(URL)
        self._inside = Inside(
            self._executor,
            log,
            cluster,
            self._pushes,
            self._state,
            self._errors,
            host,
            None if connect_url is None else Connect(str(connect_url)),
            assert_timeout_ms=number(settings, ASSERT_TIMEOUT, 300_000),
        )

    # Life

    def start(self) -> None:
        """Execute all commands that there are, and run the queries that they leave."""
        self._executor.start()
        self._leadership.start(self._executor.lead)
        self._kafka_is_there.look()
        self._ready = True

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._pushes.close_all()
        # Another server takes the queries over; what they do until they are stopped is fenced.
        self._leadership.close()
        self._executor.close()
        self._runner.close()
        self._log.close()
        self._cluster.close()
        self._forwarding.close()

    def _check_ready(self) -> None:
        if self._closed:
            raise KsqlError(ErrorCode.SERVER_SHUTTING_DOWN, "The server is shutting down")
        if not self._ready:
            raise KsqlError(ErrorCode.SERVER_NOT_READY, "KSQL is not yet ready to serve requests.")

    # Statements

    def execute(self, request: StatementsRequest) -> list[Entity]:
        self._check_ready()
        variables = {name.lower(): value for name, value in request.variables.items()}
        run = StatementRun(self._inside, self._checked(request), variables)
        if request.sequence_number is not None and request.sequence_number >= 0:
            run.wait_for(request.sequence_number + 1)
        with statement_errors(request.sql):
            # What other servers were told before is known here too, unless it takes long.
            self._executor.wait_for(self._log.end(), self._inside.command_timeout_s)
        return run.run(self._parsed(request))

    def terminate_cluster(self, delete_topics: Sequence[str]) -> list[Entity]:
        self._check_ready()
        patterns = []
        for text in delete_topics:
            try:
                patterns.append(java_regex(text))
            except ValueError as error:
                message = f"Invalid pattern: {text} ({error})"
                raise KsqlError(ErrorCode.BAD_REQUEST, message) from None
        text = "TERMINATE ALL;"
        for source in self._executor.engine.metastore:
            delete = not source.read_only and any(p.matches(source.topic) for p in patterns)
            text += (
                f"\nDROP {source.kind.value} IF EXISTS {format_name(source.name)}"
                f"{' DELETE TOPIC' if delete else ''};"
            )
        self.execute(StatementsRequest(text))
        status = CommandStatus("SUCCESS", "Cluster terminated.")
        members = {
            "commandId": "cluster/TerminateCluster/terminate",
            "commandStatus": status.json(),
            "commandSequenceNumber": -1,
        }
        return [Entity("currentStatus", "TERMINATE CLUSTER;", members)]

    def inserts(self, target: str, properties: Mapping[str, Any]) -> RowInserts:
        self._check_ready()
        self._check_properties(properties)
        return inserts_into(target, self._executor.engine, self._cluster)

    # Queries

    def query(self, request: QueryRequest) -> QueryResult | PrintResult:
        self._check_ready()
        overrides = self._checked(request)
        with TURNS.computing(brief=True):
            parsed = self._parsed(request)
        if len(parsed) != 1:
            raise KsqlError(
                ErrorCode.BAD_STATEMENT,
                f"Expected exactly one KSQL statement; found {len(parsed)} instead",
                request.sql,
            )
        (one,) = parsed
        statement = one.statement
        with statement_errors(request.sql, in_message=True):
            if isinstance(statement, ast.PrintTopic):
                lines = print_topic(statement, self._cluster, self._prints)
                return PrintResult(self._transient_id("PRINT"), statement.topic, lines)
            if not isinstance(statement, ast.QueryStatement):
                raise SqlError(
                    f"Statement type `{type(statement).__name__}' not supported for this resource"
                )
            if statement.query.emit is None:
                return self._pull(one, overrides, request)
            return self._push(one, statement.query, overrides)

    def close_query(self, query_id: str) -> None:
        if not self._pushes.close(query_id):
            raise KsqlError(ErrorCode.BAD_REQUEST, f"No query with id {query_id}")

    def _pull(
        self, parsed: ParsedStatement, overrides: Mapping[str, Any], request: QueryRequest
    ) -> QueryResult:
        engine = self._executor.engine
        with TURNS.computing(brief=True):
            pull = engine.pull(parsed, overrides)
        query_id = f"query_{time.time_ns() // 1_000_000}"
        if pull.materialized_by is None:
            rows = pull_stream(pull, self._cluster, engine.registry, self._pulls)
            return QueryResult(query_id, QueryKind.STREAM_PULL, pull.columns, rows)
        rows = self._elsewhere(request, pull) or pull_table(pull, self._runner, self._pulls)
        return QueryResult(query_id, QueryKind.PULL, pull.columns, rows)

    def _elsewhere(self, request: QueryRequest, pull: PullQuery) -> ResultStream[Row] | None:
        """The answer of the server that runs the queries; None if it is this one."""
        if self._executor.leads or request.request_properties.get(SKIP):
            return None
        leader = self._leadership.leader()
        if leader is None:
            raise KsqlError(
                ErrorCode.SERVER_NOT_READY,
                "No server runs the queries at this moment: one is about to. Try again.",
            )
        return self._forwarding.pull(leader, request, pull.columns)

    def _push(
        self, parsed: ParsedStatement, query: ast.Query, overrides: Mapping[str, Any]
    ) -> QueryResult:
        engine = self._executor.engine
        settings = engine.settings.over(overrides)
        kind = QueryKind.PUSH
        if is_scalable(query, engine, settings):
            kind, query_id = QueryKind.SCALABLE_PUSH, f"SCALABLE_PUSH_QUERY_{uuid.uuid4()}"
        else:
            query_id = self._transient_id(_source_of(query.source))
        with TURNS.computing(brief=True):
            push = engine.push(parsed, query_id, overrides)
        service_id = settings.get(SERVICE_ID)
        # ksqlDB's scalable queries don't give rows without a key, where there is one.
        needs_keys = kind is QueryKind.SCALABLE_PUSH and _has_key(engine, push)
        name = {"application.id": f"_confluent-ksql-{service_id}{query_id}"}
        run = self._pushes.start(
            lambda: PushRun(
                push,
                parsed.text,
                self._cluster,
                {**settings.streams(), **name},
                needs_keys=needs_keys,
            )
        )
        return QueryResult(query_id, kind, push.columns, run.rows)

    def _transient_id(self, source: str) -> str:
        return f"transient_{source}_{next(self._transient_ids)}"

    # What is known

    def info(self) -> ServerInfo:
        status = "RUNNING"
        if self._executor.failure is not None:
            status = "DEGRADED"
        return ServerInfo(
            version("headrace"), self._cluster.id, str(self._settings[SERVICE_ID]), status
        )

    def health(self) -> dict[str, Any]:
        details = {
            "metastore": {"isHealthy": True},
            "kafka": {"isHealthy": bool(self._kafka_is_there.value())},
            "commandRunner": {"isHealthy": self._executor.failure is None},
        }
        healthy = all(part["isHealthy"] for part in details.values())
        return {"isHealthy": healthy, "details": details, "serverState": None}

    def _ask_kafka(self) -> bool:
        try:
            next(iter(self._cluster.topics), None)
        except HeadraceError:
            return False
        return True

    def statuses(self) -> Mapping[str, CommandStatus]:
        return dict(self._executor.statuses)

    def status(self, command_id: str) -> CommandStatus:
        status = self._executor.statuses.get(command_id)
        if status is None:
            raise KsqlError(ErrorCode.NOT_FOUND, "Command not found")
        return status

    def check_property(self, name: str) -> None:
        if not is_editable(name):
            message = f"Not recognizable as ksql, streams, consumer, or producer property: '{name}'"
            raise KsqlError(ErrorCode.BAD_REQUEST, message)

    def cluster_status(self) -> dict[str, Any]:
        queries = self._executor.engine.queries.values()
        now = int(time.time() * 1000)
        stores = {
            query.id: {
                "activeStores": [] if (kept := query.materialization) is None else [kept.store],
                "activePartitions": [
                    {"topic": partition.topic, "partition": partition.partition}
                    for partition in sorted(self._cluster.ends(query.source_topics))
                ],
                "standByStores": [],
                "standByPartitions": [],
            }
            for query in queries
        }
        alive = {
            "hostAlive": True,
            "lastStatusUpdateMs": now,
            "activeStandbyPerQuery": stores,
            "hostStoreLags": {"stateStoreLags": {}, "updateTimeMs": now},
        }
        return {"clusterStatus": {self._inside.host: alive}}

    def picture(self, query_id: str) -> Picture:
        query = self._executor.engine.queries.get(query_id)
        if query is None:
            raise KsqlError(ErrorCode.NOT_FOUND, f"No query with id {query_id}")
        return picture(full_description(query.topology, query.application_id), query.application_id)

    def _state(self, query_id: str) -> QueryState:
        try:
            return self._runner.state(query_id)
        except KeyError:
            if query_id in self._executor.failed:
                return QueryState.ERROR
            # Of a query that this server doesn't run, only what commands say is known.
            paused = query_id in self._executor.catalogue.paused
            return QueryState.PAUSED if paused else QueryState.RUNNING

    def _errors(self, query_id: str) -> list[QueryError]:
        try:
            return self._runner.errors(query_id)
        except KeyError:
            failed = self._executor.failed.get(query_id)
            return [] if failed is None else [failed]

    # Requests

    def _checked(self, request: Request) -> dict[str, Any]:
        self._check_properties(request.properties)
        return dict(request.properties)

    def _check_properties(self, properties: Mapping[str, Any]) -> None:
        try:
            self._executor.engine.settings.over(properties)
        except SqlError as error:
            raise KsqlError(ErrorCode.BAD_REQUEST, error.message) from error

    def _parsed(self, request: Request) -> list[ParsedStatement]:
        with statement_errors(request.sql):
            return parse(request.sql, request.variables)


def _has_key(engine: Engine, push: PushQuery) -> bool:
    sources = (each for each in engine.metastore if each.topic in push.source_topics)
    return all(source.schema.key for source in sources)


def _source_of(relation: ast.Relation) -> str:
    """The name of the left-most source."""
    while isinstance(relation, ast.Join):
        relation = relation.left
    return relation.source if isinstance(relation, ast.AliasedSource) else ""
