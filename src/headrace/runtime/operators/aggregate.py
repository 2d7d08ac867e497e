"""Aggregations by key, without windows.

Those of streams over a cached store, the most common ones, have a function of their own, which
puts without a further call.
"""

from __future__ import annotations

from typing import Any

from headrace.core.errors import StreamsError
from headrace.core.record import Change
from headrace.runtime.context import Process
from headrace.runtime.operator import OperatorNode, compiles
from headrace.runtime.operators.forwarding import is_cached, table_lookup, table_update
from headrace.topology.operators import (
    StreamAggregate,
    StreamReduce,
    TableAggregate,
    TableReduce,
)


@compiles(StreamAggregate)
def compile_stream_aggregate(operator: StreamAggregate, node: OperatorNode) -> Process:
    """The old value of the first update is the initial one, not None."""
    initializer, aggregator = operator.initializer, operator.aggregator
    context, drop = node.context, node.context.drop
    store = node.stores[operator.store]
    lookup = table_lookup(store)
    if is_cached(store, node, operator.send_old_values):
        aggregate = store.aggregation(initializer, aggregator)
        serialize_key, failed = store.serialize_key, node.failed
        node.guards_itself = True

        def process_cached(key: Any, value: Any) -> None:
            if key is None or value is None:
                drop("null key or value")
                return
            try:
                aggregate(serialize_key(key), key, value, context.timestamp)
            except Exception as error:
                failed(key, value, error)

        return process_cached

    update = table_update(store, node, operator.send_old_values)

    def process(key: Any, value: Any) -> None:
        if key is None or value is None:
            drop("null key or value")
            return
        timestamp = context.timestamp
        row = lookup(key)
        if row is None:
            old = initializer()
        else:
            old, latest = row
            if latest > timestamp:
                timestamp = latest
        update(key, aggregator(key, value, old), old, timestamp)

    return process


@compiles(StreamReduce)
def compile_stream_reduce(operator: StreamReduce, node: OperatorNode) -> Process:
    reducer = operator.reducer
    context, drop = node.context, node.context.drop
    store = node.stores[operator.store]
    lookup = table_lookup(store)
    if is_cached(store, node, operator.send_old_values):
        put_value = store.put_value

        def process_cached(key: Any, value: Any) -> None:
            if key is None or value is None:
                drop("null key or value")
                return
            timestamp = context.timestamp
            row = lookup(key)
            if row is None:
                put_value(key, value, timestamp)
            else:
                old, latest = row
                new = reducer(old, value)
                put_value(key, new, latest if latest > timestamp else timestamp)

        return process_cached

    update = table_update(store, node, operator.send_old_values)

    def process(key: Any, value: Any) -> None:
        if key is None or value is None:
            drop("null key or value")
            return
        timestamp = context.timestamp
        row = lookup(key)
        if row is None:
            update(key, value, None, timestamp)
            return
        old, latest = row
        update(key, reducer(old, value), old, latest if latest > timestamp else timestamp)

    return process


@compiles(TableAggregate)
def compile_table_aggregate(operator: TableAggregate, node: OperatorNode) -> Process:
    """Subtracts only from a group that is there. A group whose aggregate becomes None is
    deleted, and begins anew with the next row."""
    initializer, adder, subtractor = operator.initializer, operator.adder, operator.subtractor
    context = node.context
    store = node.stores[operator.store]
    lookup = table_lookup(store)
    update = table_update(store, node, operator.send_old_values)

    def process(key: Any, change: Change) -> None:
        _require_key(key, node)
        timestamp = context.timestamp
        row = lookup(key)
        old, latest = (None, timestamp) if row is None else row
        aggregate = old
        touched = False
        if change.old is not None and old is not None:
            aggregate = subtractor(key, change.old, aggregate)
            touched = True
        if change.new is not None:
            aggregate = initializer() if aggregate is None else aggregate
            aggregate = adder(key, change.new, aggregate)
            touched = True
        update(key, aggregate, old, max(timestamp, latest) if touched else timestamp)

    return process


@compiles(TableReduce)
def compile_table_reduce(operator: TableReduce, node: OperatorNode) -> Process:
    """As TableAggregate, but a group begins with its first row as it is."""
    adder, subtractor = operator.adder, operator.subtractor
    context = node.context
    store = node.stores[operator.store]
    lookup = table_lookup(store)
    update = table_update(store, node, operator.send_old_values)

    def process(key: Any, change: Change) -> None:
        _require_key(key, node)
        timestamp = context.timestamp
        row = lookup(key)
        old, latest = (None, timestamp) if row is None else row
        aggregate = old
        touched = False
        if change.old is not None and old is not None:
            aggregate = subtractor(aggregate, change.old)
            touched = True
        if change.new is not None:
            if aggregate is None:
                aggregate = change.new
            else:
                aggregate = adder(aggregate, change.new)
                touched = True
        update(key, aggregate, old, max(timestamp, latest) if touched else timestamp)

    return process


def _require_key(key: Any, node: OperatorNode) -> None:
    if key is None:
        raise StreamsError(f"{node.name}: the key of a table to be aggregated must not be None.")
