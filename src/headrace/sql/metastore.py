"""What is known: streams and tables, types, and who reads and writes what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from headrace.sql.errors import SqlError
from headrace.sql.formats import RowFormat
from headrace.sql.schema import Schema
from headrace.sql.syntax.ast import SourceKind
from headrace.sql.types import SqlType


class WindowKind(Enum):
    """How the keys of a source are windowed."""

    TUMBLING = "TUMBLING"
    HOPPING = "HOPPING"
    SESSION = "SESSION"


@dataclass(frozen=True)
class WindowInfo:
    """The windows in a source's keys. Sessions have no size."""

    kind: WindowKind
    size_ms: int | None = None


@dataclass(frozen=True)
class TimestampColumn:
    """The column that has the time of rows; strings need a format."""

    name: str
    format: str | None = None


@dataclass(frozen=True)
class DataSource:
    """A stream or a table."""

    name: str
    kind: SourceKind
    schema: Schema
    topic: str
    key_format: RowFormat
    value_format: RowFormat
    window: WindowInfo | None = None
    timestamp: TimestampColumn | None = None
    sql: str = ""
    """The statement that made it."""
    from_query: bool = False
    """Made by CREATE … AS."""
    read_only: bool = False
    """Made by CREATE SOURCE …"""

    @property
    def is_table(self) -> bool:
        return self.kind is SourceKind.TABLE


@dataclass
class Metastore:
    """The catalogue."""

    sources: dict[str, DataSource] = field(default_factory=dict)
    types: dict[str, SqlType] = field(default_factory=dict)

    def find(self, name: str) -> DataSource | None:
        return self.sources.get(name)

    def get(self, name: str) -> DataSource:
        """Raises SqlError if there is no such source, with a hint at one of nearly that name."""
        source = self.sources.get(name)
        if source is None:
            raise SqlError(f"{name} does not exist.{self.hint(name)}")
        return source

    def hint(self, name: str) -> str:
        """At a source whose name differs only in case; it begins on a new line."""
        for known in self.sources:
            if known != name and known.upper() == name.upper():
                if known == known.upper():
                    return (
                        f"\nDid you mean {known}? "
                        "Hint: try removing double quotes from the source name."
                    )
                return (
                    f'\nDid you mean "{known}"? '
                    "Hint: wrap the source name in double quotes to make it case-sensitive."
                )
        return ""

    def __iter__(self) -> Iterator[DataSource]:
        return iter(self.sources.values())
