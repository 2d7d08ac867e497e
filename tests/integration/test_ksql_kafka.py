"""The ksqlDB server over a real Kafka. Queries run in this process, so that no Spark is needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Thread
from typing import Any

import pytest

from headrace.embedded import EmbeddedKafka
from headrace.ksql.configuration import service_id
from headrace.ksql.errors import KsqlError
from headrace.ksql.kafka import (
    KafkaCluster,
    KafkaCommandLog,
    KafkaLeadership,
    client_settings,
    command_topic,
)
from headrace.ksql.local import LocalRunner
from headrace.ksql.requests import QueryRequest, StatementsRequest
from headrace.ksql.results import PrintResult, QueryResult
from headrace.ksql.server import Server

PATIENCE_S = 60.0


class KafkaServer:
    """A server, and shortcuts."""

    def __init__(self, settings: dict[str, Any], url: str) -> None:
        clients, service = client_settings(settings), service_id(settings)
        self.cluster = KafkaCluster(clients)
        self.server = Server(
            settings,
            cluster=self.cluster,
            log=KafkaCommandLog(clients, service),
            runner=LocalRunner(self.cluster),
            leadership=KafkaLeadership(clients, service, url),
        )
        self.server.start()

    @property
    def leads(self) -> bool:
        return self.server._executor.leads

    def run(self, sql: str) -> list[dict[str, Any]]:
        return [entity.json() for entity in self.server.execute(StatementsRequest(sql))]

    def rows(self, sql: str) -> list[Any]:
        result = self.server.query(QueryRequest(sql))
        assert isinstance(result, QueryResult)
        return [row.values for row in result.rows]


@pytest.fixture
def start(embedded_kafka: EmbeddedKafka, name: str) -> Iterator[Callable[..., KafkaServer]]:
    with ExitStack() as opened:

        def started(url: str = "http://127.0.0.1:1") -> KafkaServer:
            settings = {
                "bootstrap.servers": embedded_kafka.bootstrap_servers,
                "ksql.service.id": f"{name}_",
                "auto.offset.reset": "earliest",
                "task.timeout.ms": 20_000,
            }
            server = KafkaServer(settings, url)
            opened.callback(server.server.close)
            return server

        yield started


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.1)


def clicks(name: str) -> str:
    return (
        f"CREATE STREAM clicks (name STRING KEY, page INT) WITH (kafka_topic='{name}-clicks', "
        "partitions=2, value_format='JSON');"
    )


def counts(name: str) -> str:
    return (
        f"CREATE TABLE counts WITH (kafka_topic='{name}-counts') AS "
        "SELECT name, COUNT(*) AS n FROM clicks GROUP BY name EMIT CHANGES;"
    )


def test_statements_and_queries(start: Callable[..., KafkaServer], name: str) -> None:
    server = start()
    stream, table = server.run(clicks(name) + counts(name))
    assert stream["commandStatus"]["status"] == table["commandStatus"]["status"] == "SUCCESS"
    until(lambda: server.leads)
    server.run("INSERT INTO clicks VALUES ('a', 1); INSERT INTO clicks VALUES ('a', 2);")
    until(lambda: server.rows("SELECT n FROM counts WHERE name = 'a';") == [(2,)])
    assert sorted(server.rows("SELECT * FROM clicks;")) == [("a", 1), ("a", 2)]
    assert server.rows("SELECT page FROM clicks EMIT CHANGES LIMIT 2;") == [(1,), (2,)]
    printed = server.server.query(QueryRequest(f"PRINT '{name}-clicks' FROM BEGINNING LIMIT 2;"))
    assert isinstance(printed, PrintResult)
    assert sum(not line.about_format for line in printed.lines) == 2
    server.run("DROP TABLE counts DELETE TOPIC;")
    assert server.cluster.topics.find(f"{name}-counts") is None


def test_a_server_that_starts_again_replays(start: Callable[..., KafkaServer], name: str) -> None:
    first = start()
    first.run(clicks(name) + counts(name) + "CREATE TYPE t AS INT; DROP TYPE t;")
    first.server.close()
    second = start()
    assert [table["name"] for table in second.run("SHOW TABLES;")[0]["tables"]] == ["COUNTS"]
    assert second.run("SHOW TYPES;")[0]["types"] == {}
    assert second.cluster.topics.find(command_topic(f"{name}_")) is not None


def test_two_servers_write_in_turns(start: Callable[..., KafkaServer], name: str) -> None:
    one, other = start(), start()
    outcomes: list[str] = []

    def create(server: KafkaServer, index: int) -> None:
        try:
            server.run(clicks(name).replace("clicks (", f"s{index} ("))
            outcomes.append("created")
        except KsqlError as error:
            outcomes.append(error.message)

    for index in range(5):
        threads = [Thread(target=create, args=(server, index)) for server in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes.count("created") == 5, outcomes
    assert one.run("SHOW STREAMS;")[0]["streams"] == other.run("SHOW STREAMS;")[0]["streams"]


def test_one_leads_and_the_next_takes_over(start: Callable[..., KafkaServer], name: str) -> None:
    one = start("http://127.0.0.1:11")
    until(lambda: one.leads)
    other = start("http://127.0.0.1:12")
    until(lambda: other.server._leadership.leader() == "http://127.0.0.1:11")
    assert one.leads
    assert not other.leads
    one.run(clicks(name) + counts(name) + "INSERT INTO clicks VALUES ('a', 1);")
    one.server.close()
    until(lambda: other.leads)
    until(lambda: other.rows("SELECT * FROM counts;") == [("a", 1)])
