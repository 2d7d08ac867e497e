"""How a case of suite `rest` goes, with a server that says what it is told to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from headrace.testing.sql import Rehearsal, Written
from tests.tools import QUERY_CASES

from .cases import Case, default_directory, read_cases, renamed
from .rest import Answer, run_rest

CREATE = (
    "CREATE STREAM S (K STRING KEY, V INT) WITH (kafka_topic='test_topic', value_format='JSON');"
)
SELECT = "SELECT * FROM S;"
STATUS = [{"@type": "currentStatus"}]
ROWS = [{"header": {"schema": "`K` STRING"}}, {"row": {"columns": ["a"]}}]
ADMIN = {"admin": {"@type": "currentStatus"}}


@dataclass
class Stub:
    """Says what it is told to, and notes what it was asked."""

    status: Answer = field(default_factory=lambda: Answer(200, STATUS))
    rows: Answer = field(default_factory=lambda: Answer(200, ROWS))
    records: list[Written] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def prepare(self, rehearsal: Rehearsal) -> None:
        self.asked.append(f"prepare {', '.join(topic.name for topic in rehearsal.topics)}")

    def ksql(self, text: str, properties: Mapping[str, Any]) -> Answer:
        self.asked.append(f"ksql {text}")
        return self.status

    def query(self, sql: str, properties: Mapping[str, Any], *, protobuf: bool = False) -> Stub:
        self.asked.append(f"query {sql}{' as protobuf' if protobuf else ''}")
        return self

    def wait_until_active(self) -> None:
        self.asked.append("wait")

    def finish(self) -> Answer:
        return self.rows

    def produce(self, rehearsal: Rehearsal, records: list[dict[str, Any]]) -> None:
        self.asked.append(f"produce {len(records)}")

    def wait_until_processed(self) -> None:
        self.asked.append("wait until processed")

    def collect(self, rehearsal: Rehearsal, topic: str, count: int) -> None:
        rehearsal.log[topic].extend(self.records)


def case(*statements: str, **more: Any) -> Case:
    return Case("id", "file", "T1", list(statements), **more)


INPUT = {"topic": "test_topic", "key": "a", "value": {"V": 1}}


def test_statements_then_inputs_then_queries() -> None:
    stub = Stub()
    queries = [ADMIN, {"query": ROWS}]
    assert run_rest(case(CREATE, SELECT, inputs=[INPUT], responses=queries), stub) is None
    assert stub.asked == [
        "prepare test_topic",
        f"ksql {CREATE}",
        "produce 1",
        "wait until processed",
        f"query {SELECT}",
    ]


def test_a_push_query_is_waited_for() -> None:
    stub = Stub()
    waiting = case(CREATE, SELECT, inputs=[INPUT], waits_for_push_query=True)
    assert run_rest(waiting, stub) is None
    assert stub.asked[2:] == [f"query {SELECT}", "wait", "produce 1"]


def test_queries_again_for_rows_as_protobuf() -> None:
    stub = Stub()
    assert run_rest(case(CREATE, SELECT, wants_protobuf_rows=True), stub) is None
    assert stub.asked[-2:] == [f"query {SELECT}", f"query {SELECT} as protobuf"]


def test_wrong_answers() -> None:
    wrong = run_rest(case(CREATE, SELECT, responses=[ADMIN, {"query": ROWS[:1]}]), Stub())
    assert wrong is not None
    assert wrong.startswith("answer 1: ")


def test_outputs_are_compared() -> None:
    expected = [{"topic": "test_topic", "key": "a", "value": {"V": 1}}]
    good = Stub(records=[Written(b"a", b'{"V": 1}', 5)])
    assert run_rest(case(CREATE, outputs=expected), good) is None
    bad = Stub(records=[Written(b"a", b'{"V": 2}', 5)])
    assert run_rest(case(CREATE, outputs=expected), bad) == "test_topic[0]: value: V is 2, not 1"


ERROR = {
    "type": "io.confluent.ksql.rest.entity.KsqlStatementErrorMessage",
    "message": "No such",
    "status": 400,
}
ANSWER = {"@type": "statement_error", "message": "No such stream", "statementText": SELECT}


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (Answer(400, ANSWER), None),
        (Answer(500, ANSWER), "the status is 500, not 400"),
        (Answer(400, {**ANSWER, "message": "What?"}), "the message is 'What?', not 'No such'"),
        (Answer(400, {**ANSWER, "@type": "generic_error"}), "the error is a generic_error"),
        (Answer(400, {**ANSWER, "statementText": "x"}), "statementText is 'x'"),
        (Answer(200, ROWS), "no error, but expected: No such"),
    ],
)
def test_errors(answer: Answer, wrong: str | None) -> None:
    found = run_rest(case(CREATE, SELECT, expected_error=ERROR), Stub(rows=answer))
    assert found is wrong or (found is not None and wrong is not None and wrong in found)


def test_an_error_of_a_statement() -> None:
    refused = Stub(status=Answer(400, {"message": "no"}))
    assert run_rest(case(CREATE), refused) == "status 400: {'message': 'no'}"


def test_topics_have_names_of_their_own() -> None:
    changed = renamed(case(CREATE, inputs=[INPUT]), "other")
    assert "kafka_topic='other'" in changed.statements[0]
    assert changed.inputs[0]["topic"] == "other"


def test_every_case_goes_its_way() -> None:
    if not default_directory().is_dir():
        QUERY_CASES.is_missing()
    for each in read_cases(default_directory(), suite="rest"):
        assert run_rest(renamed(each, "x"), Stub()) is not None or not each.responses
