"""A task of one operator or a few, with stores that are as simple as can be."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import headrace.runtime.operators  # noqa: F401  (registers the compilers)
from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import NO_HEADERS, Header, TaskId, ValueAndTimestamp, VersionedRecord
from headrace.metrics.task import TaskMetrics
from headrace.runtime.context import Process, RecordContext, TaskContext
from headrace.runtime.operator import OperatorNode, compile_operator
from headrace.serde.outer_join import OuterJoinKey, OuterJoinValue
from headrace.serde.serde import Serde, SerdeLike
from headrace.topology.operators import Operator
from headrace.topology.stores import KeyValueStoreSpec, VersionedStoreSpec

TEXT: Serde[str] = Serde(str.encode, bytes.decode)


def raise_again(key: Any, value: Any, error: Exception) -> None:
    raise error


class Output(NamedTuple):
    key: Any
    value: Any
    timestamp: int
    headers: Sequence[Header] = NO_HEADERS


class Rig:
    """Compiles operators, feeds them records, and keeps what they forward."""

    def __init__(
        self, stores: Mapping[str, Any] | None = None, settings: Mapping[str, Any] | None = None
    ) -> None:
        self.clock = ManualClock(1_000_000)
        self.context = TaskContext(TaskId(0, 0), StreamsConfig(settings), self.clock, TaskMetrics())
        self.stores = dict(stores or {})
        self.times: dict[str, Any] = {}
        self.outputs: list[Output] = []

    @property
    def dropped(self) -> int:
        return self.context.metrics.dropped_records.total

    def collect(self, key: Any, value: Any) -> None:
        self.outputs.append(Output(key, value, self.context.timestamp, self.context.headers))

    def node(self, forward: Process | None = None) -> OperatorNode:
        return OperatorNode(
            name="join",
            context=self.context,
            forward=forward or self.collect,
            children={},
            stores=self.stores,
            resolve_serde=_resolve,
            schedule=_refuse,
            times=self.times,
            failed=raise_again,
        )

    def compile(self, operator: Operator, forward: Process | None = None) -> Process:
        return compile_operator(operator, self.node(forward))

    def send(
        self,
        process: Process,
        key: Any,
        value: Any,
        timestamp: int = 0,
        headers: Sequence[Header] = NO_HEADERS,
    ) -> list[Output]:
        """What comes out for one record. The registers must be as before after it."""
        already = len(self.outputs)
        registers = RecordContext(timestamp, headers, "in", 0, 7, None, None)
        self.context.restore(registers)
        process(key, value)
        assert self.context.snapshot() == registers
        return self.outputs[already:]


def _resolve(serde: SerdeLike, role: str) -> Serde[Any]:
    assert isinstance(serde, Serde)
    return serde


def _refuse(*_: Any) -> None:
    raise AssertionError("joins schedule nothing")


class Windows:
    """A window store that keeps duplicates, and everything for ever."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, Any, Any]] = []

    def put(self, key: Any, value: Any, start: int) -> None:
        if value is not None:
            insort(self.entries, (start, len(self.entries), key, value))

    def fetch(self, key: Any, time_from: int, time_to: int) -> Iterator[tuple[int, Any]]:
        return iter(
            [
                (time, value)
                for time, _, entry_key, value in self.entries
                if entry_key == key and time_from <= time <= time_to
            ]
        )


class Rows:
    """A timestamped key-value store; `cached` ones hold updates back until `flush`."""

    def __init__(self, cached: bool = False) -> None:
        self.spec = KeyValueStoreSpec(name="rows", timestamped=True)
        self.rows: dict[Any, ValueAndTimestamp] = {}
        self._cached = cached
        self._dirty: dict[Any, ValueAndTimestamp | None] = {}
        self._listener: Callable[[Any, Any, Any, int], None] | None = None

    def get(self, key: Any) -> ValueAndTimestamp | None:
        return self.rows.get(key)

    def put(self, key: Any, row: ValueAndTimestamp | None) -> None:
        if row is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = row
        self._dirty[key] = row

    def put_value(self, key: Any, value: Any, timestamp: int) -> None:
        self.put(key, None if value is None else ValueAndTimestamp(value, timestamp))

    def delete(self, key: Any) -> ValueAndTimestamp | None:
        return self.rows.pop(key, None)

    def set_flush_listener(
        self, listener: Callable[[Any, Any, Any, int], None], send_old_values: bool
    ) -> bool:
        self._listener = listener
        return self._cached

    def flush(self) -> None:
        assert self._listener is not None
        for key, row in self._dirty.items():
            value, timestamp = (None, 0) if row is None else row
            self._listener(key, value, None, timestamp)
        self._dirty.clear()


class Versions:
    """A versioned store with endless history, or one that refuses everything before `oldest`."""

    def __init__(self, oldest: int = 0) -> None:
        self.spec = VersionedStoreSpec(name="versions", history_ms=1000)
        self.versions: dict[Any, dict[int, Any]] = {}
        self._oldest = oldest

    def put(self, key: Any, value: Any, timestamp: int) -> int:
        if timestamp < self._oldest:
            return -(2**63)
        versions = self.versions.setdefault(key, {})
        versions[timestamp] = value
        later = [time for time in versions if time > timestamp]
        return min(later) if later else -1

    def get(self, key: Any) -> VersionedRecord | None:
        return self.get_as_of(key, 2**63)

    def get_as_of(self, key: Any, timestamp: int) -> VersionedRecord | None:
        versions = self.versions.get(key, {})
        times = [time for time in versions if time <= timestamp]
        if not times or versions[max(times)] is None:
            return None
        return VersionedRecord(versions[max(times)], max(times))

    def set_flush_listener(self, listener: object, send_old_values: bool) -> bool:
        return False


class Unmatched:
    """An outer join store."""

    def __init__(self) -> None:
        self.lists: dict[OuterJoinKey, list[OuterJoinValue]] = {}

    def put(self, key: OuterJoinKey, value: OuterJoinValue | None) -> None:
        if value is None:
            self.lists.pop(key, None)
        else:
            self.lists.setdefault(key, []).append(value)

    def put_if_absent(self, key: OuterJoinKey, value: None) -> None:
        self.put(key, value)

    def all(self) -> Iterator[tuple[OuterJoinKey, OuterJoinValue]]:
        return iter([(key, value) for key in sorted(self.lists) for value in self.lists[key]])


class Held(NamedTuple):
    key: Any
    value: Any
    registers: RecordContext


class Buffer:
    """The buffer of a stream-table join with grace."""

    def __init__(self, grace_ms: int) -> None:
        self.held: list[Held] = []
        self._grace_ms = grace_ms
        self._stream_time = -1

    def put(self, time: int, key: Any, value: Any, registers: RecordContext) -> bool:
        if self._stream_time - self._grace_ms > registers.timestamp:
            return False
        self._stream_time = max(self._stream_time, registers.timestamp)
        self.held.append(Held(key, value, registers))
        self.held.sort(key=lambda held: (held.registers.timestamp, held.key))
        return True

    def evict_while(self, predicate: Callable[[], bool], callback: Callable[[Held], None]) -> None:
        closed = self._stream_time - self._grace_ms
        while self.held and self.held[0].registers.timestamp <= closed and predicate():
            callback(self.held.pop(0))


class Subscriptions(Rows):
    """A subscription store of text keys."""

    def prefix_scan(self, prefix: bytes) -> Iterator[tuple[Any, ValueAndTimestamp]]:
        length = int.from_bytes(prefix[:4], "big")
        assert len(prefix) == 4 + length
        foreign_key = TEXT.deserialize(prefix[4:])
        return iter(
            [(key, self.rows[key]) for key in sorted(self.rows) if key.foreign_key == foreign_key]
        )
