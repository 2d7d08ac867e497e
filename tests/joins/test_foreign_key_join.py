from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.record import NO_HEADERS, Change, Header, ValueAndTimestamp
from headrace.runtime.context import Process
from headrace.serde.foreign_key import (
    CombinedKey,
    Instruction,
    Subscription,
    SubscriptionResponse,
)
from headrace.serde.murmur3 import murmur3
from headrace.topology.operators import (
    ForeignKeyResponseJoin,
    ForeignKeySubscriptionJoin,
    ForeignKeySubscriptionReceive,
    ForeignKeySubscriptionSend,
    ForeignTableJoin,
)
from headrace.topology.views import JoinKind, StoreView

from .harness import TEXT, Output, Rig, Rows, Subscriptions

INNER, LEFT = JoinKind.INNER, JoinKind.LEFT
DELETE_SILENTLY = Instruction.DELETE_KEY_NO_PROPAGATE
DELETE_AND_TELL = Instruction.DELETE_KEY_AND_PROPAGATE
ANSWER_ALWAYS = Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE
ANSWER_IF_FOUND = Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE


def foreign_key(value: str) -> str | None:
    """The text before the colon."""
    return value.split(":")[0] or None


def sender(rig: Rig, kind: JoinKind, versioned: bool = False) -> Process:
    return rig.compile(ForeignKeySubscriptionSend(kind, foreign_key, False, TEXT, TEXT, versioned))


def messages(outputs: Sequence[Output]) -> list[tuple[Any, Instruction]]:
    return [(output.key, output.value.instruction) for output in outputs]


@pytest.mark.parametrize(
    ("new", "old", "inner", "left"),
    [
        ("a:1", None, [("a", ANSWER_IF_FOUND)], [("a", ANSWER_ALWAYS)]),
        ("a:2", "a:1", [("a", ANSWER_IF_FOUND)], [("a", ANSWER_ALWAYS)]),
        (
            "b:1",
            "a:1",
            [("a", DELETE_SILENTLY), ("b", ANSWER_ALWAYS)],
            [("a", DELETE_SILENTLY), ("b", ANSWER_ALWAYS)],
        ),
        (None, "a:1", [("a", DELETE_AND_TELL)], [("a", DELETE_SILENTLY), (None, ANSWER_ALWAYS)]),
        (None, None, [], []),
        (":1", None, [], [(None, ANSWER_ALWAYS)]),
        (":1", "a:1", [("a", DELETE_AND_TELL)], [("a", DELETE_SILENTLY), (None, ANSWER_ALWAYS)]),
        ("a:1", ":1", [("a", ANSWER_IF_FOUND)], [("a", ANSWER_ALWAYS)]),
        (None, ":1", [], [(None, ANSWER_ALWAYS)]),
    ],
)
def test_what_is_sent_for_an_update(
    new: str | None,
    old: str | None,
    inner: list[tuple[Any, Instruction]],
    left: list[tuple[Any, Instruction]],
) -> None:
    for kind, expected in ((INNER, inner), (LEFT, left)):
        rig = Rig()
        outputs = rig.send(sender(rig, kind), "k", Change(new, old), 3)
        assert messages(outputs) == expected
        for output in outputs:
            assert output.timestamp == 3
            assert output.value.primary_key == "k"
            assert output.value.primary_partition == 0
            assert output.value.hash == (None if new is None else murmur3(new.encode()))
        assert rig.dropped == (kind is INNER and new == ":1")


def test_foreign_key_may_depend_on_the_key() -> None:
    rig = Rig()
    send = rig.compile(
        ForeignKeySubscriptionSend(INNER, lambda key, value: key + value, True, TEXT, TEXT)
    )
    assert messages(rig.send(send, "k", Change("v", "v"))) == [("kv", ANSWER_IF_FOUND)]
    assert messages(rig.send(send, "k", Change(None, "v"))) == [("kv", DELETE_AND_TELL)]


@pytest.mark.parametrize("versioned", [True, False])
def test_out_of_order_updates_of_versioned_tables_are_dropped(versioned: bool) -> None:
    rig = Rig({"subscriptions": Subscriptions()})
    outputs = rig.send(sender(rig, INNER, versioned), "k", Change("a:1", None, is_latest=False))
    assert len(outputs) == (0 if versioned else 1)
    foreign = rig.compile(ForeignTableJoin("subscriptions", TEXT, versioned))
    rig.send(foreign, "a", Change("row", None, is_latest=False))
    assert rig.dropped == (2 if versioned else 0)


def subscription(instruction: Instruction) -> Subscription:
    return Subscription(b"hash", instruction, "pk", primary_partition=4)


@pytest.mark.parametrize("instruction", list(Instruction))
def test_received_subscription_is_kept_or_deleted_and_passed_on(instruction: Instruction) -> None:
    store = Subscriptions()
    rig = Rig({"store": store})
    receive = rig.compile(ForeignKeySubscriptionReceive("store"))
    kept = subscription(ANSWER_IF_FOUND)
    store.put(CombinedKey("a", "pk"), ValueAndTimestamp(kept, 1))
    message = subscription(instruction)
    assert rig.send(receive, "a", message, 5) == [(("a", "pk"), message, 5, ())]
    is_deleted = instruction in (DELETE_SILENTLY, DELETE_AND_TELL)
    assert store.get(CombinedKey("a", "pk")) == (None if is_deleted else (message, 5))


@pytest.mark.parametrize("instruction", list(Instruction))
def test_subscription_to_a_null_key_is_only_answered(instruction: Instruction) -> None:
    store = Subscriptions()
    rig = Rig({"store": store})
    receive = rig.compile(ForeignKeySubscriptionReceive("store"))
    outputs = rig.send(receive, None, subscription(instruction))
    assert [output.key for output in outputs] == (
        [(None, "pk")] if instruction is ANSWER_ALWAYS else []
    )
    assert store.rows == {}
    assert rig.dropped == (instruction is not ANSWER_ALWAYS)


@pytest.mark.parametrize(
    ("instruction", "found", "missing"),
    [
        (DELETE_SILENTLY, [], []),
        (DELETE_AND_TELL, [(None, 9)], [(None, 5)]),
        (ANSWER_ALWAYS, [("row", 9)], [(None, 5)]),
        (ANSWER_IF_FOUND, [("row", 9)], []),
    ],
)
def test_answer_to_a_subscription(
    instruction: Instruction, found: list[tuple[Any, int]], missing: list[tuple[Any, int]]
) -> None:
    rows = Rows()
    rows.put("a", ValueAndTimestamp("row", 9))
    rig = Rig({"table": rows})
    join = rig.compile(ForeignKeySubscriptionJoin(StoreView("table")))
    for key, expected in (("a", found), ("b", missing), (None, missing)):
        outputs = rig.send(join, CombinedKey(key, "pk"), subscription(instruction), 5)
        assert outputs == [
            ("pk", SubscriptionResponse(b"hash", value, primary_partition=4), timestamp, ())
            for value, timestamp in expected
        ]


def test_foreign_update_goes_to_all_subscribers() -> None:
    store = Subscriptions()
    for foreign, primary in (("a", "1"), ("a", "2"), ("ab", "3")):
        kept = Subscription(b"hash", ANSWER_ALWAYS, primary, primary_partition=4)
        store.put(CombinedKey(foreign, primary), ValueAndTimestamp(kept, 99))
    rig = Rig({"store": store})
    join = rig.compile(ForeignTableJoin("store", TEXT))
    response = SubscriptionResponse(b"hash", "row", primary_partition=4)
    assert rig.send(join, "a", Change("row", "old"), 5) == [
        ("1", response, 5, ()),
        ("2", response, 5, ()),
    ]
    assert rig.send(join, "a", Change(None))[0].value.foreign_value is None
    assert rig.send(join, None, Change("row")) == []
    assert rig.dropped == 1


@pytest.mark.parametrize("kind", [INNER, LEFT])
def test_response_is_joined_with_the_row_it_answers(kind: JoinKind) -> None:
    rows = Rows()
    rows.put("k", ValueAndTimestamp("a:1", 99))
    rig = Rig({"table": rows})
    join = rig.compile(
        ForeignKeyResponseJoin(
            StoreView("table"), kind, lambda left, right: f"{left}-{right}", TEXT
        )
    )
    current = murmur3(b"a:1")
    assert rig.send(join, "k", SubscriptionResponse(current, "row"), 5) == [("k", "a:1-row", 5, ())]
    assert rig.send(join, "k", SubscriptionResponse(current, None), 5) == [
        ("k", "a:1-None" if kind is LEFT else None, 5, ())
    ]
    assert rig.send(join, "gone", SubscriptionResponse(None, None)) == [("gone", None, 0, ())]
    assert rig.dropped == 0
    assert rig.send(join, "k", SubscriptionResponse(murmur3(b"a:2"), "row")) == []
    assert rig.send(join, "k", SubscriptionResponse(None, None)) == []
    assert rig.send(join, "gone", SubscriptionResponse(current, "row")) == []
    assert rig.dropped == 3


class ForeignKeyJoin(Rig):
    """The whole join. The two topics are queues: what is in them waits for `drain`."""

    def __init__(self, kind: JoinKind) -> None:
        super().__init__({"left": Rows(), "right": Rows(), "subscriptions": Subscriptions()})
        self.topics: deque[tuple[Process, Any, Any, int, Sequence[Header]]] = deque()
        self.result: dict[str, str] = {}
        resolve = self.compile(
            ForeignKeyResponseJoin(
                StoreView("left"), kind, lambda left, right: f"{left}-{right}", TEXT
            ),
            self.keep,
        )
        respond = self.sink(resolve)
        answer = self.compile(ForeignKeySubscriptionJoin(StoreView("right")), respond)
        receive = self.compile(ForeignKeySubscriptionReceive("subscriptions"), answer)
        self.left = self.compile(
            ForeignKeySubscriptionSend(kind, foreign_key, False, TEXT, TEXT), self.sink(receive)
        )
        self.right = self.compile(ForeignTableJoin("subscriptions", TEXT), respond)

    def sink(self, target: Process) -> Process:
        def send(key: Any, value: Any) -> None:
            self.topics.append((target, key, value, self.context.timestamp, NO_HEADERS))

        return send

    def keep(self, key: Any, value: Any) -> None:
        if value is None:
            self.result.pop(key, None)
        else:
            self.result[key] = value

    def update(self, table: str, key: str, value: str | None) -> None:
        rows: Rows = self.stores[table]
        old = rows.get(key)
        rows.put(key, None if value is None else ValueAndTimestamp(value, 0))
        process = self.left if table == "left" else self.right
        self.send(process, key, Change(value, None if old is None else old.value))

    def drain(self) -> None:
        while self.topics:
            self.send(*self.topics.popleft())


left_values = st.builds(
    lambda key, number: f"{key}:{number}", st.sampled_from(["", "x", "y"]), st.integers(0, 2)
)
updates = st.one_of(
    st.tuples(st.just("left"), st.sampled_from("12"), st.none() | left_values),
    st.tuples(st.just("right"), st.sampled_from("xy"), st.none() | st.sampled_from("rs")),
)


@given(st.lists(st.tuples(updates, st.booleans())), st.sampled_from([INNER, LEFT]))
def test_result_becomes_the_relational_join(
    steps: list[tuple[tuple[str, str, str | None], bool]], kind: JoinKind
) -> None:
    """A left join may be behind with its topics: it is right once they are empty. An inner join
    may not: see the next test."""
    join = ForeignKeyJoin(kind)
    for update, drain in steps:
        join.update(*update)
        if drain or kind is INNER:
            join.drain()
    join.drain()
    left: dict[str, ValueAndTimestamp] = join.stores["left"].rows
    right: dict[str, ValueAndTimestamp] = join.stores["right"].rows
    expected = {}
    for key, (value, _) in left.items():
        row = right.get(foreign_key(value) or "")
        if row is not None or kind is LEFT:
            expected[key] = f"{value}-{None if row is None else row.value}"
    assert join.result == expected


def test_inner_join_keeps_a_deleted_result_if_the_row_is_back_before_the_response() -> None:
    """The deletion's response is stale by then, and the new row, which finds nothing, gets none."""
    join = ForeignKeyJoin(INNER)
    join.update("right", "x", "r")
    join.update("left", "1", "x:0")
    join.drain()
    join.update("left", "1", None)
    join.update("left", "1", "y:0")
    join.drain()
    assert join.result == {"1": "x:0-r"}
