"""The sources of a query, and the columns that expressions can name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.sql.metastore import DataSource
from headrace.sql.schema import Column
from headrace.sql.types import BIGINT, INTEGER

PSEUDO_COLUMNS = (
    Column("ROWTIME", BIGINT),
    Column("ROWPARTITION", INTEGER),
    Column("ROWOFFSET", BIGINT),
)
"""What every row has besides its columns."""

WINDOW_BOUNDS = (Column("WINDOWSTART", BIGINT), Column("WINDOWEND", BIGINT))
"""What rows with windowed keys have too."""

SYSTEM_NAMES = frozenset(column.name for column in (*PSEUDO_COLUMNS, *WINDOW_BOUNDS))


@dataclass(frozen=True)
class QuerySource:
    """A source by the name that the query has for it."""

    alias: str
    source: DataSource

    def extra_columns(self) -> Iterator[Column]:
        """What can be had besides the value: in the order in which they follow it."""
        yield from self.source.schema.headers
        yield from PSEUDO_COLUMNS
        yield from self.source.schema.key
        if self.source.window is not None:
            yield from WINDOW_BOUNDS

    def all_columns(self) -> Iterator[Column]:
        yield from self.source.schema.value
        yield from self.extra_columns()

    def find(self, name: str) -> Column | None:
        return next((column for column in self.all_columns() if column.name == name), None)
