"""Names for columns that the query doesn't name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headrace.sql.analysis.sources import QuerySource

_GENERATED = re.compile(r"KSQL_COL_(\d+)")


class AliasGenerator:
    """Gives `KSQL_COL_0`, `KSQL_COL_1` …, without those that sources have as columns."""

    def __init__(self, sources: Iterable[QuerySource]) -> None:
        known = list(sources)
        self._taken = {
            int(match[1])
            for source in known
            for column in source.all_columns()
            if (match := _GENERATED.fullmatch(column.name))
        }
        self._next = 0
        self._fields = {column.name: 1 for source in known for column in source.all_columns()}

    def column(self) -> str:
        while self._next in self._taken:
            self._next += 1
        name = f"KSQL_COL_{self._next}"
        self._next += 1
        return name

    def field(self, name: str) -> str:
        """For a field of a struct: its name, with a number if it was used already, or if a source
        has a column of that name."""
        used = self._fields.get(name, 0)
        self._fields[name] = used + 1
        return name if not used else f"{name}_{used}"
