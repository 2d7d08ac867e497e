"""Runs statements over records that are given as JSON, and says how the results differ from those
that are expected."""

from __future__ import annotations

import base64
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from struct import pack, unpack_from
from typing import Any

from headrace.core.record import Header
from headrace.core.windowed import Window
from headrace.sql.engine import Engine, InsertedRow
from headrace.sql.formats import FormatInfo, InMemorySchemaRegistry, RowFormat
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.metastore import DataSource, WindowKind
from headrace.sql.queries import PersistentQuery
from headrace.sql.syntax.parser import ParsedStatement
from headrace.sql.topics import InMemoryTopics
from headrace.testing.driver import TopologyTestDriver
from headrace.testing.sql.comparison import difference
from headrace.testing.sql.records import TopicRecords

SETTINGS: Mapping[str, Any] = {
    "auto.offset.reset": "earliest",
    "cache.max.bytes.buffering": 0,
    "ksql.service.id": "some.ksql.service.id",
    "ksql.headers.columns.enabled": "true",
}
"""What is set unless something else is said: every update comes out."""

_EXACT = "use.exact.numeric.comparison"
_SHOWN = 20


@dataclass(frozen=True)
class Written:
    """A record in a topic."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[Header, ...] = ()


class Rehearsal:
    """An engine with topics and a registry of its own, and the queries that were started.

    Records are JSON objects with `topic`, `key`, `value`, `timestamp`, `window` (`start`, `end`,
    `type`) and `headers` (`KEY`, `VALUE` in base64). Keys and values are JSON of what the format of
    their topic has; DELIMITED is text.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        functions: FunctionRegistry | None = None,
    ) -> None:
        settings = {**SETTINGS, **(settings or {})}
        self.registry = InMemorySchemaRegistry()
        self.topics = InMemoryTopics()
        self.engine = Engine(
            settings, topics=self.topics, registry=self.registry, functions=functions
        )
        self.queries: list[PersistentQuery] = []
        self.log: defaultdict[str, list[Written]] = defaultdict(list)
        """What is in the topics."""
        self.internal_topics: set[str] = set()
        """Topics that queries wrote to besides their sinks."""
        self._exact = str(settings.get(_EXACT, True)).lower() == "true"

    def execute(self, statement: ParsedStatement) -> None:
        """Execute a statement. INSERT VALUES writes its row at once."""
        outcome = self.engine.execute(statement)
        if isinstance(outcome, PersistentQuery):
            self.queries.append(outcome)
        elif isinstance(outcome, InsertedRow):
            timestamp = outcome.timestamp
            if timestamp is None:
                timestamp = int(time.time() * 1000)
            self.log[outcome.topic].append(Written(outcome.key, outcome.value, timestamp))

    # Records

    def feed(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write the records to their topics, then run the queries, one after another: each reads
        all that the earlier ones wrote."""
        inputs = [(record["topic"], self.written(record)) for record in records]
        for topic, written in inputs:
            self.log[topic].append(written)
        fed = {topic for topic, _ in inputs}
        for query in self.queries:
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

    def written(self, record: Mapping[str, Any]) -> Written:
        """A record as it is in its topic."""
        topic = _Topic(self, record["topic"])
        data = topic.key.to_bytes(record.get("key"))
        window = record.get("window")
        if window is not None and data is not None:
            if window["type"].lower() == "session":
                data += pack(">qq", window["end"], window["start"])
            else:
                data += pack(">q", window["start"])
        value = topic.value.to_bytes(record.get("value"))
        return Written(data, value, record.get("timestamp") or 0, _headers(record))

    # Comparing

    def differences(
        self, expected: Iterable[Mapping[str, Any]], *, any_time_for_zero: bool = False
    ) -> list[str]:
        """How what is in topics differs from what is expected in them. Topics in which nothing is
        expected may have anything. A record that says no timestamp may have any; with
        `any_time_for_zero` also one that says 0."""
        by_topic: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for record in expected:
            by_topic[record["topic"]].append(record)
        found = []
        for name, records in by_topic.items():
            topic = _Topic(self, name)
            found += topic.differences(records, self.log[name], any_time_for_zero)
        return found

    def records_of(self, topic: str, rows: RowFormat) -> TopicRecords:
        """Writes and reads keys or values of a topic."""
        return TopicRecords(rows, topic, self.registry, exact=self._exact)

    def source_of(self, topic: str) -> DataSource | None:
        """The source whose formats a topic has."""
        return next((s for s in self.engine.metastore if s.topic == topic), None)


class _Topic:
    """A topic, with the formats of its keys and values."""

    def __init__(self, rehearsal: Rehearsal, name: str) -> None:
        source = rehearsal.source_of(name)
        nothing = RowFormat(FormatInfo("JSON"), ())
        self._name = name
        self._window = None if source is None else source.window
        self.key = rehearsal.records_of(name, nothing if source is None else source.key_format)
        self.value = rehearsal.records_of(name, nothing if source is None else source.value_format)

    def differences(
        self,
        expected: Sequence[Mapping[str, Any]],
        written: Sequence[Written],
        any_time_for_zero: bool,
    ) -> list[str]:
        found = []
        for index, (record, actual) in enumerate(zip(expected, written, strict=False)):
            wrong = self._difference(record, actual, any_time_for_zero)
            if wrong is not None:
                found.append(f"{self._name}[{index}]: {wrong}")
        if len(written) != len(expected):
            shown = [self._shown(record) for record in written[:_SHOWN]]
            found.append(f"{self._name} has {len(written)} records, not {len(expected)}: {shown}")
        return found

    def _difference(
        self, expected: Mapping[str, Any], actual: Written, any_time_for_zero: bool
    ) -> str | None:
        raw_key, window = self._split_window(actual.key)
        wrong = difference(expected.get("key"), self.key.from_bytes(raw_key))
        if wrong is not None:
            return f"key: {wrong}"
        wrong = difference(expected.get("value"), self.value.from_bytes(actual.value))
        if wrong is not None:
            return f"value: {wrong}"
        timestamp = expected.get("timestamp")
        any_time = timestamp is None or (timestamp == 0 and any_time_for_zero)
        if not any_time and timestamp != actual.timestamp:
            return f"timestamp: it is {actual.timestamp}, not {timestamp}"
        if _expected_window(expected) != self._shown_window(window):
            return f"window: it is {self._shown_window(window)}, not {_expected_window(expected)}"
        if _headers(expected) != actual.headers:
            return f"headers: they are {actual.headers}, not {_headers(expected)}"
        return None

    def _split_window(self, key: bytes | None) -> tuple[bytes | None, Window | None]:
        if key is None or self._window is None:
            return key, None
        if self._window.kind is WindowKind.SESSION:
            end, start = unpack_from(">qq", key, len(key) - 16)
            return key[:-16], Window(start, end)
        (start,) = unpack_from(">q", key, len(key) - 8)
        return key[:-8], Window(start, start + (self._window.size_ms or 0))

    def _shown_window(self, window: Window | None) -> tuple[int, int, str] | None:
        if window is None or self._window is None:
            return None
        is_session = self._window.kind is WindowKind.SESSION
        return window.start, window.end, "session" if is_session else "time"

    def _shown(self, record: Written) -> str:
        raw_key, window = self._split_window(record.key)
        at = f" in {window.start}-{window.end}" if window else ""
        try:
            key, value = self.key.from_bytes(raw_key), self.value.from_bytes(record.value)
        except Exception:
            key, value = record.key, record.value
        return f"{key!r}{at}: {value!r} @{record.timestamp}"


def _expected_window(record: Mapping[str, Any]) -> tuple[int, int, str] | None:
    window = record.get("window")
    return None if window is None else (window["start"], window["end"], window["type"].lower())


def _headers(record: Mapping[str, Any]) -> tuple[Header, ...]:
    return tuple(
        (
            header["KEY"],
            None if header.get("VALUE") is None else base64.b64decode(header["VALUE"]),
        )
        for header in record.get("headers") or ()
    )
