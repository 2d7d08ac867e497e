"""The topologies that are simulated. Each record says where it came from, so that every effect of
it can be told; functions need not be deterministic."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from itertools import count
from typing import Any

from headrace import (
    BufferConfig,
    JoinWindows,
    KStream,
    Materialized,
    Record,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    serdes,
    stores,
)
from headrace.topology.processor import PunctuationType

TEXT, NUMBER = serdes.string(), serdes.long()
WINDOW, GRACE = timedelta(seconds=4), timedelta(seconds=2)
REACH, FOREVER = timedelta(seconds=2), timedelta(days=1)

IN, ROWS, EXTRA = "in", "rows", "a-first"
TIME, CLOCK = "time", "clock"
"""What the keys of a punctuation's records begin with."""
OUT, OTHER_OUT, EXTRA_OUT = "out", "out-too", "out-extra"
STORE = "kept"
_KEPT = Materialized(STORE, key=TEXT, value=TEXT)
DELETE = "!"
"""The end of a value that deletes what a key has."""


@dataclass(frozen=True)
class Case:
    """A topology, in two versions: `extra` has one more source, before all others.

    `by_origin` are topics to which several tasks write the same partition; `undetermined` those
    whose records depend on how two inputs interleave, and are judged by `rule`.
    """

    name: str
    build: Callable[[StreamsBuilder], None]
    inputs: tuple[str, ...] = (IN,)
    settings: dict[str, Any] = field(default_factory=dict)
    rule: str = ""
    can_grow: bool = False

    @cache  # noqa: B019  of the few that there are
    def topology(self, extra: bool) -> Topology:
        builder = StreamsBuilder()
        if extra:
            builder.stream(EXTRA, key=TEXT, value=TEXT).to(EXTRA_OUT, key=TEXT, value=TEXT)
        self.build(builder)
        return builder.build(self.settings)

    @property
    def outputs(self) -> tuple[str, ...]:
        return OUT, OTHER_OUT

    @property
    def is_cached(self) -> bool:
        return bool(self.settings.get(CACHE))

    def __hash__(self) -> int:
        return hash(self.name)


CACHE = "statestore.cache.max.bytes"
_MARK = re.compile(rb"#\d+")
_nonces: Iterator[int] = count()


def begin() -> None:
    """The same numbers again in every run."""
    global _nonces
    _nonces = count(1)


def mark(value: str) -> str:
    """Another one whenever it is asked: no two attempts give the same."""
    return f"{value}#{next(_nonces)}"


def unmarked(value: bytes) -> bytes:
    return _MARK.sub(b"", value)


def origin_of(text: str) -> str:
    return text.partition("#")[0]


# What is built


def _input(builder: StreamsBuilder) -> KStream[str, str]:
    return builder.stream(IN, key=TEXT, value=TEXT)


def _pipe(builder: StreamsBuilder) -> None:
    marked = _input(builder).map_values(mark)
    marked.to(OUT, key=TEXT, value=TEXT)
    marked.to(OTHER_OUT, key=TEXT, value=TEXT)


def _gather(key: str, value: str, gathered: str) -> Any:
    return None if value.endswith(DELETE) else f"{gathered} {value}"


def _nothing_yet() -> str:
    return ""


def _gathered(builder: StreamsBuilder) -> None:
    table = (
        _input(builder)
        .group_by_key(key=TEXT, value=TEXT)
        .aggregate(_nothing_yet, _gather, _KEPT, name="gather")
    )
    stream = table.to_stream()
    stream.to(OUT, key=TEXT, value=TEXT)
    stream.map_values(lambda value: value and mark(value)).to(OTHER_OUT, key=TEXT, value=TEXT)


def _gather_marked(key: str, value: str, gathered: str) -> Any:
    return _gather(key, value, gathered) and mark(f"{gathered} {value}")


def _gathered_marked(builder: StreamsBuilder) -> None:
    """State that no second attempt would come to."""
    grouped = _input(builder).group_by_key(key=TEXT, value=TEXT)
    table = grouped.aggregate(_nothing_yet, _gather_marked, _KEPT, name="gather")
    table.to_stream().to(OUT, key=TEXT, value=TEXT)


def _counted(builder: StreamsBuilder) -> None:
    table = (
        _input(builder).group_by_key(key=TEXT, value=TEXT).count(Materialized(STORE), name="count")
    )
    table.to_stream().to(OUT, key=TEXT, value=NUMBER)


def _windowed(builder: StreamsBuilder) -> None:
    table = (
        _input(builder)
        .group_by_key(key=TEXT, value=TEXT)
        .windowed_by(TimeWindows.of_size(WINDOW, grace=GRACE))
        .aggregate(_nothing_yet, _gather, _KEPT, name="gather")
    )
    table.to_stream().to(OUT, key=serdes.time_windowed(TEXT, WINDOW), value=TEXT)


def _suppressed(builder: StreamsBuilder) -> None:
    table = (
        _input(builder)
        .group_by_key(key=TEXT, value=TEXT)
        .windowed_by(TimeWindows.of_size(WINDOW, grace=GRACE))
        .count(Materialized(STORE), name="count")
        .suppress(Suppressed.until_window_closes(BufferConfig.unbounded(), "held-back"))
    )
    table.to_stream().to(OUT, key=serdes.time_windowed(TEXT, WINDOW), value=NUMBER)


def _other_key(key: str, value: str) -> str:
    """By the offset: records of all partitions meet."""
    return f"g{int(value.rstrip(DELETE).rpartition('@')[2]) % 5}"


def _regrouped(builder: StreamsBuilder) -> None:
    table = (
        _input(builder)
        .map_values(mark)
        .group_by(_by_origin, key=TEXT, value=TEXT, name="regrouped")
        .aggregate(_nothing_yet, _gather_origin, _KEPT, name="gather")
    )
    table.to_stream().to(OUT, key=TEXT, value=TEXT)


def _by_origin(key: str, value: str) -> str:
    return _other_key(key, origin_of(value))


def _gather_origin(key: str, value: str, gathered: str) -> Any:
    return _gather(key, origin_of(value), gathered)


def _pair(value: str, other: str | None) -> str:
    return f"{value}+{other}"


def _joined_with_table(builder: StreamsBuilder) -> None:
    rows = builder.table(ROWS, STORE, key=TEXT, value=TEXT)
    _input(builder).left_join(rows, _pair, key=TEXT, value=TEXT).to(OUT, key=TEXT, value=TEXT)


def _joined_with_global(builder: StreamsBuilder) -> None:
    rows = builder.global_table(ROWS, STORE, key=TEXT, value=TEXT)
    _input(builder).left_join(rows, _pair, key_selector=_own_key).to(OUT, key=TEXT, value=TEXT)


def _own_key(key: str, value: str) -> str:
    return key


def _joined_streams(builder: StreamsBuilder) -> None:
    other = builder.stream(ROWS, key=TEXT, value=TEXT)
    _input(builder).join(
        other,
        _pair,
        JoinWindows.of_time_difference(REACH, grace=FOREVER),
        key=TEXT,
        value=TEXT,
        other_value=TEXT,
        name="match",
        store_name="match",
    ).to(OUT, key=TEXT, value=TEXT)


class Punctuated:
    """Numbers the records of each key; and says by both clocks how many it has seen, with a number
    that each of these has for itself."""

    def init(self, context: Any) -> None:
        self._context = context
        self._store = context.get_state_store(STORE)
        context.schedule(timedelta(seconds=3), PunctuationType.STREAM_TIME, self._by_stream_time)
        context.schedule(timedelta(seconds=2), PunctuationType.WALL_CLOCK_TIME, self._by_clock)

    def process(self, record: Record[str, str]) -> None:
        self._context.forward(record.with_value(f"{record.value} {self._next(record.key)}"))

    def close(self) -> None: ...

    def _by_stream_time(self, now: int) -> None:
        self._tell(TIME, now)

    def _by_clock(self, now: int) -> None:
        self._tell(CLOCK, now)

    def _tell(self, clock: str, now: int) -> None:
        key = f"{clock}-{self._context.task_id.partition}"
        self._context.forward(Record(key, f"{key} {self._next(key)}", now))

    def _next(self, of: str) -> int:
        number: int = (self._store.get(of) or 0) + 1
        self._store.put(of, number)
        return number


def _punctuated(builder: StreamsBuilder) -> None:
    store = stores.key_value(STORE, key=TEXT, value=NUMBER)
    made: Any = Punctuated
    _input(builder).process(made, store, name="punctuated").to(OUT, key=TEXT, value=TEXT)


_CACHED = {CACHE: 10_000_000}
_OPTIMIZED = {"topology.optimization": "all"}
"""The topic of a table is its changelog, too."""

CASES = (
    Case("pipe", _pipe, can_grow=True),
    Case("gather", _gathered),
    Case("gather-cached", _gathered, settings=_CACHED),
    Case("gather-marked", _gathered_marked),
    Case("count", _counted),
    Case("count-cached", _counted, settings=_CACHED),
    Case("windows", _windowed),
    Case("suppress", _suppressed),
    Case("regroup", _regrouped),
    Case("regroup-cached", _regrouped, settings=_CACHED),
    Case("table", _joined_with_table, (IN, ROWS), rule="table"),
    Case("table-optimized", _joined_with_table, (IN, ROWS), settings=_OPTIMIZED, rule="table"),
    Case("streams", _joined_streams, (IN, ROWS), rule="streams"),
    Case("global", _joined_with_global, (IN, ROWS), rule="table"),
    Case("punctuate", _punctuated, rule="punctuate"),
)
