"""Joins of two tables in which a row of the left names the key of a row of the right.

The left side subscribes to the foreign key: the subscription goes, by a topic, to where the
foreign row is kept. There it is stored, and answered now and at each update of the foreign row.
The response goes back by another topic and is joined with the left row, if that is still the one
that was subscribed for: each message carries the hash of the left row's value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.record import Change, ValueAndTimestamp
from headrace.runtime.context import Process
from headrace.runtime.operator import OperatorNode, compiles
from headrace.runtime.operators.table_join import NULL_KEY, OUT_OF_ORDER
from headrace.runtime.operators.views import compile_view
from headrace.serde.foreign_key import (
    CombinedKey,
    Instruction,
    Subscription,
    SubscriptionResponse,
    foreign_key_prefix,
)
from headrace.serde.murmur3 import murmur3
from headrace.serde.serde import SerdeLike
from headrace.topology.operators import (
    ForeignKeyResponseJoin,
    ForeignKeySubscriptionJoin,
    ForeignKeySubscriptionReceive,
    ForeignKeySubscriptionSend,
    ForeignTableJoin,
)
from headrace.topology.views import JoinKind

NULL_FOREIGN_KEY = "null foreign key"
STALE_RESPONSE = "response to a row that has changed since"

DELETE_SILENTLY = Instruction.DELETE_KEY_NO_PROPAGATE
DELETE_AND_TELL = Instruction.DELETE_KEY_AND_PROPAGATE
ANSWER_ALWAYS = Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE
ANSWER_IF_FOUND = Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE


def _hasher(value_serde: SerdeLike, node: OperatorNode) -> Callable[[Any], bytes | None]:
    serialize = node.resolve_serde(value_serde, "value").serialize
    return lambda value: None if value is None else murmur3(serialize(value))


@compiles(ForeignKeySubscriptionSend)
def compile_subscription_send(operator: ForeignKeySubscriptionSend, node: OperatorNode) -> Process:
    """Needs the old value in each change.

    An inner join drops a row whose foreign key is null, after ending the old subscription; a left
    join sends a subscription under a null key for it, which is only answered.
    """
    context = node.context
    make_plan = _left_plan if operator.kind is JoinKind.LEFT else _inner_plan
    plan = make_plan(operator, node)
    forward, hash_of = node.forward, _hasher(operator.value_serde, node)
    versioned = operator.versioned

    def process(key: Any, change: Change) -> None:
        if versioned and not change.is_latest:
            context.drop(OUT_OF_ORDER)
            return
        messages = plan(key, change.new, change.old)
        if messages:
            hashed = hash_of(change.new)
            for foreign_key, instruction in messages:
                subscription = Subscription(
                    hashed, instruction, key, primary_partition=context.partition
                )
                forward(foreign_key, subscription)

    return process


Plan = Callable[[Any, Any, Any], list[tuple[Any, Instruction]]]
"""`plan(key, new, old)`: which foreign keys are to be told what about the update of a row."""


def _extractor(operator: ForeignKeySubscriptionSend) -> Callable[[Any, Any], Any]:
    """`extract(key, value)`: the foreign key of a row, None if there is no row."""
    foreign_key = operator.foreign_key
    if operator.with_key:
        return lambda key, value: None if value is None else foreign_key(key, value)
    return lambda key, value: None if value is None else foreign_key(value)


def _difference(
    operator: ForeignKeySubscriptionSend, node: OperatorNode
) -> Callable[[Any, Any], bool]:
    """Whether two foreign keys have different bytes."""
    serialize = node.resolve_serde(operator.foreign_key_serde, "key").serialize

    def differ(new: Any, old: Any) -> bool:
        return new is None or serialize(new) != serialize(old)

    return differ


def _left_plan(operator: ForeignKeySubscriptionSend, node: OperatorNode) -> Plan:
    extract, differ = _extractor(operator), _difference(operator, node)

    def plan(key: Any, new: Any, old: Any) -> list[tuple[Any, Instruction]]:
        if new is None and old is None:
            return []
        old_key, new_key = extract(key, old), extract(key, new)
        messages = [(new_key, ANSWER_ALWAYS)]
        if old_key is not None and differ(new_key, old_key):
            messages.insert(0, (old_key, DELETE_SILENTLY))
        return messages

    return plan


def _inner_plan(operator: ForeignKeySubscriptionSend, node: OperatorNode) -> Plan:
    """A deletion is told to the left side even if nothing had joined: nobody knows any more."""
    context = node.context
    extract, differ = _extractor(operator), _difference(operator, node)

    def plan(key: Any, new: Any, old: Any) -> list[tuple[Any, Instruction]]:
        old_key, new_key = extract(key, old), extract(key, new)
        if new is not None and new_key is None:
            context.drop(NULL_FOREIGN_KEY)
        if new_key is None:
            return [] if old_key is None else [(old_key, DELETE_AND_TELL)]
        if old_key is None or not differ(new_key, old_key):
            return [(new_key, ANSWER_IF_FOUND)]
        return [(old_key, DELETE_SILENTLY), (new_key, ANSWER_ALWAYS)]

    return plan


@compiles(ForeignKeySubscriptionReceive)
def compile_subscription_receive(
    operator: ForeignKeySubscriptionReceive, node: OperatorNode
) -> Process:
    """Stores or deletes a subscription, and passes it on under its combined key."""
    context, forward = node.context, node.forward
    store = node.stores[operator.store]

    def process(foreign_key: Any, subscription: Subscription) -> None:
        instruction = subscription.instruction
        combined_key = CombinedKey(foreign_key, subscription.primary_key)
        if foreign_key is None:
            if instruction is not ANSWER_ALWAYS:
                context.drop(NULL_FOREIGN_KEY)
                return
        elif instruction is DELETE_AND_TELL or instruction is DELETE_SILENTLY:
            store.delete(combined_key)
        else:
            store.put(combined_key, ValueAndTimestamp(subscription, context.timestamp))
        forward(combined_key, subscription)

    return process


@compiles(ForeignKeySubscriptionJoin)
def compile_subscription_join(operator: ForeignKeySubscriptionJoin, node: OperatorNode) -> Process:
    context, forward = node.context, node.forward
    lookup = compile_view(operator.table, node).get

    def process(combined_key: CombinedKey, subscription: Subscription) -> None:
        foreign_key, primary_key = combined_key
        instruction = subscription.instruction
        row = None if foreign_key is None else lookup(foreign_key)
        if instruction is DELETE_SILENTLY or (instruction is ANSWER_IF_FOUND and row is None):
            return
        timestamp, foreign_value = context.timestamp, None
        if row is not None:
            timestamp = max(timestamp, row.timestamp)
            if instruction is not DELETE_AND_TELL:
                foreign_value = row.value
        response = SubscriptionResponse(
            subscription.hash, foreign_value, primary_partition=subscription.primary_partition
        )
        context.forward_at(forward, primary_key, response, timestamp)

    return process


@compiles(ForeignTableJoin)
def compile_foreign_table_join(operator: ForeignTableJoin, node: OperatorNode) -> Process:
    """Drops updates without a key, and out-of-order ones if `versioned`."""
    context, forward = node.context, node.forward
    prefix_scan = node.stores[operator.store].prefix_scan
    foreign_key_serde = node.resolve_serde(operator.foreign_key_serde, "key")
    versioned = operator.versioned

    def process(foreign_key: Any, change: Change) -> None:
        if foreign_key is None:
            context.drop(NULL_KEY)
            return
        if versioned and not change.is_latest:
            context.drop(OUT_OF_ORDER)
            return
        for combined_key, (subscription, _) in prefix_scan(
            foreign_key_prefix(foreign_key_serde, foreign_key)
        ):
            response = SubscriptionResponse(
                subscription.hash, change.new, primary_partition=subscription.primary_partition
            )
            forward(combined_key.primary_key, response)

    return process


@compiles(ForeignKeyResponseJoin)
def compile_response_join(operator: ForeignKeyResponseJoin, node: OperatorNode) -> Process:
    """Drops a response whose hash is not that of the current row."""
    context, forward = node.context, node.forward
    lookup = compile_view(operator.table, node).get
    hash_of = _hasher(operator.value_serde, node)
    is_left, joiner = operator.kind is JoinKind.LEFT, operator.joiner

    def process(key: Any, response: SubscriptionResponse) -> None:
        row = lookup(key)
        value = None if row is None else row.value
        if hash_of(value) != response.hash:
            context.drop(STALE_RESPONSE)
            return
        foreign_value = response.foreign_value
        if foreign_value is None and (not is_left or value is None):
            forward(key, None)
        else:
            forward(key, joiner(value, foreign_value))

    return process
