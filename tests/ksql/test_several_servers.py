"""Servers that start again, and several on one log of commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Thread

import pytest

from headrace.core.errors import BrokerError
from headrace.ksql.commands import Command, InMemoryCommandLog
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.http.server import HttpServer
from headrace.ksql.memory import InMemoryCluster
from headrace.ksql.requests import QueryRequest, StatementsRequest
from headrace.sql.formats import InMemorySchemaRegistry, SchemaText

from .servers import CLICKS, COUNTS, Appointed, TestServer


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def start(opened: ExitStack, *given: object, **named: object) -> TestServer:
    server = TestServer(*given, **named)  # type: ignore[arg-type]
    opened.callback(server.close)
    return server


def test_a_server_that_starts_again_has_everything(opened: ExitStack) -> None:
    first = start(opened)
    first.run(
        CLICKS + COUNTS + "CREATE TYPE t AS STRUCT<a INT>; CREATE STREAM gone AS SELECT * FROM "
        "clicks; INSERT INTO clicks VALUES ('a', 1); DROP STREAM gone; PAUSE CTAS_COUNTS_1;"
    )
    first.close()
    second = start(opened, first.cluster, first.log)

    (query,) = second.run("SHOW QUERIES;")[0]["queries"]
    assert (query["id"], query["state"]) == ("CTAS_COUNTS_1", "PAUSED")
    assert [s["name"] for s in second.run("SHOW STREAMS;")[0]["streams"]] == ["CLICKS"]
    assert list(second.run("SHOW TYPES;")[0]["types"]) == ["T"]
    second.run("RESUME CTAS_COUNTS_1;")
    second.settle()
    assert second.rows("SELECT * FROM counts;") == [("a", 1)]
    third = second.run("CREATE STREAM more AS SELECT * FROM clicks;")[0]
    assert third["commandStatus"]["queryId"] == "CSAS_MORE_7"


def test_what_was_deleted_is_not_deleted_again(opened: ExitStack) -> None:
    """A topic of the same name has come since."""
    first = start(opened)
    first.run(CLICKS + "DROP STREAM clicks DELETE TOPIC;" + CLICKS)
    first.run("INSERT INTO clicks VALUES ('a', 1);")
    first.close()
    second = start(opened, first.cluster, first.log)
    assert second.rows("SELECT * FROM clicks;") == [("a", 1)]


def test_topics_that_are_gone_do_not_hinder_a_replay(opened: ExitStack) -> None:
    first = start(opened)
    first.cluster.topics.create(first.cluster.topics.find("x") or _topic("given", 3))
    first.run(
        "CREATE STREAM s (a INT) WITH (kafka_topic='given', value_format='JSON');"
        "CREATE STREAM copy AS SELECT * FROM s;"
        "DROP STREAM copy DELETE TOPIC; DROP STREAM s DELETE TOPIC;"
    )
    first.close()
    second = start(opened, first.cluster, first.log)
    assert {status.status for status in second.server.statuses().values()} == {"SUCCESS"}
    assert list(second.cluster.topics) == []


def _topic(name: str, partitions: int):  # type: ignore[no-untyped-def]
    from headrace.sql.topics import TopicInfo

    return TopicInfo(name, partitions)


def test_a_command_that_fails_does_not_stop_those_after_it(opened: ExitStack) -> None:
    log = InMemoryCommandLog()
    with log.writing() as writer:
        writer.append(Command("CREATE STREAM broken;"))
        writer.append(Command("DROP STREAM nothing;"))
    server = start(opened, None, log)
    assert server.server.status("stream/NOTHING/drop").status == "ERROR"
    assert server.run(CLICKS)[0]["commandSequenceNumber"] == 2


def test_two_servers_agree(opened: ExitStack) -> None:
    cluster, log = InMemoryCluster(), InMemoryCommandLog()
    one = start(opened, cluster, log, leadership=Appointed(True))
    other = start(opened, cluster, log, leadership=Appointed(False))
    one.run(CLICKS)
    (made,) = other.run(COUNTS)
    after = StatementsRequest("SHOW TABLES;", sequence_number=made["commandSequenceNumber"])
    assert one.server.execute(after)[0].json()["tables"] == other.run("SHOW TABLES;")[0]["tables"]
    one.run("INSERT INTO clicks VALUES ('a', 1);")
    one.settle()
    assert one.rows("SELECT * FROM counts;") == [("a", 1)]
    assert len(one.records("COUNTS")) == 1


def test_of_two_that_create_the_same_one_succeeds(opened: ExitStack) -> None:
    cluster, log = InMemoryCluster(), InMemoryCommandLog()
    servers = [start(opened, cluster, log, leadership=Appointed(not n)) for n in range(2)]
    outcomes: list[str] = []

    def create(server: TestServer, index: int) -> None:
        try:
            server.run(CLICKS.replace("clicks", f"s{index}"))
            outcomes.append("created")
        except KsqlError as error:
            outcomes.append(error.message)

    for index in range(20):
        threads = [Thread(target=create, args=(server, index)) for server in servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes.count("created") == 20
    assert all("already exists" in each for each in outcomes if each != "created")
    assert log.end() == 20


def test_the_next_server_takes_the_queries_over(opened: ExitStack) -> None:
    cluster, log = InMemoryCluster(), InMemoryCommandLog()
    first, second = Appointed(True), Appointed(False)
    one = start(opened, cluster, log, leadership=first)
    other = start(opened, cluster, log, leadership=second)
    one.run(CLICKS + COUNTS)
    first.appoint(False)
    second.appoint(True)
    other.run("INSERT INTO clicks VALUES ('a', 1);")
    other.settle()
    assert other.rows("SELECT * FROM counts;") == [("a", 1)]


@contextmanager
def served(server: TestServer) -> Iterator[str]:
    http = HttpServer(server.server, port=0)
    try:
        yield f"http://127.0.0.1:{http.host_and_port[1]}"
    finally:
        http.close()


def test_pull_queries_are_forwarded(opened: ExitStack) -> None:
    cluster, log = InMemoryCluster(), InMemoryCommandLog()
    one = start(opened, cluster, log, leadership=Appointed(True))
    address = opened.enter_context(served(one))
    other = start(opened, cluster, log, leadership=Appointed(False, address))
    one.run(
        "CREATE STREAM s (k INT KEY, d DECIMAL(4, 2), t TIMESTAMP, b BYTES) "
        "WITH (kafka_topic='s', partitions=1, value_format='JSON');"
        "CREATE TABLE t AS SELECT k, LATEST_BY_OFFSET(d) AS d, LATEST_BY_OFFSET(t) AS t FROM s "
        "GROUP BY k; INSERT INTO s (k, d, t) VALUES (1, 1.5, '2020-01-02T03:04:05.678');"
    )
    one.settle()
    here = one.select("SELECT * FROM t WHERE k = 1;")
    there = other.select("SELECT * FROM t WHERE k = 1;")
    assert there.columns == here.columns
    assert list(there.rows) == list(here.rows)
    assert one.rows("SELECT * FROM t;")


def test_nobody_leads_for_a_moment(opened: ExitStack) -> None:
    server = start(opened, leadership=Appointed(False))
    server.run(CLICKS + COUNTS)
    with pytest.raises(KsqlError, match="Try again") as caught:
        server.rows("SELECT * FROM counts;")
    assert caught.value.code is ErrorCode.SERVER_NOT_READY


def test_a_forwarded_query_is_not_forwarded_again(opened: ExitStack) -> None:
    server = start(opened, leadership=Appointed(False, "http://127.0.0.1:1"))
    server.run(CLICKS + COUNTS)
    skip = {"request.ksql.query.pull.skip.forwarding": True}
    with pytest.raises(KsqlError, match="isn't running"):
        server.server.query(QueryRequest("SELECT * FROM counts;", request_properties=skip))


def test_a_replay_leaves_the_schema_registry_alone(opened: ExitStack, server: TestServer) -> None:
    create = "CREATE STREAM s (a INT) WITH (kafka_topic='t', partitions=1, value_format='AVRO');"
    server.run(create + "DROP STREAM s DELETE TOPIC;")
    again = start(opened, server.cluster, server.log, registry=server.registry)
    assert server.registry.latest("t-value") is None
    others = SchemaText("AVRO", '"int"')
    server.registry.register("t-value", others)
    start(opened, server.cluster, server.log, registry=server.registry)
    found = server.registry.latest("t-value")
    assert found is not None
    assert found.schema == others
    assert again.run("SHOW STREAMS;")[0]["streams"] == []


def test_an_outage_is_waited_for(
    opened: ExitStack, server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that can't be executed now must not be left out: others have executed it."""
    monkeypatch.setattr("headrace.ksql.executor._PAUSE_S", 0.01)
    fields = [{"name": "A", "type": ["null", "int"], "default": None}]
    schema = SchemaText("AVRO", json.dumps({"type": "record", "name": "R", "fields": fields}))
    id = server.registry.register("t-value", schema)
    server.run(
        "CREATE STREAM s WITH (kafka_topic='t', partitions=1, value_format='AVRO', "
        f"value_schema_id={id});"
    )
    away = 3

    class Flaky(InMemorySchemaRegistry):
        def by_id(self, id: int) -> SchemaText | None:
            nonlocal away
            away -= 1
            if away > 0:
                raise BrokerError("The registry is away", retriable=True)
            return schema

    again = start(opened, server.cluster, server.log, registry=Flaky())
    assert [stream["name"] for stream in again.run("SHOW STREAMS;")[0]["streams"]] == ["S"]
    assert away <= 0
