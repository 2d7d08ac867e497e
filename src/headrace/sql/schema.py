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
class Schema:
    """Key columns and value columns, each in order. Pseudo columns (ROWTIME …) are in neither."""

    key: tuple[Column, ...] = ()
    value: tuple[Column, ...] = ()

    def columns(self) -> Iterator[Column]:
        """All columns, those of the key first."""
        yield from self.key
        yield from self.value

    def find(self, name: str) -> Column | None:
        return next((column for column in self.columns() if column.name == name), None)
