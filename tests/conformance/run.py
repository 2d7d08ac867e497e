"""Runs a case, and records what a case records (parts 9 to 11 of the README)."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from headrace import ProducerRecord, Topology, handlers
from headrace.core.errors import (
    ArgumentError,
    ConfigError,
    FlushError,
    NullArgumentError,
    StateError,
    StreamsError,
    TopologyError,
)
from headrace.testing import TopologyTestDriver
from headrace.topology.stores import (
    KeyValueStoreSpec,
    OuterJoinStoreSpec,
    SessionStoreSpec,
    SubscriptionStoreSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)

from .build import build
from .cases import Case
from .extractors import timestamp_extractor
from .serdes import decode, encode, serde, to_json

Form = dict[str, Any]

WALL_CLOCK_START_MS = 1_000_000_000_000

_ERROR_CLASSES: tuple[tuple[type[Exception], str], ...] = (
    (NullArgumentError, "NullPointerException"),
    (ArgumentError, "IllegalArgumentException"),
    (TopologyError, "TopologyException"),
    (StateError, "IllegalStateException"),
    (ConfigError, "ConfigException"),
    (FlushError, "ProcessorStateException"),
    (StreamsError, "StreamsException"),
)
"""The class that stands for ours in the corpus; the first that fits."""


def run(case: Case) -> Form:
    """The results of a case, in the form in which the corpus has them.

    An error has its text in `detail`, which the corpus doesn't have.
    """
    return Run(case).results()


class Run:
    """One run of a case, up to its end or its first error."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._topics = Topics(case["topology"])
        self._step: int | None = None
        self._observed: list[Form] = []
        self._sent: dict[str, list[Form]] = {"output": [], "internal": [], "changelogs": []}
        self._results: Form = {}

    def results(self) -> Form:
        phase = "build"
        try:
            topology = build(self._case, settings(self._case), self._observe)
            self._results["describe"] = str(topology.describe())
            if "input" in self._case:
                phase = "start"
                driver = self._started(topology)
                phase = "run"
                self._run(driver)
                phase = "close"
                driver.close()
        except Exception as error:
            self._results["error"] = _error_form(error, phase)
            if phase == "run":
                self._results["error"]["cause"] = self._step
            self._results.pop("stores", None)
            self._results.pop("dropped", None)
        self._results["observed"] = self._observed
        return {**self._results, **self._sent}

    def _started(self, topology: Topology) -> TopologyTestDriver:
        start = self._case.get("wall_clock_start_ms", WALL_CLOCK_START_MS)
        return TopologyTestDriver(topology, settings(self._case), wall_clock_start_ms=start)

    def _observe(self, seen: Form) -> None:
        if "branch_keys" not in seen:
            seen = {
                "op": seen["op"],
                "cause": self._step,
                "key": to_json(seen["key"]),
                "value": to_json(seen["value"]),
            }
        self._observed.append(seen)

    def _run(self, driver: TopologyTestDriver) -> None:
        for self._step, step in enumerate(self._case["input"]):  # noqa: B020 the step is observed
            if "advance_wall_clock_ms" in step:
                driver.advance_wall_clock_time(
                    timedelta(milliseconds=step["advance_wall_clock_ms"])
                )
            else:
                self._pipe(driver, step)
            for record in driver.take_output():
                self._sent[_kind_of_topic(record.topic)].append(self._record_form(record))
        self._results["stores"] = self._stores(driver)
        self._results["dropped"] = driver.dropped_records

    def _pipe(self, driver: TopologyTestDriver, step: Form) -> None:
        headers = [(name, _from_b64(text)) for name, text in step.get("headers", ())]
        key, value = self._topics.encoded(step)
        driver.pipe(step["topic"], key, value, step["ts"], headers)

    def _record_form(self, record: ProducerRecord) -> Form:
        form: Form = {"cause": self._step, "topic": record.topic}
        if _kind_of_topic(record.topic) == "output":
            key_serde, value_serde = self._topics.written_with(record.topic)
            if record.topic == self._case["config"].get("errors.dead.letter.queue.topic.name"):
                key_serde = value_serde = "bytes"
            form["key"] = decode(key_serde, record.key)
            form["value"] = decode(value_serde, record.value)
        form["ts"] = record.timestamp
        if record.headers:
            form["headers"] = _headers_form(record.headers)
        return {**form, "key_b64": _to_b64(record.key), "value_b64": _to_b64(record.value)}

    def _stores(self, driver: TopologyTestDriver) -> Form:
        return {name: self._store_form(store) for name, store in driver.stores().items()}

    def _store_form(self, store: Any) -> Form:
        match store.spec:
            case KeyValueStoreSpec():
                return {"kind": "key_value", "rows": list(_rows(store.all()))}
            case WindowStoreSpec():
                try:
                    return {"kind": "window", "rows": list(_rows(store.all()))}
                except ArgumentError:
                    return {"kind": "unreadable"}
            case SessionStoreSpec():
                return {"kind": "session", "rows": list(_rows(store.fetch_range(None, None)))}
            case VersionedStoreSpec():
                return {"kind": "versioned", "rows": list(self._versioned_rows(store))}
            case OuterJoinStoreSpec() | SubscriptionStoreSpec() if not any(store.all()):
                return {"kind": "key_value", "rows": []}  # contents unread only if there are any
        return {"kind": "internal"}

    def _versioned_rows(self, store: Any) -> Iterator[Form]:
        records = [step for step in self._case["input"] if "topic" in step]
        times = sorted({step["ts"] for step in records})
        keys = {key: None for key in map(self._topics.key_of, records) if key is not None}
        for key in keys:
            yield {
                "key": to_json(key),
                "latest": _version_form(store.get(key)),
                "as_of": [[time, _version_form(store.get_as_of(key, time))] for time in times],
            }


class Topics:
    """With what serdes the topics of a topology are read and written."""

    def __init__(self, operations: list[Form]) -> None:
        self._sources = [op for op in operations if op["op"] in _SOURCES]
        self._sinks = [op for op in operations if op["op"] in ("to", "add_sink")]

    def encoded(self, step: Form) -> tuple[bytes | None, bytes | None]:
        source = self._source_of(step["topic"])
        return (
            _from_b64(step["key_b64"])
            if "key_b64" in step
            else encode(source.get("key_serde"), step["key"]),
            _from_b64(step["value_b64"])
            if "value_b64" in step
            else encode(source.get("value_serde"), step["value"]),
        )

    def key_of(self, step: Form) -> Any:
        """The key of an input record, as the functions see it."""
        key, _ = self.encoded(step)
        name = self._source_of(step["topic"]).get("key_serde") or "string"
        return None if key is None else serde(name).deserialize(key)

    def written_with(self, topic: str) -> tuple[str | None, str | None]:
        """The names of the serdes to read an output topic with."""
        named = [sink for sink in self._sinks if sink.get("topic") == topic]
        dynamic = [sink for sink in self._sinks if "extractor" in sink]
        sink = next(iter(named + dynamic), {})
        return (
            sink.get("key_serde", sink.get("decode_key_serde")),
            sink.get("value_serde", sink.get("decode_value_serde")),
        )

    def _source_of(self, topic: str) -> Form:
        return next((source for source in self._sources if _reads(source, topic)), {})


_SOURCES = (
    "stream",
    "table",
    "global_table",
    "add_source",
    "add_global_store",
    "add_read_only_state_store",
)


def _reads(source: Form, topic: str) -> bool:
    if "pattern" in source:
        return re.fullmatch(source["pattern"], topic) is not None
    return topic in source.get("topics", [source.get("topic")])


def _resume_always(*_: Any) -> handlers.Response:
    return handlers.Response.resume()


_HANDLERS = {"continue": handlers.log_and_continue, "fail": handlers.log_and_fail}
_PRODUCTION_HANDLERS = {"continue": _resume_always, "fail": handlers.log_and_fail}
_STORE_SUPPLIERS = {"in_memory": "in_memory", "rocks_db": "persistent"}

_SETTINGS: dict[str, Any] = {
    "default.key.serde": serde,
    "default.value.serde": serde,
    "default.timestamp.extractor": timestamp_extractor,
    "deserialization.exception.handler": _HANDLERS.__getitem__,
    "processing.exception.handler": _HANDLERS.__getitem__,
    "production.exception.handler": _PRODUCTION_HANDLERS.__getitem__,
    "dsl.store.suppliers.class": _STORE_SUPPLIERS.__getitem__,
}
"""How the values that stand for a class become ours."""


def settings(case: Case) -> dict[str, Any]:
    given = {
        key: _SETTINGS[key](value) if key in _SETTINGS else value
        for key, value in case["config"].items()
    }
    return {"application.id": "app", **given}


def _kind_of_topic(topic: str) -> str:
    if topic.startswith("app-") and topic.endswith("-changelog"):
        return "changelogs"
    if topic.startswith("app-") and topic.endswith(("-repartition", "-topic")):
        return "internal"
    return "output"


def _rows(entries: Iterable[tuple[Any, Any]]) -> Iterator[Form]:
    for key, value in entries:
        if not hasattr(value, "timestamp"):
            yield {"key": to_json(key), "value": to_json(value)}
            continue
        row = {"key": to_json(key), "value": to_json(value.value), "ts": value.timestamp}
        headers = getattr(value, "headers", ())
        yield {**row, "headers": _headers_form(headers)} if headers else row


def _headers_form(headers: Iterable[tuple[str, bytes | None]]) -> list[list[str | None]]:
    return [[name, _to_b64(value)] for name, value in headers]


def _version_form(version: Any) -> Form | None:
    if version is None:
        return None
    form = {"value": to_json(version.value), "ts": version.timestamp}
    return form if version.valid_to is None else {**form, "valid_to": version.valid_to}


def _error_form(error: Exception, phase: str) -> Form:
    chain = [*_causes(error)]
    return {
        "phase": phase,
        "class": _class_of(error),
        "chain": [{"class": _class_of(cause), "message": str(cause)} for cause in chain],
        "detail": " <- ".join(f"{type(e).__name__}: {e}" for e in (error, *chain)),
    }


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause = error.__cause__
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _class_of(error: BaseException) -> str:
    for kind, name in _ERROR_CLASSES:
        if isinstance(error, kind):
            return name
    return type(error).__name__


def _to_b64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _from_b64(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
