"""An operator alone: fed by hand, with plain stores, its output written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import headrace.runtime.operators  # noqa: F401 - registers the compilers
from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import (
    NO_HEADERS,
    Change,
    Header,
    Headers,
    TaskId,
    ValueAndTimestamp,
    VersionedRecord,
)
from headrace.core.windowed import Window, Windowed
from headrace.metrics.level import RecordingLevel
from headrace.metrics.task import TaskMetrics
from headrace.runtime.context import RecordContext, TaskContext
from headrace.runtime.operator import OperatorNode, compile_operator
from headrace.serde.serde import Serde
from headrace.topology.operators import Operator
from headrace.topology.stores import (
    KeyValueStoreSpec,
    SessionStoreSpec,
    StoreSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)


def raise_again(key: Any, value: Any, error: Exception) -> None:
    raise error


class Out(NamedTuple):
    """What an operator forwarded."""

    key: Any
    value: Any
    timestamp: int
    headers: Sequence[Header] = NO_HEADERS


class CachedEntries:
    """The flush listener's side of a store: with `cached`, updates wait for `flush`."""

    def __init__(self, spec: StoreSpec, *, cached: bool = False) -> None:
        self.spec = spec
        self.name = spec.name
        self.context: TaskContext
        self._cached = cached
        self._send_old_values = False
        self._listener: Callable[[Any, Any, Any, int], None] | None = None
        self._dirty: dict[Any, tuple[Any, Any, RecordContext]] = {}

    def set_flush_listener(self, listener: Any, send_old_values: bool) -> bool:
        if self._cached:
            self._listener, self._send_old_values = listener, send_old_values
        return self._cached

    def _updated(self, key: Any, old: Any, new: Any) -> None:
        if self._cached:
            before = self._dirty.pop(key, (old,))[0]
            self._dirty[key] = (before, new, self.context.snapshot())

    def flush(self) -> None:
        dirty, self._dirty = self._dirty, {}
        assert self._listener is not None
        for key, (old, new, registers) in dirty.items():
            if old is None and new is None:
                continue
            before = self.context.snapshot()
            self.context.restore(registers)
            old_value = self._value(old) if self._send_old_values else None
            self._listener(key, self._value(new), old_value, self._timestamp(key, new))
            self.context.restore(before)

    def _value(self, row: Any) -> Any:
        return None if row is None else row.value

    def _timestamp(self, key: Any, row: Any) -> int:
        return self.context.timestamp if row is None else int(row.timestamp)


class TimestampedStore(CachedEntries):
    def __init__(self, name: str = "store", *, cached: bool = False) -> None:
        super().__init__(KeyValueStoreSpec(name=name, timestamped=True), cached=cached)
        self.rows: dict[Any, ValueAndTimestamp] = {}

    def aggregation(self, initializer: Any, aggregator: Any) -> Any:
        def aggregate(store_key: bytes, key: Any, value: Any, timestamp: int) -> None:
            old, latest = self.get_value(key) or (initializer(), timestamp)
            self.put_value(key, aggregator(key, value, old), max(timestamp, latest))

        return aggregate

    def serialize_key(self, key: Any) -> bytes:
        return str(key).encode()

    def get(self, key: Any) -> ValueAndTimestamp | None:
        return self.rows.get(key)

    def get_value(self, key: Any) -> tuple[Any, int] | None:
        return self.rows.get(key)

    def put_value(self, key: Any, value: Any, timestamp: int) -> None:
        old = self.rows.pop(key, None)
        new = None if value is None else ValueAndTimestamp(value, timestamp)
        if new is not None:
            self.rows[key] = new
        self._updated(key, old, new)


class VersionedStore:
    """Keeps every version; refuses what is more than `history` behind the newest of all."""

    def __init__(self, name: str = "store", history: int = 10**9) -> None:
        self.spec = VersionedStoreSpec(name=name, history_ms=history)
        self.name = name
        self._history = history
        self._observed = -1
        self._versions: dict[Any, dict[int, Any]] = {}

    def set_flush_listener(self, listener: Any, send_old_values: bool) -> bool:
        return False

    def put(self, key: Any, value: Any, timestamp: int) -> int:
        self._observed = max(self._observed, timestamp)
        if timestamp < self._observed - self._history:
            return -(2**63)
        versions = self._versions.setdefault(key, {})
        versions[timestamp] = value
        return min((other for other in versions if other > timestamp), default=-1)

    def get(self, key: Any) -> VersionedRecord | None:
        return self.get_as_of(key, 2**62)

    def get_as_of(self, key: Any, timestamp: int) -> VersionedRecord | None:
        versions = self._versions.get(key, {})
        at = max((other for other in versions if other <= timestamp), default=None)
        if at is None or versions[at] is None:
            return None
        return VersionedRecord(versions[at], at)


class WindowStore(CachedEntries):
    def __init__(self, name: str = "store", *, size: int = 10, cached: bool = False) -> None:
        spec = WindowStoreSpec(name=name, retention_ms=10**12, window_ms=size, timestamped=True)
        super().__init__(spec, cached=cached)
        self._size = size
        self.rows: dict[tuple[Any, int], ValueAndTimestamp] = {}

    def aggregation(self, initializer: Any, aggregator: Any) -> Any:
        def aggregate(store_key: bytes, key: Any, value: Any, timestamp: int) -> None:
            start = int(store_key.rpartition(b"@")[2])
            old, latest = self.fetch_value(key, start) or (initializer(), timestamp)
            self.put_value(key, aggregator(key, value, old), start, max(timestamp, latest))

        return aggregate

    def serialize_key(self, key: Any) -> bytes:
        return str(key).encode()

    def key_suffix(self, start: int) -> bytes:
        return b"@%d" % start

    def fetch_one(self, key: Any, start: int) -> ValueAndTimestamp | None:
        return self.rows.get((key, start))

    def fetch_value(self, key: Any, start: int) -> tuple[Any, int] | None:
        return self.rows.get((key, start))

    def put_value(self, key: Any, value: Any, start: int, timestamp: int) -> None:
        old = self.rows.pop((key, start), None)
        new = None if value is None else ValueAndTimestamp(value, timestamp)
        if new is not None:
            self.rows[key, start] = new
        self._updated(self._windowed(key, start), old, new)

    def fetch(self, key: Any, low: int, high: int) -> Iterator[tuple[int, ValueAndTimestamp]]:
        for other, start in sorted(self.rows):
            if other == key and low <= start <= high:
                yield start, self.rows[key, start]

    def backward_fetch(
        self, key: Any, low: int, high: int
    ) -> Iterator[tuple[int, ValueAndTimestamp]]:
        yield from reversed(list(self.fetch(key, low, high)))

    def fetch_all(self, low: int, high: int) -> Iterator[tuple[Windowed[Any], ValueAndTimestamp]]:
        for start, key in sorted((start, key) for key, start in self.rows):
            if low <= start <= high:
                yield self._windowed(key, start), self.rows[key, start]

    def _windowed(self, key: Any, start: int) -> Windowed[Any]:
        return Windowed(key, Window(start, start + self._size))


class SessionStore(CachedEntries):
    def __init__(self, name: str = "store", *, cached: bool = False, headers: bool = False) -> None:
        spec = SessionStoreSpec(name=name, retention_ms=10**12, headers=headers)
        super().__init__(spec, cached=cached)
        self.keeps_headers = headers
        self.rows: dict[Windowed[Any], Any] = {}

    def put(self, key: Windowed[Any], value: Any) -> None:
        self._updated(key, self.rows.get(key), value)
        self.rows[key] = value

    def remove(self, key: Windowed[Any]) -> None:
        self._updated(key, self.rows.pop(key), None)

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        return self.rows.get(Windowed(key, Window(start, end)))

    def find_sessions(
        self, key: Any, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[Any], Any]]:
        for session in sorted(self.rows):
            start, end = session.window
            if session.key == key and end >= earliest_end and start <= latest_start:
                yield session, self.rows[session]

    def find_sessions_by_end(
        self, earliest_end: int, latest_end: int
    ) -> Iterator[tuple[Windowed[Any], Any]]:
        for session in sorted(self.rows, key=lambda session: (session.window.end, session.key)):
            if earliest_end <= session.window.end <= latest_end:
                yield session, self.rows[session]

    def _value(self, row: Any) -> Any:
        return row

    def _timestamp(self, key: Any, row: Any) -> int:
        end: int = key.window.end
        return end


class Eviction(NamedTuple):
    key: Any
    value: Change
    registers: RecordContext


class SuppressBuffer:
    """Every entry has a size of 10 bytes."""

    def __init__(self) -> None:
        self.name = "buffer"
        self.entries: dict[Any, tuple[int, Eviction]] = {}

    def put(self, time: int, key: Any, change: Change, registers: RecordContext) -> None:
        time = self.entries[key][0] if key in self.entries else time
        self.entries[key] = (time, Eviction(key, change, registers))

    @property
    def min_timestamp(self) -> int:
        return min((time for time, _ in self.entries.values()), default=2**63 - 1)

    @property
    def num_records(self) -> int:
        return len(self.entries)

    @property
    def buffer_size(self) -> int:
        return 10 * len(self.entries)

    def evict_while(
        self, predicate: Callable[[], bool], callback: Callable[[Eviction], None]
    ) -> None:
        while self.entries and predicate():
            key = min(self.entries, key=lambda key: self.entries[key][0])
            callback(self.entries.pop(key)[1])

    def prior_value(self, key: Any) -> tuple[bool, ValueAndTimestamp | None]:
        if key not in self.entries:
            return False, None
        old = self.entries[key][1].value.old
        return True, None if old is None else ValueAndTimestamp(old, -1)


class Bench:
    """One operator on a bench: `feed` it, then look at `out` and at what was dropped.

    Its stores are given, or made by `stores_of(bench)` if they need its context.
    """

    def __init__(
        self,
        operator: Operator,
        *stores: Any,
        children: Sequence[str] = (),
        config: dict[str, Any] | None = None,
        stores_of: Callable[[Bench], list[Any]] | None = None,
    ) -> None:
        self.clock = ManualClock(0)
        self.context = TaskContext(
            TaskId(0, 0), StreamsConfig(config), self.clock, TaskMetrics(RecordingLevel.DEBUG)
        )
        self.out: list[Out] = []
        self.out_of: dict[str, list[Out]] = {name: [] for name in children}
        for store in stores:
            store.context = self.context
        self.node = self._node([*stores, *(stores_of(self) if stores_of else ())])
        self.process = compile_operator(operator, self.node)
        for init in self.node.on_init:
            init()

    def _node(self, stores: Sequence[Any]) -> OperatorNode:
        return OperatorNode(
            name="node",
            context=self.context,
            forward=self._write_to(self.out),
            children={name: self._write_to(out) for name, out in self.out_of.items()},
            stores={store.name: store for store in stores},
            resolve_serde=lambda serde, role: Serde(bytes, bytes),
            schedule=lambda *arguments: SimpleNamespace(cancel=lambda: None),
            times={},
            failed=raise_again,
        )

    def _write_to(self, out: list[Out]) -> Callable[[Any, Any], None]:
        def write(key: Any, value: Any) -> None:
            out.append(Out(key, value, self.context.timestamp, self.context.headers))

        return write

    def feed(
        self, key: Any, value: Any, timestamp: int = 0, headers: Sequence[Header] = NO_HEADERS
    ) -> list[Out]:
        """Process a record, and give what was forwarded by that."""
        before = len(self.out)
        registers = RecordContext(timestamp, headers, "topic", 0, 7, None, None)
        self.context.restore(registers)
        self.process(key, value)
        assert self.context.snapshot() == registers
        return self.out[before:]

    def drain(self, store: CachedEntries) -> list[Out]:
        """Flush a store, and give what was forwarded by that."""
        before = len(self.out)
        store.flush()
        return self.out[before:]

    def close(self) -> None:
        for close in self.node.on_close:
            close()

    @property
    def dropped(self) -> int:
        return self.context.metrics.dropped_records.total


HEADERS = Headers([("h", b"1")])
