"""Another implementation of the storage port, in SQLite, behaves like the one in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.runtime.stores import InMemoryStorage, OrderedMap
from headrace.runtime.stores.ordered_map import Item
from tests.conformance.cases import CORPUS, group_files, read
from tests.conformance.compare import compare
from tests.conformance.run import run


class SqliteMap:
    """A table of a database in memory; SQLite compares blobs as unsigned bytes."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def get(self, key: bytes) -> bytes | None:
        row = self._db.execute("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def put(self, key: bytes, value: bytes) -> None:
        self._db.execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", (key, value))

    def delete(self, key: bytes) -> None:
        self._db.execute("DELETE FROM entries WHERE key = ?", (key,))

    def range(
        self,
        low: bytes | None,
        high: bytes | None,
        *,
        high_inclusive: bool = True,
        limit: int | None = None,
    ) -> Iterator[Item]:
        upper = "<=" if high_inclusive else "<"
        return self._scan(low, high, upper, "ASC", -1 if limit is None else limit)

    def reverse_range(self, low: bytes | None, high: bytes | None) -> Iterator[Item]:
        return self._scan(low, high, "<=", "DESC", -1)

    def _scan(
        self, low: bytes | None, high: bytes | None, upper: str, order: str, limit: int
    ) -> Iterator[Item]:
        query = (
            "SELECT key, value FROM entries WHERE (?1 IS NULL OR key >= ?1) "
            f"AND (?2 IS NULL OR key {upper} ?2) ORDER BY key {order} LIMIT ?3"
        )
        return iter(self._db.execute(query, (low, high, limit)).fetchall())

    def __len__(self) -> int:
        count: int = self._db.execute("SELECT count(*) FROM entries").fetchone()[0]
        return count


class SqliteStorage(InMemoryStorage):
    """Counts the maps that were asked for, in all tasks."""

    made = 0

    def map(self, name: str) -> OrderedMap:
        if name not in self._maps:
            SqliteStorage.made += 1
            self._maps[name] = SqliteMap()  # type: ignore[assignment]
        return super().map(name)


@pytest.mark.parametrize(
    "group",
    ["store-kv", "store-session", "store-versioned", "store-window", "stream-table-versioned"],
)
def test_recorded_cases_pass_with_another_map(group: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("headrace.runtime.task.InMemoryStorage", SqliteStorage)
    made = SqliteStorage.made
    for case in read(group_files(CORPUS)[group]):
        assert compare(case, run(case)) == []
    assert SqliteStorage.made > made
