"""Runs a case, and says what is wrong with what came of it."""

from __future__ import annotations

import base64
import time
from collections import defaultdict
from dataclasses import dataclass, field
from struct import pack, unpack_from
from typing import Any

from headrace.core.errors import StreamsError
from headrace.core.record import Header
from headrace.core.windowed import Window
from headrace.sql.engine import Engine, InsertedRow
from headrace.sql.errors import ParseError, SqlError, StatementError
from headrace.sql.formats import FormatInfo, InMemorySchemaRegistry, RowFormat
from headrace.sql.metastore import DataSource, WindowKind
from headrace.sql.queries import PersistentQuery
from headrace.sql.syntax.parser import ParsedStatement, parse
from headrace.sql.topics import InMemoryTopics
from headrace.testing import TopologyTestDriver

from .cases import Case
from .compare import difference
from .functions import functions
from .post import check_post
from .records import TopicRecords
from .topics import prepare

_DEFAULTS = {
    "auto.offset.reset": "earliest",
    "cache.max.bytes.buffering": 0,
    "ksql.service.id": "some.ksql.service.id",
    "ksql.headers.columns.enabled": "true",
}


@dataclass(frozen=True)
class Written:
    """A record in a topic."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[Header, ...] = ()


class WrongCase(Exception):
    """The case didn't come to what it is about."""


@dataclass
class Run:
    """The run of one case: an engine of its own, and what is in the topics."""

    case: Case
    registry: InMemorySchemaRegistry = field(default_factory=InMemorySchemaRegistry)
    topics: InMemoryTopics = field(default_factory=InMemoryTopics)
    log: defaultdict[str, list[Written]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        settings = {**_DEFAULTS, **self.case.properties}
        self.engine = Engine(
            settings, topics=self.topics, registry=self.registry, functions=functions()
        )
        self.internal_topics: set[str] = set()

    # Statements

    def statements(self) -> list[PersistentQuery]:
        """Parse all, then execute one by one; gives the queries that were started."""
        parsed = parse("\n".join(self.case.statements))
        prepare(self.case, (part.statement for part in parsed), self.topics, self.registry)
        queries: list[PersistentQuery] = []
        for index, statement in enumerate(parsed):
            try:
                self._execute(statement, queries)
            except SqlError as error:
                if index < len(parsed) - 1:
                    raise WrongCase(f"statement {index + 1} failed: {error}") from error
                raise
        if not queries and self.case.expected_exception is None:
            raise WrongCase("no statement started a query")
        return queries

    def _execute(self, statement: ParsedStatement, queries: list[PersistentQuery]) -> None:
        outcome = self.engine.execute(statement)
        if isinstance(outcome, PersistentQuery):
            queries.append(outcome)
        elif isinstance(outcome, InsertedRow):
            timestamp = outcome.timestamp
            if timestamp is None:
                timestamp = int(time.time() * 1000)
            self.log[outcome.topic].append(Written(outcome.key, outcome.value, timestamp))

    # Records

    def feed(self, queries: list[PersistentQuery]) -> None:
        """Pipe the inputs through the queries, one query after another."""
        inputs = [(record["topic"], self._written(record)) for record in self.case.inputs]
        for topic, written in inputs:
            self.log[topic].append(written)
        fed = {topic for topic, _ in inputs}
        for query in queries:
            with TopologyTestDriver(
                query.topology, query.settings, wall_clock_start_ms=0
            ) as driver:
                for topic, written in inputs:
                    if topic in query.source_topics:
                        self._pipe(driver, query, topic, written)
                for topic in dict.fromkeys(query.source_topics):
                    if topic not in fed:
                        for written in list(self.log[topic]):
                            self._pipe(driver, query, topic, written)

    def _pipe(
        self, driver: TopologyTestDriver, query: PersistentQuery, topic: str, record: Written
    ) -> None:
        driver.pipe(topic, record.key, record.value, record.timestamp, record.headers)
        for sent in driver.take_output():
            if sent.topic == query.sink_topic:
                assert sent.timestamp is not None
                self.log[sent.topic].append(
                    Written(sent.key, sent.value, sent.timestamp, tuple(sent.headers))
                )
            else:
                self.internal_topics.add(sent.topic)

    def _written(self, record: dict[str, Any]) -> Written:
        source = self._source(record["topic"])
        key, value = self._parts(record["topic"], source)
        data = key.to_bytes(record.get("key"))
        window = record.get("window")
        if window is not None and data is not None:
            if window["type"].lower() == "session":
                data += pack(">qq", window["end"], window["start"])
            else:
                data += pack(">q", window["start"])
        return Written(
            data,
            value.to_bytes(record.get("value")),
            record.get("timestamp") or 0,
            _headers(record),
        )

    def _source(self, topic: str) -> DataSource | None:
        """The source whose formats a topic has."""
        return next((s for s in self.engine.metastore if s.topic == topic), None)

    def _parts(self, topic: str, source: DataSource | None) -> tuple[TopicRecords, TopicRecords]:
        nothing = RowFormat(FormatInfo("JSON"), ())
        key = nothing if source is None else source.key_format
        value = nothing if source is None else source.value_format
        exact = str(self.case.properties.get("use.exact.numeric.comparison", True)).lower()
        return (
            TopicRecords(key, topic, self.registry, exact=exact == "true"),
            TopicRecords(value, topic, self.registry, exact=exact == "true"),
        )

    # Comparing

    def differences(self) -> list[str]:
        """What is different from the outputs and post conditions of the case."""
        found = []
        expected: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for record in self.case.outputs:
            expected[record["topic"]].append(record)
        for topic, records in expected.items():
            found += self._topic_differences(topic, records)
        return found + check_post(self)

    def _topic_differences(self, topic: str, expected: list[dict[str, Any]]) -> list[str]:
        source = self._source(topic)
        key, value = self._parts(topic, source)
        written = self.log[topic]
        found = []
        for index, (record, actual) in enumerate(zip(expected, written, strict=False)):
            wrong = self._record_difference(record, actual, source, key, value)
            if wrong is not None:
                found.append(f"{topic}[{index}]: {wrong}")
        if len(written) != len(expected):
            shown = [self._shown(w, source, key, value) for w in written[:20]]
            found.append(f"{topic} has {len(written)} records, not {len(expected)}: {shown}")
        return found

    def _record_difference(
        self,
        expected: dict[str, Any],
        actual: Written,
        source: DataSource | None,
        key: TopicRecords,
        value: TopicRecords,
    ) -> str | None:
        raw_key, window = _split_window(actual.key, source)
        wrong = difference(expected.get("key"), key.from_bytes(raw_key))
        if wrong is not None:
            return f"key: {wrong}"
        wrong = difference(expected.get("value"), value.from_bytes(actual.value))
        if wrong is not None:
            return f"value: {wrong}"
        timestamp = expected.get("timestamp")
        any_time = timestamp is None or (timestamp == 0 and not self.case.inputs)
        if not any_time and timestamp != actual.timestamp:
            return f"timestamp: it is {actual.timestamp}, not {timestamp}"
        if _expected_window(expected) != _actual_window(window, source):
            return f"window: it is {window}, not {expected.get('window')}"
        if _headers(expected) != actual.headers:
            return f"headers: they are {actual.headers}, not {_headers(expected)}"
        return None

    def _shown(
        self, record: Written, source: DataSource | None, key: TopicRecords, value: TopicRecords
    ) -> str:
        raw_key, window = _split_window(record.key, source)
        at = f" {window.start}-{window.end}" if window else ""
        try:
            content = f"{key.from_bytes(raw_key)!r}{at}: {value.from_bytes(record.value)!r}"
        except Exception:
            content = f"{record.key!r}: {record.value!r}"
        return f"{content} @{record.timestamp}"


def _headers(record: dict[str, Any]) -> tuple[Header, ...]:
    return tuple(
        (
            header["KEY"],
            None if header.get("VALUE") is None else base64.b64decode(header["VALUE"]),
        )
        for header in record.get("headers") or ()
    )


def _split_window(
    key: bytes | None, source: DataSource | None
) -> tuple[bytes | None, Window | None]:
    if key is None or source is None or source.window is None:
        return key, None
    if source.window.kind is WindowKind.SESSION:
        end, start = unpack_from(">qq", key, len(key) - 16)
        return key[:-16], Window(start, end)
    (start,) = unpack_from(">q", key, len(key) - 8)
    return key[:-8], Window(start, start + (source.window.size_ms or 0))


def _expected_window(record: dict[str, Any]) -> tuple[int, int, bool] | None:
    window = record.get("window")
    if window is None:
        return None
    return window["start"], window["end"], window["type"].lower() == "session"


def _actual_window(
    window: Window | None, source: DataSource | None
) -> tuple[int, int, bool] | None:
    if window is None or source is None or source.window is None:
        return None
    return window.start, window.end, source.window.kind is WindowKind.SESSION


# Errors

_TYPES: dict[str, type[Exception]] = {
    "KsqlException": SqlError,
    "KsqlStatementException": StatementError,
    "ParseFailedException": ParseError,
    "StreamsException": StreamsError,
}


def run(case: Case) -> str | None:
    """Why the case fails, or None if it passes."""
    this = Run(case)
    try:
        queries = this.statements()
        this.feed(queries)
    except WrongCase as error:
        return str(error)
    except (SqlError, StreamsError) as error:
        if case.expected_exception is None:
            return f"{type(error).__name__}: {error}"
        return _exception_difference(case.expected_exception, error)
    except Exception as error:
        return f"{type(error).__name__}: {error} ({_place(error)})"
    if case.expected_exception is not None:
        return f"no error, but expected: {case.expected_exception.get('message')}"
    try:
        return "\n".join(this.differences()) or None
    except Exception as error:
        return f"while comparing: {type(error).__name__}: {error} ({_place(error)})"


def _exception_difference(expected: dict[str, Any], error: Exception) -> str | None:
    kind = _TYPES[expected["type"].rpartition(".")[2]]
    if not isinstance(error, kind):
        return f"the error is {type(error).__name__}, not {kind.__name__}: {error}"
    message = expected.get("message")
    if message is None:
        return None
    texts = [getattr(error, "message", str(error))]
    if isinstance(error, StatementError):
        texts.append(f"{error.message}\nStatement: {error.statement}")
    if any(message in text for text in texts):
        return None
    return f"the message is {texts[0]!r}, not {message!r}"


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    place = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} in {code.co_name}"
        trace = trace.tb_next
    return place
