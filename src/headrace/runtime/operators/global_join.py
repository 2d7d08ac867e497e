"""Joins of a stream with a global table, by a key that is made of the stream record."""

from __future__ import annotations

from typing import Any

from headrace.runtime.context import Process
from headrace.runtime.operator import OperatorNode, compiles
from headrace.runtime.operators.stream_join import as_side
from headrace.runtime.operators.stream_table_join import NULL_JOIN_KEY_OR_VALUE, row_lookup
from headrace.runtime.operators.views import compile_view
from headrace.topology.operators import (
    JoinSide,
    StreamGlobalTableJoin,
)
from headrace.topology.views import JoinKind


@compiles(StreamGlobalTableJoin)
def compile_stream_global_table_join(
    operator: StreamGlobalTableJoin, node: OperatorNode
) -> Process:
    """The key selector is also called for a null value, before the record is dropped.

    A null selected key drops the record in an inner join; in a left join it finds no row.
    """
    context, forward = node.context, node.forward
    lookup = row_lookup(compile_view(operator.table, node), context)
    select = operator.key_selector
    join = as_side(operator.joiner, operator.with_key, JoinSide.LEFT)

    def inner(key: Any, value: Any) -> None:
        table_key = select(key, value)
        if table_key is None or value is None:
            context.drop(NULL_JOIN_KEY_OR_VALUE)
            return
        row = lookup(table_key)
        if row is not None:
            forward(key, join(key, value, row.value))

    def left(key: Any, value: Any) -> None:
        table_key = select(key, value)
        if value is None:
            context.drop(NULL_JOIN_KEY_OR_VALUE)
            return
        row = None if table_key is None else lookup(table_key)
        forward(key, join(key, value, None if row is None else row.value))

    return left if operator.kind is JoinKind.LEFT else inner
