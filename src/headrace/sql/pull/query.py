"""A pull query, ready to be answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.core.record import ValueAndTimestamp
from headrace.core.windowed import LONG_MAX, Window, Windowed
from headrace.sql.metastore import DataSource, WindowInfo
from headrace.sql.queries import PersistentQuery
from headrace.sql.schema import Column
from headrace.topology.state import KeyValueStore, SessionStore, WindowStore

Row = tuple[Any, ...]


@dataclass(frozen=True)
class ResultColumn(Column):
    """A column of an answer. `note` says what it is besides a value: `KEY`, `HEADERS` …"""

    note: str = ""

    def __str__(self) -> str:
        return f"{super().__str__()} {self.note}".rstrip()


@dataclass(frozen=True)
class WindowStarts:
    """Which windows are asked for, by their starts, both included."""

    first: int = 0
    last: int = LONG_MAX


@dataclass(frozen=True)
class Found:
    """A row of a table or stream."""

    key: Any
    """The row of the key columns, in a Windowed if keys are windowed."""
    row: Row | None
    """The row of the value columns; of a table, that of header columns follows."""
    timestamp: int
    headers: Iterable[tuple[str, bytes | None]] = ()


Watch = Callable[[Iterable[Found]], Iterable[Found]]


@dataclass(frozen=True)
class PullQuery:
    """What is asked for, and where to look.

    A table is looked up in the store of the query that materialises it: `answer(store)`, for each
    store that may have rows. A stream is read from its topic: `results(rows)`.
    """

    columns: tuple[ResultColumn, ...]
    source: DataSource
    materialized_by: PersistentQuery | None
    """None: the source is a stream."""
    keys: tuple[Row, ...] | None
    """Only rows of these keys can be in the answer; None: of any."""
    starts: WindowStarts
    limit: int | None
    result: Callable[[Found], Row | None] = field(repr=False)
    """The row of the answer that a row makes; None if the condition leaves it out."""

    def answer(self, store: Any, watch: Watch = iter) -> Iterator[Row]:
        """The answer from a store of the materialisation. `watch` sees all rows that are looked at,
        and may end that by an error."""
        return self.results(watch(self._find(store)))

    def results(self, rows: Iterable[Found]) -> Iterator[Row]:
        """The answer from rows, in their order."""
        left = self.limit
        if left == 0:
            return
        for found in rows:
            result = self.result(found)
            if result is not None:
                yield result
                if left is not None:
                    left -= 1
                    if not left:
                        return

    def _find(self, store: Any) -> Iterator[Found]:
        assert self.materialized_by is not None, "streams are read from their topic"
        materialization = self.materialized_by.materialization
        assert materialization is not None, "planning refuses tables that have no store"
        for key, stored, timestamp in self._entries(store):
            row = materialization.row(key, stored)
            if row is not None:
                yield Found(key, row, timestamp)

    def _entries(self, store: Any) -> Iterator[tuple[Any, Any, int]]:
        window = self.source.window
        if window is None:
            return _of_table(store, self.keys)
        if window.size_ms is None:
            return _of_sessions(store, self.keys)
        return _of_windows(store, self.keys, self.starts, window)


def _of_table(
    store: KeyValueStore[Any, Any], keys: tuple[Row, ...] | None
) -> Iterator[tuple[Any, Any, int]]:
    entries: Iterable[tuple[Any, Any]]
    entries = store.all() if keys is None else ((key, store.get(key)) for key in keys)
    for key, entry in entries:
        if entry is not None:
            yield key, *_split(entry)


def _of_windows(
    store: WindowStore[Any, Any],
    keys: tuple[Row, ...] | None,
    starts: WindowStarts,
    window: WindowInfo,
) -> Iterator[tuple[Any, Any, int]]:
    size = window.size_ms or 0
    if keys is None:
        for windowed, entry in store.fetch_all(starts.first, starts.last):
            start = windowed.window.start
            yield Windowed(windowed.key, Window(start, start + size)), *_split(entry)
        return
    for key in keys:
        for start, entry in store.fetch(key, starts.first, starts.last):
            yield Windowed(key, Window(start, start + size)), *_split(entry)


def _of_sessions(
    store: SessionStore[Any, Any], keys: tuple[Row, ...] | None
) -> Iterator[tuple[Any, Any, int]]:
    """A session has no time of its own but its end."""
    assert keys is not None, "planning refuses scans of sessions"
    for key in keys:
        for session, state in store.fetch(key):
            if state is not None:
                yield session, state, session.window.end


def _split(entry: Any) -> tuple[Any, int]:
    if isinstance(entry, ValueAndTimestamp):
        return entry.value, entry.timestamp
    return entry, -1
