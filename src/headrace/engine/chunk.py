"""Rows on their way to a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from headrace.runtime.columns import Columns


class Chunk(NamedTuple):
    """Rows of one partition that are made into Python objects only when their turn comes, as those
    take several times the memory."""

    first: int
    last: int
    """The first and the last offset."""
    size: int
    load: Callable[[], Columns]

    @classmethod
    def of(cls, columns: Columns) -> Chunk:
        offsets = columns.offsets
        return cls(offsets[0], offsets[-1], len(offsets), lambda: columns)


def rows(columns: Columns, first: int, end: int | None = None) -> Columns:
    """Some rows of many."""
    return Columns(
        columns.offsets[first:end],
        columns.timestamps[first:end],
        columns.keys[first:end],
        columns.values[first:end],
        None if columns.headers is None else columns.headers[first:end],
    )
