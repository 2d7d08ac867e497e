"""Tests written in SQL: INSERT VALUES puts rows in, ASSERT VALUES says what comes out.

```
--@test: clicks are counted
CREATE STREAM clicks (user STRING KEY, page INT) WITH (kafka_topic='clicks', format='JSON', …);
CREATE TABLE counts AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;
INSERT INTO clicks (user, page) VALUES ('anna', 1);
ASSERT VALUES counts (user, n) VALUES ('anna', 1);
```

A test ends where the next begins. `--@expected.error: name` and `--@expected.message: text` say
that its last statement fails.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from headrace.core.errors import HeadraceError
from headrace.sql.building.serdes import Serdes
from headrace.sql.definition import declared_schema
from headrace.sql.engine import Engine, InsertedRow
from headrace.sql.errors import ParseError, SqlError, StatementError
from headrace.sql.expressions import Scope, compile_expression, evaluator
from headrace.sql.formats import InMemorySchemaRegistry, Row, SchemaRegistry
from headrace.sql.functions.registry import FunctionRegistry, builtin_functions
from headrace.sql.metastore import DataSource
from headrace.sql.queries import PersistentQuery
from headrace.sql.schema import Column
from headrace.sql.syntax.ast import (
    AssertSource,
    AssertTombstone,
    AssertValues,
    Cast,
    Expression,
    Literal,
)
from headrace.sql.syntax.parser import ParsedStatement, parse
from headrace.sql.topics import InMemoryTopics
from headrace.sql.types import BIGINT
from headrace.testing.driver import TopologyTestDriver
from headrace.testing.sql.rehearsal import SETTINGS, Written

_DIRECTIVE = re.compile(
    r"^[ \t]*--@(test|expected\.error|expected\.message):[ \t]*(.*?)[ \t\r]*$", re.MULTILINE
)


@dataclass(frozen=True)
class ScriptTest:
    """One test of a script."""

    name: str
    text: str
    expected_error: str | None = None
    expected_message: str | None = None


def script_tests(text: str) -> list[ScriptTest]:
    """The tests of a script; all of it is one, if it doesn't name any."""
    starts = [match for match in _DIRECTIVE.finditer(text) if match[1] == "test"]
    if not starts:
        return [_test("", text)]
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [
        _test(match[2], text[match.start() : end]) for match, end in zip(starts, ends, strict=True)
    ]


def _test(name: str, text: str) -> ScriptTest:
    said = {match[1]: match[2] for match in _DIRECTIVE.finditer(text)}
    return ScriptTest(name, text, said.get("expected.error"), said.get("expected.message"))


def run_test(test: ScriptTest, settings: Mapping[str, Any] | None = None) -> str | None:
    """Why a test fails, or None if it passes."""
    expects_error = test.expected_error is not None or test.expected_message is not None
    try:
        with SqlTestDriver(settings) as driver:
            driver.run(test.text)
    except AssertionFailed as failure:
        return str(failure)
    except HeadraceError as error:
        if not expects_error:
            return f"{type(error).__name__}: {error}"
        return _difference(test, error)
    return "it was to fail, but didn't" if expects_error else None


_ERRORS: tuple[tuple[type[HeadraceError], str], ...] = (
    (ParseError, "ParseFailedException"),
    (StatementError, "KsqlStatementException"),
    (SqlError, "KsqlException"),
    (HeadraceError, "StreamsException"),
)


def _difference(test: ScriptTest, error: HeadraceError) -> str | None:
    names = {name for kind, name in _ERRORS if isinstance(error, kind)}
    names |= {kind.__name__ for kind in type(error).__mro__}
    wanted = (test.expected_error or "").rpartition(".")[2]
    if wanted and wanted not in names:
        return f"it failed with {type(error).__name__}, not {wanted}: {error}"
    if test.expected_message is not None and test.expected_message not in str(error):
        return f"it failed with {str(error)!r}, not {test.expected_message!r}"
    return None


class AssertionFailed(HeadraceError):
    """An ASSERT of a test doesn't hold."""


class SqlTestDriver:
    """An engine whose queries run at once: a row that is inserted goes through all of them before
    the next statement. Use it as a context manager, or call `close`."""

    __test__ = False

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        topics: InMemoryTopics | None = None,
        registry: SchemaRegistry | None = None,
        functions: FunctionRegistry | None = None,
    ) -> None:
        self._functions = functions or builtin_functions()
        self.registry = registry or InMemorySchemaRegistry()
        self.engine = Engine(
            {**SETTINGS, **(settings or {})},
            topics=topics,
            registry=self.registry,
            functions=self._functions,
        )
        self.log: defaultdict[str, list[Written]] = defaultdict(list)
        """What is in the topics."""
        self._read: Counter[str] = Counter()
        self._running: dict[str, tuple[PersistentQuery, TopologyTestDriver]] = {}
        self._now = 0

    def run(self, text: str) -> None:
        """Execute the statements of a text."""
        for statement in parse(text, tests=True):
            self.execute(statement)

    def execute(self, parsed: ParsedStatement, overrides: Mapping[str, Any] | None = None) -> None:
        """Execute a statement; `overrides` are settings for it alone. Raises AssertionFailed if it
        is an ASSERT that doesn't hold."""
        statement = parsed.statement
        if isinstance(statement, AssertValues | AssertTombstone):
            self._assert_row(statement)
        elif isinstance(statement, AssertSource):
            self._assert_source(statement)
        else:
            outcome = self.engine.execute(parsed, overrides)
            if isinstance(outcome, PersistentQuery):
                self._start(outcome)
            elif isinstance(outcome, InsertedRow):
                timestamp = self._now if outcome.timestamp is None else outcome.timestamp
                self.write(outcome.topic, Written(outcome.key, outcome.value, timestamp))
            self._stop_others()

    def write(self, topic: str, record: Written) -> None:
        """Put a record into a topic, and through all queries that read it or what follows."""
        waiting = deque([(topic, record)])
        while waiting:
            topic, record = waiting.popleft()
            self.log[topic].append(record)
            for query, driver in list(self._running.values()):
                if topic in query.source_topics:
                    waiting.extend(_piped(query, driver, topic, record))

    def store(self, query_id: str, name: str) -> Any:
        """A store of a running query."""
        return self._running[query_id][1].store(name)

    def records(self, source: DataSource) -> Iterator[tuple[Written, Any, Row | None]]:
        """What is in the topic of a source: records, each with its key and its row."""
        serdes = Serdes(self.registry, "")
        key, value = serdes.source_key(source), serdes.source_value(source)
        for record in self.log[source.topic]:
            yield (
                record,
                None if record.key is None else key.deserialize(record.key),
                None if record.value is None else value.deserialize(record.value),
            )

    def close(self) -> None:
        """Close the queries."""
        for _, driver in self._running.values():
            driver.close()
        self._running.clear()

    def __enter__(self) -> SqlTestDriver:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self.close()

    def _start(self, query: PersistentQuery) -> None:
        """A query begins with what is in its topics already."""
        old = self._running.pop(query.id, None)
        if old is not None:
            old[1].close()
        driver = TopologyTestDriver(query.topology, query.settings, wall_clock_start_ms=0)
        self._running[query.id] = (query, driver)
        for topic in dict.fromkeys(query.source_topics):
            for record in list(self.log[topic]):
                for target, written in _piped(query, driver, topic, record):
                    self.write(target, written)

    def _stop_others(self) -> None:
        for id in [id for id in self._running if id not in self.engine.queries]:
            self._running.pop(id)[1].close()

    # Assertions

    def _assert_row(self, statement: AssertValues | AssertTombstone) -> None:
        source = self.engine.metastore.get(statement.target)
        names = statement.columns or tuple(column.name for column in source.schema.columns())
        if len(names) != len(statement.values):
            raise SqlError(f"{len(names)} columns are named, but {len(statement.values)} values")
        expected = dict(zip(names, self._values(source, names, statement.values), strict=True))
        written = self.log[source.topic]
        position = self._read[source.topic]
        if position >= len(written):
            raise AssertionFailed(
                f"Expected another record in {source.name}, but there are only {len(written)}"
            )
        self._read[source.topic] += 1
        actual = self._row(source, position)
        wants_tombstone = isinstance(statement, AssertTombstone)
        is_tombstone = written[position].value is None
        if wants_tombstone != is_tombstone or any(
            actual.get(name) != value for name, value in expected.items()
        ):
            shown = "a tombstone of " if wants_tombstone else ""
            got = "a tombstone of " if is_tombstone else ""
            raise AssertionFailed(
                f"Expected record does not match actual: record {position + 1} of {source.name} "
                f"is {got}{actual}, not {shown}{expected}"
            )

    def _values(
        self, source: DataSource, names: tuple[str, ...], values: tuple[Expression, ...]
    ) -> Iterator[Any]:
        for name, value in zip(names, values, strict=True):
            column = Column("ROWTIME", BIGINT) if name == "ROWTIME" else source.schema.find(name)
            if column is None:
                raise SqlError(f"{source.name} has no column {name}")
            if isinstance(value, Literal) and value.value is None:
                yield None
                continue
            scope = Scope((), {}, self._functions)
            yield evaluator(compile_expression(Cast(value, column.type), scope), _raise)()

    def _row(self, source: DataSource, position: int) -> dict[str, Any]:
        record, key, value = next(islice(self.records(source), position, None))
        if source.window is not None and key is not None:
            key = key.key
        return {
            **{c.name: v for c, v in zip(source.schema.key, key or (), strict=False)},
            **{c.name: v for c, v in zip(source.schema.value, value or (), strict=False)},
            "ROWTIME": record.timestamp,
        }

    def _assert_source(self, statement: AssertSource) -> None:
        source = self.engine.metastore.get(statement.name)
        if source.kind is not statement.kind:
            raise AssertionFailed(
                f"Expected {statement.name} to be a {statement.kind.value}, but it is a "
                f"{source.kind.value}"
            )
        wanted = declared_schema(statement.columns, self.engine.metastore.types)
        if statement.columns and wanted != source.schema:
            raise AssertionFailed(
                f"Expected schema does not match actual for {statement.name}: it is "
                f"{source.schema}, not {wanted}"
            )
        actual = {
            "KAFKA_TOPIC": source.topic,
            "KEY_FORMAT": source.key_format.info.name,
            "VALUE_FORMAT": source.value_format.info.name,
        }
        for name, literal in statement.properties:
            got = actual.get(name)
            same = got == literal.value or (
                name.endswith("_FORMAT") and got == str(literal.value).upper()
            )
            if got is not None and not same:
                raise AssertionFailed(
                    f"Expected {name} of {statement.name} to be {literal.value}, but it is {got}"
                )


def _piped(
    query: PersistentQuery, driver: TopologyTestDriver, topic: str, record: Written
) -> Iterator[tuple[str, Written]]:
    driver.pipe(topic, record.key, record.value, record.timestamp, record.headers)
    for sent in driver.take_output():
        if sent.topic == query.sink_topic:
            yield (
                sent.topic,
                Written(sent.key, sent.value, sent.timestamp or 0, tuple(sent.headers)),
            )


def _raise(what: str, error: Exception) -> None:
    raise SqlError(what) from error
