"""Putting a new value in a table's store, and telling the children about it.

A store without a cache has every update forwarded at once. A store with one forwards by itself,
when it writes an update out, so that the updates of a key between two commits become one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.core.record import Change
from headrace.core.windowed import LONG_MAX, make_window, make_windowed
from headrace.runtime.operator import OperatorNode
from headrace.runtime.operators.views import VersionedReader, is_versioned
from headrace.topology.windows import EmitStrategy

Lookup = Callable[[Any], "tuple[Any, int] | None"]
"""`lookup(key)` gives the value and the timestamp of a row, or None."""

Update = Callable[[Any, Any, Any, int], None]
"""`update(key, new, old, timestamp)` of a row of a table."""

WindowUpdate = Callable[[Any, int, Any, Any, int], None]
"""`update(key, window_start, new, old, timestamp)` of a window of a key."""

FlushListener = Callable[[Any, Any, Any, int], None]
"""`listener(key, new, old, timestamp)`, called for every update that a cache writes out."""

IS_LATEST = -1
"""What a versioned store's `put` gives if the value is now the latest of its key."""

NOT_PUT = -(2**63)
"""What a versioned store's `put` gives if the value was too old, and was not put."""

# What the constructor does, at a third of its cost: it is made for every record.
make_change: Callable[[tuple[Any, Any, bool]], Change] = partial(tuple.__new__, Change)


def forward_flushed(node: OperatorNode) -> FlushListener:
    """The listener that forwards what a cache writes out. The registers are already those of the
    update; only its timestamp may be another, and it need not be put back: the next update brings
    its own."""
    context, forward = node.context, node.forward

    def listener(key: Any, new: Any, old: Any, timestamp: int) -> None:
        context.timestamp = timestamp
        forward(key, make_change((new, old, True)))

    return listener


def table_lookup(store: Any) -> Lookup:
    """How the operator that writes a table's store reads it."""
    lookup: Lookup = VersionedReader(store).get if is_versioned(store) else store.get_value
    return lookup


def is_cached(store: Any, node: OperatorNode, send_old_values: bool) -> bool:
    """Whether the store has a cache. If so, it is told to forward what it writes out."""
    return bool(store.set_flush_listener(forward_flushed(node), send_old_values))


def table_update(store: Any, node: OperatorNode, send_old_values: bool) -> Update:
    """Puts a row, and forwards the change unless the store's cache will.

    `old` is forwarded only if `send_old_values`. What a versioned store finds too old to keep is
    not forwarded either.
    """
    if is_versioned(store):
        return _versioned_update(store, node, send_old_values)
    put_value = store.put_value
    if is_cached(store, node, send_old_values):

        def put(key: Any, new: Any, old: Any, timestamp: int) -> None:
            put_value(key, new, timestamp)

        return put
    context, forward, forward_at = node.context, node.forward, node.context.forward_at

    def put_and_forward(key: Any, new: Any, old: Any, timestamp: int) -> None:
        put_value(key, new, timestamp)
        change = make_change((new, old if send_old_values else None, True))
        if timestamp == context.timestamp:
            forward(key, change)
        else:
            forward_at(forward, key, change, timestamp)

    return put_and_forward


def _versioned_update(store: Any, node: OperatorNode, send_old_values: bool) -> Update:
    put, forward, forward_at = store.put, node.forward, node.context.forward_at

    def put_and_forward(key: Any, new: Any, old: Any, timestamp: int) -> None:
        valid_to = put(key, new, timestamp)
        if valid_to != NOT_PUT:
            change = Change(new, old if send_old_values else None, valid_to == IS_LATEST)
            forward_at(forward, key, change, timestamp)

    return put_and_forward


def window_update(
    store: Any, node: OperatorNode, size_ms: int, emit: EmitStrategy, send_old_values: bool
) -> WindowUpdate:
    """Puts the value of a window, and forwards the change, unless the store's cache will, or only
    closed windows are emitted."""
    put_value = store.put_value
    if emit is EmitStrategy.ON_WINDOW_CLOSE or is_cached(store, node, send_old_values):

        def put(key: Any, start: int, new: Any, old: Any, timestamp: int) -> None:
            put_value(key, new, start, timestamp)

        return put
    context, forward, forward_at = node.context, node.forward, node.context.forward_at

    def put_and_forward(key: Any, start: int, new: Any, old: Any, timestamp: int) -> None:
        put_value(key, new, start, timestamp)
        end = start + size_ms
        window = make_window((start, end if end < LONG_MAX else LONG_MAX))
        change = make_change((new, old if send_old_values else None, True))
        if timestamp == context.timestamp:
            forward(make_windowed((key, window)), change)
        else:
            forward_at(forward, make_windowed((key, window)), change, timestamp)

    return put_and_forward
