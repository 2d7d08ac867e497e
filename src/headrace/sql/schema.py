"""The columns of a stream or table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.sql.types import SqlType


@dataclass(frozen=True)
class Column:
    """A column. The name is as stored: upper case unless it was quoted."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"`{self.name.replace('`', '``')}` {self.type}"


@dataclass(frozen=True)
class HeaderColumn(Column):
    """A column filled from a record's headers: all of them, or the last one called `header`."""

    header: str | None = None


@dataclass(frozen=True)
class Schema:
    """Columns of the key, of the value and of headers, each in order. Pseudo columns (ROWTIME …)
    are in none."""

    key: tuple[Column, ...] = ()
    value: tuple[Column, ...] = ()
    headers: tuple[HeaderColumn, ...] = ()

    def columns(self) -> Iterator[Column]:
        """All columns, those of the key first."""
        yield from self.key
        yield from self.value
        yield from self.headers

    def __str__(self) -> str:
        parts = [f"{column} KEY" for column in self.key]
        parts += [str(column) for column in self.value]
        parts += [f"{column} {of_headers(column)}" for column in self.headers]
        return ", ".join(parts)

    def find(self, name: str) -> Column | None:
        return next((column for column in self.columns() if column.name == name), None)


def of_headers(column: HeaderColumn) -> str:
    """What says in SQL that a column is one of headers."""
    return "HEADERS" if column.header is None else f"HEADER('{column.header}')"
