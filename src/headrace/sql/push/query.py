"""A push query, ready to be run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.core.windowed import Windowed
from headrace.dsl import KTable, StreamsBuilder
from headrace.sql.building.builder import QueryBuilder
from headrace.sql.building.serdes import Serdes
from headrace.sql.plan.planner import PlannedQuery
from headrace.sql.plan.typing import Typing
from headrace.sql.schema import Column
from headrace.sql.statements.session import Session
from headrace.sql.syntax.ast import ColumnReference
from headrace.topology.topology import Topology

Row = tuple[Any, ...]

Emit = Callable[[Row, bool], None]
"""`emit(row, is_tombstone)`: a table's row was deleted if it is one."""

_BOUNDS = ("WINDOWSTART", "WINDOWEND")


@dataclass(frozen=True)
class PushQuery:
    """What is asked for, and how to compute it. After `limit` rows it has come to its end; to count
    them is up to who runs it."""

    id: str
    columns: tuple[Column, ...]
    source_topics: tuple[str, ...]
    limit: int | None
    planned: PlannedQuery = field(repr=False)
    session: Session = field(repr=False)

    def topology(self, emit: Emit) -> Topology:
        """The topology that hands each result to `emit`."""
        session, step = self.session, self.planned.step
        builder = StreamsBuilder()
        serdes = Serdes(session.registry, session.application_id(self.id))
        typing = Typing(session.functions, session.settings)
        flow = QueryBuilder(self.id, typing, serdes, {}, builder).flow(step)
        is_table = isinstance(flow, KTable)
        stream = flow.to_stream() if isinstance(flow, KTable) else flow
        row_of_key = self._row_of_key()

        def hand_over(key: Any, row: Row | None) -> None:
            if row is not None:
                emit(row, False)
            elif is_table:  # a record of a stream that has no value says nothing
                emit(row_of_key(key), True)

        stream.foreach(hand_over)
        return builder.build()

    def _row_of_key(self) -> Callable[[Any], Row]:
        """What is known of a record without a row: its key."""
        step = self.planned.step
        keys = [column.name for column in step.key]
        places: list[tuple[str, int]] = []
        for expression in step.expressions:
            name = expression.name if isinstance(expression, ColumnReference) else ""
            if name in keys:
                places.append(("key", keys.index(name)))
            elif name in _BOUNDS and step.window is not None:
                places.append(("window", _BOUNDS.index(name)))
            else:
                places.append(("", 0))

        def row_of_key(key: Any) -> Row:
            window: Any = None
            if isinstance(key, Windowed):
                key, window = key
            parts = {"key": key, "window": window, "": None}
            return tuple([None if parts[of] is None else parts[of][at] for of, at in places])

        return row_of_key
