"""A server in this process, with neither HTTP nor Kafka: what queries answer can be judged with it,
but not how it is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import orjson
from google.protobuf import message_factory, text_format

from headrace.core.errors import HeadraceError
from headrace.sql.errors import SqlError, StatementError
from headrace.sql.formats import SchemaText
from headrace.sql.formats.answers import answer_encoder, protobuf_answer
from headrace.sql.formats.proto_schema import message_descriptor
from headrace.sql.pull.query import Found, PullQuery
from headrace.sql.syntax.ast import InsertValues, QueryStatement, SetProperty
from headrace.sql.syntax.parser import ParsedStatement, parse
from headrace.testing.sql import Rehearsal, SqlTestDriver

from .functions import functions
from .rest import Answer

_SETTINGS = {
    "ksql.query.pull.table.scan.enabled": "true",
    "ksql.query.push.v2.enabled": "true",
}


class LocalServer:
    """Runs the statements of one case."""

    def __init__(self) -> None:
        self._driver: SqlTestDriver | None = None

    def prepare(self, rehearsal: Rehearsal) -> None:
        self._driver = SqlTestDriver(
            _SETTINGS,
            topics=rehearsal.topics,
            registry=rehearsal.registry,
            functions=functions(),
        )

    @property
    def driver(self) -> SqlTestDriver:
        assert self._driver is not None, "it wasn't prepared"
        return self._driver

    def ksql(self, text: str, properties: Mapping[str, Any]) -> Answer:
        entities = []
        try:
            for parsed in parse(text):
                self.driver.execute(parsed, properties)
                if not isinstance(parsed.statement, InsertValues | SetProperty):
                    entities.append({"@type": "currentStatus", "statementText": parsed.text})
        except HeadraceError as error:
            return _refused(error, text)
        return Answer(200, entities)

    def query(
        self, sql: str, properties: Mapping[str, Any], *, protobuf: bool = False
    ) -> LocalQuery:
        return LocalQuery(self.driver, sql, properties, protobuf=protobuf)

    def produce(self, rehearsal: Rehearsal, records: list[dict[str, Any]]) -> None:
        for record in records:
            self.driver.write(record["topic"], rehearsal.written(record))

    def wait_until_processed(self) -> None:
        """Everything is processed at once."""

    def collect(self, rehearsal: Rehearsal, topic: str, count: int) -> None:
        rehearsal.log[topic].extend(self.driver.log[topic])


class LocalQuery:
    """A query of a LocalServer. It is answered when it is finished."""

    def __init__(
        self, driver: SqlTestDriver, sql: str, properties: Mapping[str, Any], *, protobuf: bool
    ) -> None:
        self._driver = driver
        self._sql = sql
        self._properties = properties
        self._protobuf = protobuf

    def wait_until_active(self) -> None:
        """Nothing runs by itself."""

    def finish(self) -> Answer:
        try:
            (parsed,) = parse(self._sql)
            statement = parsed.statement
            if not isinstance(statement, QueryStatement):
                raise SqlError("This isn't a query")
            if statement.query.emit is not None:
                raise SqlError("Not yet: push queries")
            return Answer(200, self._pulled(parsed))
        except HeadraceError as error:
            return _refused(error, self._sql)

    def _pulled(self, parsed: ParsedStatement) -> list[Any]:
        pull = self._driver.engine.pull(parsed, self._properties)
        rows = list(self._rows(pull))
        objects: list[Any]
        if self._protobuf:
            schema, write = protobuf_answer(pull.columns)
            shown = _shower(schema)
            objects = [
                {"header": {"protoSchema": schema}},
                *({"row": shown(write(row))} for row in rows),
            ]
        else:
            encode = answer_encoder([column.type for column in pull.columns])
            header = {"queryId": "query_1", "schema": ", ".join(map(str, pull.columns))}
            objects = [{"header": header}, *({"row": {"columns": encode(row)}} for row in rows)]
        if pull.materialized_by is None:
            limited = pull.limit is not None and len(rows) >= pull.limit
            objects.append({"finalMessage": "Limit Reached" if limited else "Query Completed"})
        answer: list[Any] = json.loads(orjson.dumps(objects), parse_float=Decimal)
        return answer

    def _rows(self, pull: PullQuery) -> Iterator[Any]:
        if pull.materialized_by is not None:
            materialization = pull.materialized_by.materialization
            assert materialization is not None
            store = self._driver.store(pull.materialized_by.id, materialization.store)
            return pull.answer(store)
        return pull.results(
            Found(key, row, record.timestamp, record.headers)
            for record, key, row in self._driver.records(pull.source)
        )


def _shower(schema: str) -> Callable[[bytes], str]:
    """What shows messages of a schema as text."""
    descriptor = message_descriptor(SchemaText("PROTOBUF", schema), None, None)
    message_class = message_factory.GetMessageClass(descriptor)

    def shown(data: bytes) -> str:
        return str(text_format.MessageToString(message_class.FromString(data)))

    return shown


def _refused(error: HeadraceError, sql: str) -> Answer:
    message = str(getattr(error, "message", error))
    if isinstance(error, StatementError):
        message = f"{message}\nStatement: {error.statement}"
    return Answer(400, {"@type": "statement_error", "message": message, "statementText": sql})
