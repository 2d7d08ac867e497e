"""Statements of a server."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import BrokerError
from headrace.ksql.errors import ErrorCode
from headrace.ksql.requests import StatementsRequest
from headrace.sql.formats import FormatError, SchemaText

from .servers import CLICKS, COUNTS, TestServer


def test_a_stream_and_a_query_are_created(server: TestServer) -> None:
    stream, table = server.run(CLICKS + COUNTS)

    assert stream["@type"] == "currentStatus"
    assert stream["statementText"] == CLICKS
    assert stream["commandId"] == "stream/CLICKS/create"
    assert stream["commandStatus"] == {
        "status": "SUCCESS",
        "message": "Stream created",
        "queryId": None,
    }
    assert stream["commandSequenceNumber"] == 0
    assert table["commandId"] == "table/COUNTS/create"
    assert table["commandStatus"]["message"] == "Created query with ID CTAS_COUNTS_1"
    assert table["commandStatus"]["queryId"] == "CTAS_COUNTS_1"


@pytest.mark.parametrize(
    ("sql", "command"),
    [
        ("CREATE TYPE t AS STRUCT<a INT>;", "type/T/create"),
        ("DROP TYPE IF EXISTS t;", "type/T/drop"),
        ("ALTER STREAM clicks ADD COLUMN shop STRING;", "stream/CLICKS/alter"),
        ("INSERT INTO clicks SELECT * FROM other;", "stream/`CLICKS`/create"),
        ("DROP STREAM other;", "stream/OTHER/drop"),
        ("DROP STREAM IF EXISTS nothing;", "stream/NOTHING/drop"),
    ],
)
def test_ids_of_commands(server: TestServer, sql: str, command: str) -> None:
    server.run(CLICKS)
    server.run(CLICKS.replace("clicks", "other"))
    (entity,) = server.run(sql)
    assert entity["commandId"] == command
    assert entity["commandStatus"]["status"] == "SUCCESS"


def test_a_wrong_statement_anywhere_means_that_none_was_executed(server: TestServer) -> None:
    error = server.refused(CLICKS + "CREATE STREAM x AS SELECT nothing FROM clicks;")

    assert error.code is ErrorCode.BAD_STATEMENT
    assert error.statement == "CREATE STREAM x AS SELECT nothing FROM clicks;"
    assert error.json()["entities"] == []
    assert server.run("SHOW STREAMS;")[0]["streams"] == []
    assert server.cluster.topics.find("clicks") is None
    assert server.log.end() == 0


def test_statements_rely_on_those_before_them(server: TestServer) -> None:
    entities = server.run(
        CLICKS + COUNTS + "DESCRIBE counts; DROP TABLE counts; DROP STREAM clicks;"
    )
    assert [entity["@type"] for entity in entities] == [
        "currentStatus",
        "currentStatus",
        "sourceDescription",
        "currentStatus",
        "currentStatus",
    ]


def test_queries_are_not_for_this_endpoint(server: TestServer) -> None:
    error = server.refused(CLICKS + "SELECT * FROM clicks EMIT CHANGES;")
    assert error.code is ErrorCode.QUERY_ENDPOINT
    assert server.refused("PRINT 'clicks';").code is ErrorCode.QUERY_ENDPOINT


def test_a_text_that_is_no_sql(server: TestServer) -> None:
    error = server.refused("CREATE STREAM;")
    assert error.code is ErrorCode.BAD_STATEMENT
    assert error.json()["@type"] == "statement_error"
    assert "line 1:" in error.message


def test_what_exists_already_is_a_warning_if_that_is_wanted(server: TestServer) -> None:
    server.run(CLICKS)
    (entity,) = server.run(CLICKS.replace("STREAM", "STREAM IF NOT EXISTS"))
    assert entity["@type"] == "warning_entity"
    assert entity["message"].startswith("Cannot add stream `CLICKS`")
    assert server.log.end() == 1


def test_rows_are_inserted(server: TestServer) -> None:
    assert server.run(CLICKS + "INSERT INTO clicks VALUES ('anna', 1);")[1:] == []
    (record,) = server.records("clicks")
    assert (record.key, record.value) == (b"anna", b'{"PAGE":1}')


def test_settings_hold_for_the_request_alone(server: TestServer) -> None:
    prefix = "SET 'ksql.output.topic.name.prefix'='p-'; CREATE STREAM a AS SELECT * FROM clicks;"
    server.run(CLICKS + prefix)
    server.run("CREATE STREAM b AS SELECT * FROM clicks;")
    topics = {topic.name for topic in server.cluster.topics}
    assert topics == {"clicks", "p-A", "B"}


def test_properties_of_a_request_are_in_its_commands(server: TestServer) -> None:
    request = StatementsRequest(
        CLICKS + "CREATE STREAM a AS SELECT * FROM clicks;", {"ksql.output.topic.name.prefix": "p-"}
    )
    server.server.execute(request)
    again = TestServer(server.cluster, server.log)
    try:
        (stream,) = [s for s in again.run("SHOW STREAMS;")[0]["streams"] if s["name"] == "A"]
        assert stream["topic"] == "p-A"
    finally:
        again.close()


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.servers",
        "ksql.streams.bootstrap.servers",
        "ksql.streams.consumer.interceptor.classes",
        "sasl.jaas.config",
        "ssl.keystore.location",
        "ksql.streams.state.dir",
        "spark.jars",
        "ksql.schema.registry.url",
        "ksql.connect.url",
        "default.deserialization.exception.handler",
        "ksql.streams.production.exception.handler",
        "ksql.service.id",
    ],
)
def test_nothing_that_loads_code_files_or_addresses_can_be_set(
    server: TestServer, name: str
) -> None:
    assert server.refused(f"SET '{name}'='x'; {CLICKS}").code is ErrorCode.BAD_STATEMENT
    assert server.run("SHOW STREAMS;")[0]["streams"] == []
    request = StatementsRequest("SHOW STREAMS;", {name: "x"})
    with pytest.raises(Exception, match="Not recognizable") as caught:
        server.server.execute(request)
    assert caught.value.code is ErrorCode.BAD_REQUEST  # type: ignore[attr-defined]
    with pytest.raises(Exception, match="Not recognizable"):
        server.server.check_property(name)


def test_variables_are_bound_as_values(server: TestServer) -> None:
    entities = server.run(
        CLICKS + "DEFINE who = '''x''''); DROP STREAM clicks; --'''; DEFINE page = '7';"
        "INSERT INTO clicks VALUES (${who}, ${page}); SHOW VARIABLES; UNDEFINE page; UNDEFINE page;"
    )
    assert [entity["@type"] for entity in entities[1:]] == ["variables", "warning_entity"]
    assert {"name": "page", "value": "7"} in entities[1]["variables"]
    (record,) = server.records("clicks")
    assert record.key == b"x'); DROP STREAM clicks; --"
    assert record.value == b'{"PAGE":7}'


def test_commands_have_the_values_of_variables(server: TestServer) -> None:
    request = StatementsRequest(
        "CREATE STREAM ${name} (a INT) WITH (kafka_topic='t', partitions=1, value_format='JSON');",
        variables={"Name": "made"},
    )
    (entity,) = server.server.execute(request)
    assert "${" not in entity.statement
    again = TestServer(server.cluster, server.log)
    try:
        assert [s["name"] for s in again.run("SHOW STREAMS;")[0]["streams"]] == ["MADE"]
    finally:
        again.close()


def test_a_sequence_number_that_never_comes(server: TestServer) -> None:
    object.__setattr__(server.server._inside, "command_timeout_s", 0.05)
    with pytest.raises(Exception, match="command sequence number: 5") as caught:
        server.server.execute(StatementsRequest("SHOW STREAMS;", sequence_number=5))
    assert caught.value.code is ErrorCode.COMMAND_QUEUE_CATCHUP_TIMEOUT  # type: ignore[attr-defined]
    server.run(CLICKS)
    assert server.server.execute(StatementsRequest("SHOW STREAMS;", sequence_number=0))


def test_queries_are_terminated_paused_and_resumed(server: TestServer) -> None:
    server.run(CLICKS + COUNTS)

    def state() -> list[Any]:
        return [query["state"] for query in server.run("SHOW QUERIES;")[0]["queries"]]

    assert state() == ["RUNNING"]
    (entity,) = server.run("PAUSE CTAS_COUNTS_1;")
    assert entity["commandId"] == "pause/CTAS_COUNTS_1/execute"
    assert entity["commandStatus"]["message"] == "Query paused."
    assert state() == ["PAUSED"]
    server.run("INSERT INTO clicks VALUES ('anna', 1);")
    assert server.rows("SELECT * FROM counts WHERE name = 'anna';") == []
    assert server.run("RESUME ALL;")[0]["commandStatus"]["message"] == "Query resumed."
    server.settle()
    assert server.rows("SELECT n FROM counts WHERE name = 'anna';") == [(1,)]
    assert server.run("TERMINATE CTAS_COUNTS_1;")[0]["commandStatus"]["status"] == "SUCCESS"
    assert state() == []
    assert "Unknown queryId: CTAS_COUNTS_1" in server.refused("TERMINATE CTAS_COUNTS_1;").message


def test_a_source_in_use_is_not_dropped(server: TestServer) -> None:
    server.run(CLICKS + COUNTS)
    message = server.refused("DROP STREAM clicks;").message
    assert "The following queries read from this source: [CTAS_COUNTS_1]" in message


def test_a_topic_is_deleted_with_its_source_if_that_is_said(server: TestServer) -> None:
    server.run(CLICKS + COUNTS)
    server.run("DROP TABLE counts DELETE TOPIC; DROP STREAM clicks;")
    assert [topic.name for topic in server.cluster.topics] == ["clicks"]


def test_schemas_are_deleted_with_the_topic(server: TestServer) -> None:
    columns = "(k STRUCT<a INT> KEY, v INT)"
    topic = "kafka_topic='t', partitions=1"
    both = f"CREATE STREAM s {columns} WITH ({topic}, format='AVRO');"
    registry = server.registry
    server.run(both)
    assert registry.latest("t-key") is not None
    assert registry.latest("t-value") is not None
    server.run("DROP STREAM s;")
    assert registry.latest("t-value") is not None
    # What the key format leaves to nobody is somebody else's.
    only_value = f"CREATE STREAM s (k INT KEY, v INT) WITH ({topic}, value_format='AVRO');"
    server.run(only_value + "DROP STREAM s DELETE TOPIC;")
    assert registry.latest("t-key") is not None
    assert registry.latest("t-value") is None
    server.run(both + "DROP STREAM s DELETE TOPIC;" + both)
    assert registry.latest("t-key") is not None
    assert registry.latest("t-value") is not None
    server.run("DROP STREAM s DELETE TOPIC;")
    assert registry.latest("t-key") is None
    assert registry.latest("t-value") is None


def test_a_schema_that_the_registry_refuses_is_no_command(
    server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(subject: str, schema: SchemaText) -> int:
        raise FormatError("The schema registry refused the schema: it is incompatible")

    monkeypatch.setattr(server.registry, "register", refuse)
    create = "CREATE STREAM s (v INT) WITH (kafka_topic='t', partitions=1, value_format='AVRO');"
    assert "it is incompatible" in server.refused(create).message
    assert server.log.end() == 0
    assert server.run("SHOW STREAMS;")[0]["streams"] == []


def test_asserts(server: TestServer) -> None:
    server.run(CLICKS)
    (entity,) = server.run("ASSERT TOPIC `clicks` WITH (PARTITIONS=2) TIMEOUT 1 MILLISECOND;")
    assert (entity["@type"], entity["topicName"], entity["exists"]) == (
        "assert_topic",
        "clicks",
        True,
    )
    error = server.refused("ASSERT NOT EXISTS TOPIC `clicks` TIMEOUT 1 MILLISECOND;")
    assert error.code is ErrorCode.ASSERTION_FAILED
    assert error.status == 417


def test_entities_of_statements_before_a_failure(server: TestServer) -> None:
    """What can't be known before it is executed."""
    error = server.refused(CLICKS + "ASSERT TOPIC nothing TIMEOUT 1 MILLISECOND;")
    assert [entity["commandId"] for entity in error.json()["entities"]] == ["stream/CLICKS/create"]


def test_connectors_need_an_address(server: TestServer) -> None:
    assert "ksql.connect.url" in server.refused("SHOW CONNECTORS;").message


def test_the_cluster_is_terminated(server: TestServer) -> None:
    server.run(CLICKS + COUNTS)
    (entity,) = server.server.terminate_cluster(["CO.*"])
    assert entity.json()["commandId"] == "cluster/TerminateCluster/terminate"
    assert server.run("SHOW STREAMS; SHOW TABLES; SHOW QUERIES;")[1]["tables"] == []
    assert [topic.name for topic in server.cluster.topics] == ["clicks"]
    with pytest.raises(Exception, match=r"Invalid pattern: \["):
        server.server.terminate_cluster(["["])


def test_statuses_of_commands(server: TestServer) -> None:
    server.run(CLICKS + COUNTS)
    assert server.server.status("stream/CLICKS/create").status == "SUCCESS"
    assert set(server.server.statuses()) == {"stream/CLICKS/create", "table/COUNTS/create"}
    with pytest.raises(Exception, match="Command not found"):
        server.server.status("stream/NOTHING/create")


def test_a_kafka_that_is_away_is_not_the_fault_of_a_statement(
    server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.run(CLICKS)

    def away(*given: Any) -> Any:
        raise BrokerError("Could not connect", retriable=True)

    monkeypatch.setattr(server.cluster, "produce", away)
    error = server.refused("INSERT INTO clicks VALUES ('a', 1);")
    assert (error.code, error.message) == (ErrorCode.SERVER_ERROR, "Could not connect")
    monkeypatch.setattr(server.log, "end", away)
    assert server.refused("SHOW STREAMS;").code is ErrorCode.SERVER_ERROR
