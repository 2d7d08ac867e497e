"""Joins of a stream with a table: each stream record looks up one row.

The table never triggers a result. A row is looked up as it is now, or, in a versioned table, as it
was at the record's own time. With a grace period, records wait in a buffer until stream time has
passed them by it, so that rows that come late are still seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.errors import ArgumentError, require
from headrace.core.record import ValueAndTimestamp
from headrace.runtime.context import Process, TaskContext
from headrace.runtime.operator import OperatorNode, compiles
from headrace.runtime.operators.stream_join import as_side
from headrace.runtime.operators.views import TableReader, compile_view
from headrace.topology.operators import (
    JoinSide,
    StreamTableJoin,
)
from headrace.topology.views import JoinKind

NULL_JOIN_KEY_OR_VALUE = "null join key or value"

Lookup = Callable[[Any], "ValueAndTimestamp | None"]


def row_lookup(table: TableReader, context: TaskContext) -> Lookup:
    """Reads the row that a record at the current time joins with."""
    if not table.is_versioned:
        return table.get
    get_as_of = table.get_as_of
    return lambda key: get_as_of(key, context.timestamp)


@compiles(StreamTableJoin)
def compile_stream_table_join(operator: StreamTableJoin, node: OperatorNode) -> Process:
    table = compile_view(operator.table, node)
    join = _join(operator, node, table)
    if operator.buffer_store is None:
        return join
    if not table.is_versioned:
        raise ArgumentError(
            f"{node.name}: the table must be versioned to use a grace period in a stream-table "
            "join. Materialize it in a versioned store, or leave the grace period out."
        )
    return _buffered(join, operator.kind, node.stores[operator.buffer_store], node.context)


def _join(operator: StreamTableJoin, node: OperatorNode, table: TableReader) -> Process:
    context, forward = node.context, node.forward
    lookup = row_lookup(table, context)
    join = as_side(operator.joiner, operator.with_key, JoinSide.LEFT)

    def inner(key: Any, value: Any) -> None:
        if key is None or value is None:
            context.drop(NULL_JOIN_KEY_OR_VALUE)
            return
        row = lookup(key)
        if row is not None:
            forward(key, join(key, value, row.value))

    def left(key: Any, value: Any) -> None:
        if value is None:
            context.drop(NULL_JOIN_KEY_OR_VALUE)
            return
        row = None if key is None else lookup(key)
        forward(key, join(key, value, None if row is None else row.value))

    return left if operator.kind is JoinKind.LEFT else inner


def _buffered(join: Process, kind: JoinKind, buffer: Any, context: TaskContext) -> Process:
    """Puts records in the buffer, and joins those that come out of it in the order of their time.

    A record that is already older than the grace period is joined at once. A record without a key
    has no place in the buffer: in a left join it raises NullArgumentError.
    """
    is_left = kind is JoinKind.LEFT

    def emit(eviction: Any) -> None:
        before = context.snapshot()
        context.restore(eviction.registers)
        try:
            join(eviction.key, eviction.value)
        finally:
            context.restore(before)

    def process(key: Any, value: Any) -> None:
        if value is None or (key is None and not is_left):
            context.drop(NULL_JOIN_KEY_OR_VALUE)
            return
        require(key, "key")
        if buffer.put(context.timestamp, key, value, context.snapshot()):
            buffer.evict_while(lambda: True, emit)
        else:
            join(key, value)

    return process
