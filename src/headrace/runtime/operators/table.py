"""Operators on tables, one row at a time. Updates come and go as `Change`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from headrace.core.errors import StreamsError
from headrace.core.record import Change
from headrace.runtime.context import Process
from headrace.runtime.operator import OperatorNode, compiles
from headrace.runtime.operators.forwarding import make_change, table_lookup, table_update
from headrace.runtime.operators.transformer import start_transformer
from headrace.topology.operators import (
    TableFilter,
    TableMapValues,
    TableRepartitionMap,
    TableSource,
    TableToStream,
    TableTransformValues,
)

log = logging.getLogger("headrace.table")

_Compute = Callable[[Any, Any], Any]
"""`compute(key, value)` gives the value of a derived row; None is a row that isn't there."""


@compiles(TableSource)
def compile_table_source(operator: TableSource, node: OperatorNode) -> Process:
    context, forward, drop = node.context, node.forward, node.context.drop
    if operator.store is None:

        def pass_on(key: Any, value: Any) -> None:
            if key is None:
                drop("null key")
            else:
                forward(key, make_change((value, None, True)))

        return pass_on

    store = node.stores[operator.store]
    lookup = table_lookup(store)
    update = table_update(store, node, operator.send_old_values)

    def process(key: Any, value: Any) -> None:
        if key is None:
            drop("null key")
            return
        timestamp = context.timestamp
        row = lookup(key)
        if row is None:
            update(key, value, None, timestamp)
            return
        old, old_timestamp = row
        if timestamp < old_timestamp:
            log.warning(
                "Out-of-order update of table %s at %s: timestamp %d after %d",
                operator.store,
                context.metadata() or "unknown offset",
                timestamp,
                old_timestamp,
                extra=context.log_fields(),
            )
        update(key, value, old, timestamp)

    return process


@compiles(TableFilter)
def compile_table_filter(operator: TableFilter, node: OperatorNode) -> Process:
    predicate, negate = operator.predicate, operator.negate

    def compute(key: Any, value: Any) -> Any:
        if value is None or bool(predicate(key, value)) == negate:
            return None
        return value

    # Where the old value is known, the deletion of a row that never passed needs no record.
    skip_nothing = operator.send_old_values and not operator.versioned
    return _derive(compute, operator.store, operator.send_old_values, node, skip_nothing)


@compiles(TableMapValues)
def compile_table_map_values(operator: TableMapValues, node: OperatorNode) -> Process:
    mapper, with_key = operator.mapper, operator.with_key

    def compute(key: Any, value: Any) -> Any:
        if value is None:
            return None
        return mapper(key, value) if with_key else mapper(value)

    return _derive(compute, operator.store, operator.send_old_values, node)


@compiles(TableTransformValues)
def compile_table_transform_values(operator: TableTransformValues, node: OperatorNode) -> Process:
    transformer = start_transformer(operator.supplier, node)
    return _derive(transformer.transform, operator.store, operator.send_old_values, node)


def _derive(
    compute: _Compute,
    store: str | None,
    send_old_values: bool,
    node: OperatorNode,
    skip_nothing: bool = False,
) -> Process:
    """A table whose rows are computed of another's: the old value is read from its store if it
    has one, else computed as well. `skip_nothing`: changes of None to None go no further."""
    if store is not None:
        return _derive_into_store(compute, store, send_old_values, node, skip_nothing)
    forward = node.forward

    def process(key: Any, change: Change) -> None:
        new = compute(key, change.new)
        old = compute(key, change.old) if send_old_values else None
        if not (skip_nothing and new is None and old is None):
            forward(key, make_change((new, old, change.is_latest)))

    return process


def _derive_into_store(
    compute: _Compute, store: str, send_old_values: bool, node: OperatorNode, skip_nothing: bool
) -> Process:
    context = node.context
    lookup = table_lookup(node.stores[store])
    update = table_update(node.stores[store], node, send_old_values)

    def process(key: Any, change: Change) -> None:
        new = compute(key, change.new)
        row = lookup(key) if send_old_values else None
        old = None if row is None else row[0]
        if not (skip_nothing and new is None and old is None):
            update(key, new, old, context.timestamp)

    return process


@compiles(TableToStream)
def compile_table_to_stream(operator: TableToStream, node: OperatorNode) -> Process:
    forward, failed = node.forward, node.failed
    node.guards_itself = True

    def process(key: Any, change: Change) -> None:
        try:
            forward(key, change.new)
        except Exception as error:
            failed(key, change, error)

    return process


@compiles(TableRepartitionMap)
def compile_table_repartition_map(operator: TableRepartitionMap, node: OperatorNode) -> Process:
    """The old row first, as the aggregation that follows subtracts first. A row whose new key or
    value is None is not part of any group."""
    mapper, forward = operator.mapper, node.forward
    versioned = operator.versioned
    joins_halves = not _is_upgrade(node.context.config["upgrade.from"])

    def mapped(key: Any, value: Any) -> Any:
        pair = None if value is None else mapper(key, value)
        if pair is None or pair[0] is None or pair[1] is None:
            return None
        return pair

    def process(key: Any, change: Change) -> None:
        if key is None:
            raise StreamsError(f"{node.name}: the key of a table to be grouped must not be None.")
        is_latest = change.is_latest
        if versioned and not is_latest:
            return
        new, old = mapped(key, change.new), mapped(key, change.old)
        if joins_halves and old is not None and new is not None and old[0] == new[0]:
            forward(old[0], make_change((new[1], old[1], is_latest)))
            return
        if old is not None:
            forward(old[0], make_change((None, old[1], is_latest)))
        if new is not None:
            forward(new[0], make_change((new[1], None, is_latest)))

    return process


def _is_upgrade(version: str | None) -> bool:
    """Whether instances before 3.5 may still read: they don't understand a change that has both
    an old and a new value."""
    return version is not None and tuple(map(int, version.split("."))) < (3, 5)
