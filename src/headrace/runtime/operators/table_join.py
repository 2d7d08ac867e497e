"""Joins of two tables by their keys.

An update of either side is joined with the current row of the other. A result has the higher of
the two timestamps, and the headers of the update.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.record import Change, ValueAndTimestamp
from headrace.runtime.context import Process
from headrace.runtime.operator import OperatorNode, compiles
from headrace.runtime.operators.forwarding import table_update
from headrace.runtime.operators.stream_join import Join, as_side
from headrace.runtime.operators.views import (
    LatestReader,
    Row,
    TableReader,
    compile_view,
    reads,
)
from headrace.topology.operators import (
    JoinSide,
    TableJoinMerge,
    TableTableJoin,
)
from headrace.topology.views import JoinKind, JoinView

NULL_KEY = "null key"
OUT_OF_ORDER = "out-of-order update of a versioned table"


@compiles(TableTableJoin)
def compile_table_table_join(operator: TableTableJoin, node: OperatorNode) -> Process:
    """Drops updates without a key, and out-of-order ones if `versioned`."""
    context, forward = node.context, node.forward
    lookup = compile_view(operator.other, node).get
    send_old_values, versioned = operator.send_old_values, operator.versioned
    needs_other, join_row = _rules(operator)

    def process(key: Any, change: Change) -> None:
        if key is None:
            context.drop(NULL_KEY)
            return
        new, old, is_latest = change
        if versioned and not is_latest:
            context.drop(OUT_OF_ORDER)
            return
        row = lookup(key)
        timestamp = context.timestamp
        other = None
        if row is not None:
            other = row.value
            timestamp = max(timestamp, row.timestamp)
        elif needs_other or (new is None and old is None):
            return
        joined = Change(
            join_row(new, other), join_row(old, other) if send_old_values else None, is_latest
        )
        context.forward_at(forward, key, joined, timestamp)

    return process


def _rules(operator: TableTableJoin) -> tuple[bool, Callable[[Any, Any], Any]]:
    """Whether there is no result without a row of the other side, and how one is made of this
    side's and the other side's value: None where the join has no row."""
    kind, join = operator.kind, as_side(operator.joiner, False, operator.side)
    is_optional = kind is JoinKind.LEFT and operator.side is JoinSide.RIGHT
    needs_other = kind is JoinKind.INNER or is_optional
    joins_without_this = kind is JoinKind.OUTER or is_optional
    return needs_other, _with_this_or_other(join) if joins_without_this else _with_this(join)


def _with_this(join: Join) -> Callable[[Any, Any], Any]:
    return lambda this, other: None if this is None else join(None, this, other)


def _with_this_or_other(join: Join) -> Callable[[Any, Any], Any]:
    return lambda this, other: None if this is None and other is None else join(None, this, other)


@compiles(TableJoinMerge)
def compile_table_join_merge(operator: TableJoinMerge, node: OperatorNode) -> Process:
    """What a versioned store refuses is not passed on; what a cached store takes in is passed on
    when the cache is written out."""
    context, forward = node.context, node.forward
    if operator.store is not None:
        update = table_update(node.stores[operator.store], node, operator.send_old_values)

        def put(key: Any, change: Change) -> None:
            update(key, change.new, change.old, context.timestamp)

        return put
    if operator.send_old_values:
        return forward

    def process(key: Any, change: Change) -> None:
        forward(key, Change(change.new, None, change.is_latest))

    return process


@reads(JoinView)
def read_joined(view: JoinView, node: OperatorNode) -> TableReader:
    """A join has no history, even if both its tables have one."""
    left, right = compile_view(view.this, node).get, compile_view(view.other, node).get
    joiner = view.joiner

    def joined(this: Row, other: Row) -> Row:
        value = joiner(None if this is None else this.value, None if other is None else other.value)
        if value is None:
            return None
        return ValueAndTimestamp(value, max(row.timestamp for row in (this, other) if row))

    def inner(key: Any) -> Row:
        this = left(key)
        other = None if this is None else right(key)
        return None if other is None else joined(this, other)

    def left_outer(key: Any) -> Row:
        this = left(key)
        return None if this is None else joined(this, right(key))

    def full_outer(key: Any) -> Row:
        this, other = left(key), right(key)
        return None if this is None and other is None else joined(this, other)

    return LatestReader(
        {JoinKind.INNER: inner, JoinKind.LEFT: left_outer, JoinKind.OUTER: full_outer}[view.kind]
    )
