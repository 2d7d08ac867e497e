"""The server, for those that bring requests to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.console.picture import Picture
from headrace.ksql.entities import Entity
from headrace.ksql.requests import QueryRequest, StatementsRequest
from headrace.ksql.results import PrintResult, QueryResult


@dataclass(frozen=True)
class ServerInfo:
    """Who the server is. `status` is RUNNING, ERROR or DEGRADED."""

    version: str
    cluster_id: str
    service_id: str
    status: str


@dataclass(frozen=True)
class CommandStatus:
    """How far a command is: QUEUED, EXECUTING, SUCCESS, ERROR …"""

    status: str
    message: str
    query_id: str | None = None

    def json(self) -> dict[str, Any]:
        return {"status": self.status, "message": self.message, "queryId": self.query_id}


class Inserts(Protocol):
    """Rows for a stream or table, as `/inserts-stream` brings them."""

    def insert(self, row: Mapping[str, Any]) -> None:
        """Write a row: values are JSON, with Decimals for numbers that have a fraction. Returns
        when Kafka has it; raises KsqlError if it can't be written."""
        ...


class Service(Protocol):
    """What the server does. Every method may be called from any thread, may block, and raises
    KsqlError if it can't do what it was asked."""

    def execute(self, request: StatementsRequest) -> list[Entity]:
        """`POST /ksql`: one entity for each statement that answers something."""
        ...

    def query(self, request: QueryRequest) -> QueryResult | PrintResult:
        """`POST /query-stream`, `POST /query`: one SELECT or PRINT. Returns when the columns are
        known; close its stream when nobody reads it any more."""
        ...

    def close_query(self, query_id: str) -> None:
        """`POST /close-query`: end a push query."""
        ...

    def inserts(self, target: str, properties: Mapping[str, Any]) -> Inserts:
        """`POST /inserts-stream`: begin to insert. The target follows SQL's rules for names."""
        ...

    def terminate_cluster(self, delete_topics: Sequence[str]) -> list[Entity]:
        """`POST /ksql/terminate`: end all queries, drop everything. Topics of sources are deleted
        if their name matches one of these patterns."""
        ...

    def info(self) -> ServerInfo:
        """`GET /info`."""
        ...

    def health(self) -> dict[str, Any]:
        """`GET /healthcheck`, as JSON. It doesn't block: it is asked when all else does."""
        ...

    def statuses(self) -> Mapping[str, CommandStatus]:
        """`GET /status`: by command id, `stream/X/create`."""
        ...

    def status(self, command_id: str) -> CommandStatus:
        """`GET /status/{type}/{entity}/{action}`."""
        ...

    def check_property(self, name: str) -> None:
        """`GET /is_valid_property/{name}`: raises KsqlError if requests can't set it."""
        ...

    def cluster_status(self) -> dict[str, Any]:
        """`GET /clusterStatus`, as JSON."""
        ...

    def picture(self, query_id: str) -> Picture:
        """`GET /v1/queries/{id}/picture`: the topology of a persistent query, as the console draws
        it."""
        ...

    def close(self) -> None:
        """End all queries, and the server."""
        ...
