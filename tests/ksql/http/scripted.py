"""A service whose answers a test has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.console.picture import Picture
from headrace.ksql.entities import Entity
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.requests import QueryRequest, StatementsRequest
from headrace.ksql.results import (
    PrintLine,
    PrintResult,
    QueryKind,
    QueryResult,
    ResultStream,
    Row,
)
from headrace.ksql.service import CommandStatus, ServerInfo
from headrace.sql.pull.query import ResultColumn
from headrace.sql.types import BIGINT, STRING

COLUMNS: tuple[ResultColumn, ...] = (
    ResultColumn("ID", BIGINT, "KEY"),
    ResultColumn("NAME", STRING),
)


class ScriptedInserts:
    def __init__(self) -> None:
        self.rows: list[Mapping[str, Any]] = []

    def insert(self, row: Mapping[str, Any]) -> None:
        if "ID" not in row:
            raise KsqlError(ErrorCode.BAD_REQUEST, "Key field must be specified: ID")
        self.rows.append(row)


class ScriptedService:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.error: Exception | None = None
        self.entities: list[Entity] = []
        self.kind = QueryKind.PULL
        self.rows: ResultStream[Row] = ResultStream()
        self.lines: ResultStream[PrintLine] = ResultStream()
        self.inserted = ScriptedInserts()

    def give(self, *rows: Row, message: str | None = None) -> None:
        for row in rows:
            self.rows.put(row)
        self.rows.finish(message)

    def execute(self, request: StatementsRequest) -> list[Entity]:
        self._ask(request)
        return self.entities

    def query(self, request: QueryRequest) -> QueryResult | PrintResult:
        self._ask(request)
        if request.sql.startswith("PRINT"):
            return PrintResult("print_1", "t", self.lines)
        columns = COLUMNS
        if self.kind is not QueryKind.PULL:
            columns = tuple(ResultColumn(column.name, column.type) for column in COLUMNS)
        return QueryResult("query_1", self.kind, columns, self.rows)

    def close_query(self, query_id: str) -> None:
        self._ask(query_id)
        if query_id != "query_1":
            raise KsqlError(ErrorCode.BAD_REQUEST, f"No query with id {query_id}")
        self.rows.close()

    def inserts(self, target: str, properties: Mapping[str, Any]) -> ScriptedInserts:
        self._ask((target, properties))
        return self.inserted

    def terminate_cluster(self, delete_topics: Sequence[str]) -> list[Entity]:
        self._ask(delete_topics)
        return self.entities

    def info(self) -> ServerInfo:
        return ServerInfo("0.1", "cluster", "default_", "RUNNING")

    def health(self) -> dict[str, Any]:
        return {"isHealthy": True}

    def statuses(self) -> Mapping[str, CommandStatus]:
        return {"stream/S/create": CommandStatus("SUCCESS", "Stream created")}

    def status(self, command_id: str) -> CommandStatus:
        found = self.statuses().get(command_id)
        if found is None:
            raise KsqlError(ErrorCode.NOT_FOUND, "Command not found")
        return found

    def check_property(self, name: str) -> None:
        if name != "auto.offset.reset":
            raise KsqlError(ErrorCode.BAD_REQUEST, "no")

    def cluster_status(self) -> dict[str, Any]:
        return {"clusterStatus": {}}

    def picture(self, query_id: str) -> Picture:
        if query_id != "CTAS_T_1":
            raise KsqlError(ErrorCode.NOT_FOUND, f"No query with id {query_id}")
        return Picture(10.0, 10.0, [], [], [])

    def close(self) -> None:
        pass

    def _ask(self, what: Any) -> None:
        self.asked.append(what)
        if self.error is not None:
            raise self.error
