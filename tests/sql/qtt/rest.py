"""Runs a case of suite `rest` against a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from headrace.sql.errors import ParseError
from headrace.sql.syntax.parser import ParsedStatement, parse
from headrace.testing.sql import Rehearsal

from .cases import Case
from .responses import responses_difference
from .topics import prepare


class Answer(NamedTuple):
    """What a server said: numbers with a fraction are Decimals."""

    status: int
    content: Any

    @property
    def is_error(self) -> bool:
        return self.status >= 400


class RunningQuery(Protocol):
    """A query that was sent."""

    def wait_until_active(self) -> None:
        """Until its header came, and it reads what is produced from now on."""
        ...

    def finish(self) -> Answer:
        """All objects of its answer, when it has come to its end."""
        ...


class Server(Protocol):
    """The server under test, and the Kafka that it uses."""

    def prepare(self, rehearsal: Rehearsal) -> None:
        """Create the topics, and register the schemas, that a rehearsal has."""
        ...

    def ksql(self, text: str, properties: Mapping[str, Any]) -> Answer:
        """`POST /ksql`."""
        ...

    def query(
        self, sql: str, properties: Mapping[str, Any], *, protobuf: bool = False
    ) -> RunningQuery:
        """`POST /query` in v1 JSON, or `POST /query-stream` with protobuf rows."""
        ...

    def produce(self, rehearsal: Rehearsal, records: list[dict[str, Any]]) -> None:
        """Write records to their topics, by Kafka's default partitioner."""
        ...

    def wait_until_processed(self) -> None:
        """Until the persistent queries have read all that was produced."""
        ...

    def collect(self, rehearsal: Rehearsal, topic: str, count: int) -> None:
        """Read the records of a topic into the log of a rehearsal: `count` of them, and those that
        come within a moment after them."""
        ...


def run_rest(case: Case, server: Server) -> str | None:
    """Why the case fails, or None if it passes.

    The statements are rehearsed as well, so that formats of topics are known here; whether they
    are right is not looked at there.
    """
    rehearsal = Rehearsal(case.properties)
    statements, queries = _split(case)
    parsed = _parsed(case)
    prepare(case, [part.statement for part in parsed], rehearsal)
    server.prepare(rehearsal)
    answers: list[Any] = []
    if statements:
        answer = server.ksql("\n".join(statements), case.properties)
        if answer.is_error:
            return _error_difference(case, answer)
        answers.extend(answer.content)
    if case.expected_error is None:
        for part in parsed[: len(statements)]:
            rehearsal.execute(part)
        rehearsal.log.clear()
    wrong = _run_queries(case, server, rehearsal, queries, answers)
    if wrong is not None or case.expected_error is not None:
        return wrong
    for topic in dict.fromkeys(record["topic"] for record in case.outputs):
        expected = sum(record["topic"] == topic for record in case.outputs)
        server.collect(rehearsal, topic, expected)
    found = rehearsal.differences(case.outputs, any_time_for_zero=not case.inputs)
    different = responses_difference(
        case.responses, answers, case.statements, verify_order=case.verifies_order
    )
    return "\n".join(found + ([different] if different else [])) or None


def _parsed(case: Case) -> list[ParsedStatement]:
    """The statements; those that can't be parsed are left out, if an error is expected."""
    parsed = []
    for text in case.statements:
        try:
            parsed += parse(text)
        except ParseError:
            if case.expected_error is None:
                raise
    return parsed


def _split(case: Case) -> tuple[list[str], list[str]]:
    """Statements for /ksql, and queries for /query."""
    first = next(
        (at for at, text in enumerate(case.statements) if text.startswith("SELECT ")),
        len(case.statements),
    )
    return case.statements[:first], case.statements[first:]


def _run_queries(
    case: Case, server: Server, rehearsal: Rehearsal, queries: list[str], answers: list[Any]
) -> str | None:
    if case.waits_for_push_query:
        (sql,) = queries
        running = server.query(sql, case.properties)
        running.wait_until_active()
        server.produce(rehearsal, case.inputs)
        return _taken(case, running.finish(), answers)
    if case.inputs:
        server.produce(rehearsal, case.inputs)
    if case.expected_error is None:
        server.wait_until_processed()
    for protobuf in (False, True) if case.wants_protobuf_rows else (False,):
        for sql in queries:
            answer = server.query(sql, case.properties, protobuf=protobuf).finish()
            wrong = _taken(case, answer, answers)
            if wrong is not None or answer.is_error:
                return wrong
    if case.expected_error is not None and queries:
        return f"no error, but expected: {case.expected_error.get('message')}"
    return None


def _taken(case: Case, answer: Answer, answers: list[Any]) -> str | None:
    if answer.is_error:
        return _error_difference(case, answer)
    answers.append(answer.content)
    return None


def _error_difference(case: Case, answer: Answer) -> str | None:
    expected = case.expected_error
    content = answer.content if isinstance(answer.content, dict) else {}
    if expected is None:
        return f"status {answer.status}: {answer.content}"
    if expected.get("status", answer.status) != answer.status:
        return f"the status is {answer.status}, not {expected['status']}: {answer.content}"
    if expected.get("message", "") not in str(content.get("message")):
        return f"the message is {content.get('message')!r}, not {expected['message']!r}"
    if str(expected.get("type", "")).endswith("KsqlStatementErrorMessage"):
        if content.get("@type") != "statement_error":
            return f"the error is a {content.get('@type')}, not a statement_error"
        if case.statements[-1] not in str(content.get("statementText")):
            return f"statementText is {content.get('statementText')!r}"
    return None
