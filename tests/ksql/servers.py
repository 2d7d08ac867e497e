"""Servers in this process, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.ksql.commands import CommandLog, InMemoryCommandLog
from headrace.ksql.errors import KsqlError
from headrace.ksql.forwarding import Forwarding
from headrace.ksql.leadership import Leadership
from headrace.ksql.local import LocalRunner
from headrace.ksql.memory import InMemoryCluster
from headrace.ksql.requests import QueryRequest, StatementsRequest
from headrace.ksql.results import QueryResult
from headrace.ksql.server import Server
from headrace.sql.formats import InMemorySchemaRegistry

CLICKS = (
    "CREATE STREAM clicks (name STRING KEY, page INT) "
    "WITH (kafka_topic='clicks', partitions=2, value_format='JSON');"
)
COUNTS = "CREATE TABLE counts AS SELECT name, COUNT(*) AS n FROM clicks GROUP BY name EMIT CHANGES;"


class TestServer:
    """A server, with shortcuts."""

    __test__ = False

    def __init__(
        self,
        cluster: InMemoryCluster | None = None,
        log: CommandLog | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        leadership: Leadership | None = None,
        forwarding: Forwarding | None = None,
        registry: InMemorySchemaRegistry | None = None,
    ) -> None:
        self.cluster = cluster or InMemoryCluster()
        self.log = log or InMemoryCommandLog()
        self.registry = registry or InMemorySchemaRegistry()
        self.runner = LocalRunner(self.cluster)
        self.server = Server(
            {"auto.offset.reset": "earliest", **(settings or {})},
            cluster=self.cluster,
            log=self.log,
            runner=self.runner,
            registry=self.registry,
            leadership=leadership,
            forwarding=forwarding,
        )
        self.server.start()

    def run(self, sql: str, **properties: Any) -> list[dict[str, Any]]:
        """The entities of statements."""
        request = StatementsRequest(sql, {k.replace("_", "."): v for k, v in properties.items()})
        return [entity.json() for entity in self.server.execute(request)]

    def refused(self, sql: str, **properties: Any) -> KsqlError:
        """The error of statements."""
        try:
            self.run(sql, **properties)
        except KsqlError as error:
            return error
        raise AssertionError(f"there was no error: {sql}")

    def select(self, sql: str, properties: Mapping[str, Any] | None = None) -> QueryResult:
        result = self.server.query(QueryRequest(sql, properties or {}))
        assert isinstance(result, QueryResult)
        return result

    def rows(self, sql: str, properties: Mapping[str, Any] | None = None) -> list[Any]:
        """All rows of a query that comes to an end."""
        return [row.values for row in self.select(sql, properties).rows]

    def settle(self) -> None:
        assert self.runner.wait_until_processed(10)

    def records(self, topic: str) -> list[Any]:
        ends = self.cluster.ends([topic])
        return [record for part in sorted(ends) for record in self.cluster.records(part)]

    def close(self) -> None:
        self.server.close()


class Appointed:
    """A leadership that tests give and take."""

    def __init__(self, leads: bool, leader: str | None = None) -> None:
        self._leads = leads
        self._leader = leader
        self._changed: Callable[[bool], None] = lambda leads: None

    def start(self, changed: Callable[[bool], None]) -> None:
        self._changed = changed
        changed(self._leads)

    def appoint(self, leads: bool) -> None:
        self._changed(leads)

    def leader(self) -> str | None:
        return self._leader

    def close(self) -> None:
        """It stays with who has it."""
