"""The processors and transformers that the corpus' topologies name (part 8 of its README)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from headrace import (
    FixedKeyProcessor,
    Headers,
    Processor,
    PunctuationType,
    Record,
    ValueAndTimestamp,
    ValueTransformer,
)
from headrace.topology.stores import KeyValueStoreSpec, VersionedStoreSpec

from .commands import COMMANDS
from .functions import Function, boom, mapper
from .text import to_long, to_str

Spec = dict[str, Any]
AnyRecord = Any
"""A Record or a FixedKeyRecord."""


class Behaviour:
    """What a processor does, the same in `process` and in `process_values`."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.context: Any = None

    def init(self, context: Any) -> None:
        self.context = context

    def process(self, record: AnyRecord) -> None:
        raise NotImplementedError

    @property
    def store(self) -> Any:
        return self.context.get_state_store(self.spec["store"])

    def emit(
        self,
        record: AnyRecord,
        value: Any,
        timestamp: int | None = None,
        child: str | None = None,
    ) -> None:
        """Forward a new record: the given one with another value, and maybe timestamp."""
        changed = record.with_value(value)
        if timestamp is not None:
            changed = changed.with_timestamp(timestamp)
        self.context.forward(changed, child)

    def schedule(self, kind: str, interval: int, callback: Callable[[int], None]) -> Any:
        clock = PunctuationType.STREAM_TIME if kind == "stream" else PunctuationType.WALL_CLOCK_TIME
        return self.context.schedule(timedelta(milliseconds=interval), clock, callback)


class PassThrough(Behaviour):
    def process(self, record: AnyRecord) -> None:
        self.context.forward(record)


class Drop(Behaviour):
    def process(self, record: AnyRecord) -> None:
        pass


class Map(Behaviour):
    def process(self, record: AnyRecord) -> None:
        changed = record
        if "key" in self.spec:
            changed = record.with_key(_function(self.spec["key"])(record.key, record.value))
        value = _function(self.spec.get("value", "identity"))(record.key, record.value)
        self.emit(changed, value)


class FailIf(Behaviour):
    def process(self, record: AnyRecord) -> None:
        if record.value is not None and to_str(record.value) == self.spec["value"]:
            raise boom(self.spec["value"])
        self.context.forward(record)


class Route(Behaviour):
    def process(self, record: AnyRecord) -> None:
        child = self.spec.get("default")
        if record.value is not None:
            text = to_str(record.value)
            routes = self.spec["routes"].items()
            child = next((to for prefix, to in routes if text.startswith(prefix)), child)
        if child is not None:
            self.context.forward(record, None if child == "*" else child)


class FanOut(Behaviour):
    def process(self, record: AnyRecord) -> None:
        step = self.spec.get("ts_step", 0)
        for i in range(self.spec["n"]):
            self.emit(record, f"{to_str(record.value)}#{i}", record.timestamp + i * step)


class Retime(Behaviour):
    def process(self, record: AnyRecord) -> None:
        self.emit(record, record.value, record.timestamp + self.spec["delta"])


class ChangeHeaders(Behaviour):
    def process(self, record: AnyRecord) -> None:
        headers = record.headers if self.spec.get("in_place") else Headers(record.headers)
        for name in self.spec.get("remove", ()):
            headers.remove_all(name)
        for name, text in self.spec.get("add", ()):
            headers.add(name, text.encode())
        self.context.forward(record.with_headers(headers))


class Metadata(Behaviour):
    def process(self, record: AnyRecord) -> None:
        context, source = self.context, self.context.record_metadata
        self.emit(
            record,
            f"{source.topic}/{source.partition}/{source.offset} ts={record.timestamp} "
            f"stream={context.current_stream_time_ms} wall={context.current_system_time_ms} "
            f"app={context.application_id}",
        )


class Count(Behaviour):
    def process(self, record: AnyRecord) -> None:
        count = to_long(self.store.get(record.key)) + 1
        self.store.put(record.key, count)
        self.emit(record, count)


class Upsert(Behaviour):
    def process(self, record: AnyRecord) -> None:
        store, key, value = self.store, record.key, record.value
        if isinstance(store.spec, VersionedStoreSpec):
            store.put(key, value, record.timestamp)
        elif value is None:
            store.delete(key)
        else:
            store.put(key, _stored(store, value, record.timestamp))


class Lookup(Behaviour):
    def process(self, record: AnyRecord) -> None:
        key = _function(self.spec.get("key", "key"))(record.key, record.value)
        found = None if key is None else self.store.get(key)
        self.emit(record, f"{to_str(record.value)}/{to_str(found)}")


class Accumulate(Behaviour):
    def process(self, record: AnyRecord) -> None:
        value = record.value
        if value is None:
            return
        key = to_str(value.get(self.spec["id_field"]))
        total = to_long(self.store.get(key)) + to_long(value.get(self.spec["add_field"]))
        self.store.put(key, total)
        self.emit(record, {**value, self.spec["out_field"]: total})


class Dedup(Behaviour):
    def process(self, record: AnyRecord) -> None:
        window, timestamp = self.spec["window_ms"], record.timestamp
        identity = to_str(record.value)
        seen = self.store.fetch(identity, max(0, timestamp - window), timestamp + window)
        if next(iter(seen), None) is None:
            self.store.put(identity, timestamp, timestamp)
            self.context.forward(record)


class Punctuator(Behaviour):
    def init(self, context: Any) -> None:
        super().init(context)
        self._schedules = [self._scheduled(schedule) for schedule in self.spec["schedules"]]

    def _scheduled(self, schedule: Spec) -> Any:
        fired = 0

        def fire(time: int) -> None:
            nonlocal fired
            fired += 1
            text = (
                f"{fired}@{time} stream={self.context.current_stream_time_ms} "
                f"meta={to_str(self.context.record_metadata is not None)}"
            )
            self.context.forward(Record(schedule["label"], text, time), schedule.get("child"))
            if fired == schedule.get("cancel_after"):
                cancellable.cancel()

        cancellable = self.schedule(schedule["kind"], schedule["interval"], fire)
        return cancellable

    def process(self, record: AnyRecord) -> None:
        if record.value == "cancel":
            for schedule in self._schedules:
                schedule.cancel()
        if self.spec.get("forward"):
            self.context.forward(record)


class Buffer(Behaviour):
    def init(self, context: Any) -> None:
        super().init(context)
        self.schedule(self.spec["kind"], self.spec["interval"], self._drain)

    def _drain(self, time: int) -> None:
        for key, value in self.store.all():
            self.context.forward(Record(key, value, time))
            self.store.delete(key)

    def process(self, record: AnyRecord) -> None:
        key, value = record.key, record.value
        if key is None:
            return
        if value is None:
            self.store.delete(key)
            return
        old = self.store.get(key)
        self.store.put(key, value if old is None else f"{old},{value}")


class Command(Behaviour):
    """The value is a command to the store, its result the new value."""

    def process(self, record: AnyRecord) -> None:
        if record.value is None:
            return
        name, *arguments = record.value.split("|")
        command = COMMANDS[self.spec["type"]][name]
        self.emit(record, command(self.store, record.timestamp, *arguments))


_BEHAVIOURS: dict[str, type[Behaviour]] = {
    "passthrough": PassThrough,
    "drop": Drop,
    "map": Map,
    "fail_if": FailIf,
    "route": Route,
    "fan_out": FanOut,
    "retime": Retime,
    "headers": ChangeHeaders,
    "metadata": Metadata,
    "count": Count,
    "upsert": Upsert,
    "lookup": Lookup,
    "accumulate": Accumulate,
    "dedup": Dedup,
    "punctuator": Punctuator,
    "buffer": Buffer,
    "kv_command": Command,
    "window_command": Command,
    "session_command": Command,
    "versioned_command": Command,
}


class CorpusProcessor(Processor[Any, Any, Any, Any]):
    def __init__(self, spec: Spec) -> None:
        self._behaviour = _BEHAVIOURS[spec["type"]](spec)

    def init(self, context: Any) -> None:
        self._behaviour.init(context)

    def process(self, record: Any) -> None:
        self._behaviour.process(record)


class CorpusFixedKeyProcessor(FixedKeyProcessor[Any, Any, Any]):
    def __init__(self, spec: Spec) -> None:
        self._behaviour = _BEHAVIOURS[spec["type"]](spec)

    def init(self, context: Any) -> None:
        self._behaviour.init(context)

    def process(self, record: Any) -> None:
        self._behaviour.process(record)


class CorpusTransformer(ValueTransformer[Any, Any, Any]):
    context: Any

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    def transform(self, key: Any, value: Any) -> Any:
        match self._spec["type"]:
            case "fn":
                return _function(self._spec["fn"])(key, value)
            case "with_timestamp":
                return f"{to_str(value)}@{self.context.timestamp}"
            case "call_count":
                store = self.context.get_state_store(self._spec["store"])
                count = to_long(store.get(key)) + 1
                store.put(key, count)
                return f"{to_str(value)}#{count}"
        raise KeyError(self._spec["type"])


def processor(spec: Spec) -> Callable[[], CorpusProcessor]:
    return lambda: CorpusProcessor(spec)


def fixed_key_processor(spec: Spec) -> Callable[[], CorpusFixedKeyProcessor]:
    return lambda: CorpusFixedKeyProcessor(spec)


def transformer(spec: Spec) -> Callable[[], CorpusTransformer]:
    return lambda: CorpusTransformer(spec)


def _function(spec: str | list[str]) -> Function:
    function = mapper(spec)
    assert function is not None
    return function


def _stored(store: Any, value: Any, timestamp: int) -> Any:
    timestamped = isinstance(store.spec, KeyValueStoreSpec) and store.spec.timestamped
    return ValueAndTimestamp(value, timestamp) if timestamped else value
