from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.record import Change, ValueAndTimestamp
from headrace.runtime.context import Process
from headrace.runtime.operators.views import compile_view
from headrace.topology.operators import (
    JoinSide,
    TableJoinMerge,
    TableTableJoin,
)
from headrace.topology.views import JoinKind, JoinView, StoreView

from .harness import Output, Rig, Rows, Versions

LEFT, RIGHT = JoinSide.LEFT, JoinSide.RIGHT
INNER, LEFT_JOIN, OUTER = JoinKind.INNER, JoinKind.LEFT, JoinKind.OUTER
VIEWS = {LEFT: StoreView("left"), RIGHT: StoreView("right")}


def pair(left: Any, right: Any) -> str | None:
    return None if "nothing" in (left, right) else f"{left}-{right}"


class TableJoin(Rig):
    """Two tables with old values, and their join."""

    def __init__(self, kind: JoinKind, *, send_old_values: bool = True) -> None:
        super().__init__({"left": Rows(), "right": Rows()})
        merge = self.compile(TableJoinMerge(None, send_old_values))
        self.sides: dict[JoinSide, Process] = {
            side: self.compile(
                TableTableJoin(kind, side, VIEWS[other], pair, send_old_values), merge
            )
            for side, other in ((LEFT, RIGHT), (RIGHT, LEFT))
        }
        self.view = compile_view(JoinView(kind, VIEWS[LEFT], VIEWS[RIGHT], pair), self.node())

    def update(self, side: JoinSide, key: Any, value: Any, timestamp: int) -> list[Output]:
        table: Rows = self.stores[side.value]
        row = table.get(key)
        table.put(key, None if value is None else ValueAndTimestamp(value, timestamp))
        change = Change(value, None if row is None else row.value)
        return self.send(self.sides[side], key, change, timestamp)


def change(new: Any, old: Any = None) -> Change:
    return Change(new, old)


def test_inner_join_needs_both_rows() -> None:
    join = TableJoin(INNER)
    assert join.update(LEFT, "k", "l", 5) == []
    assert join.update(LEFT, "k", None, 6) == []
    assert join.update(LEFT, "k", "l", 7) == []
    assert join.update(RIGHT, "k", "r", 3) == [("k", change("l-r"), 7, ())]
    assert join.update(RIGHT, "k", "s", 9) == [("k", change("l-s", "l-r"), 9, ())]
    assert join.update(LEFT, "k", None, 1) == [("k", change(None, "l-s"), 9, ())]
    assert join.update(LEFT, "k", None, 2) == [("k", change(None, None), 9, ())]
    assert join.update(RIGHT, "k", None, 2) == []


def test_left_join_needs_the_left_row() -> None:
    join = TableJoin(LEFT_JOIN)
    assert join.update(RIGHT, "k", "r", 5) == []
    assert join.update(RIGHT, "k", None, 5) == []
    assert join.update(LEFT, "k", None, 5) == []
    assert join.update(LEFT, "k", "l", 1) == [("k", change("l-None"), 1, ())]
    assert join.update(RIGHT, "k", "r", 3) == [("k", change("l-r", "l-None"), 3, ())]
    assert join.update(RIGHT, "k", None, 2) == [("k", change("l-None", "l-r"), 2, ())]
    assert join.update(LEFT, "k", None, 4) == [("k", change(None, "l-None"), 4, ())]


def test_outer_join_needs_either_row() -> None:
    join = TableJoin(OUTER)
    assert join.update(LEFT, "k", None, 1) == join.update(RIGHT, "k", None, 1) == []
    assert join.update(RIGHT, "k", "r", 3) == [("k", change("None-r"), 3, ())]
    assert join.update(LEFT, "k", "l", 2) == [("k", change("l-r", "None-r"), 3, ())]
    assert join.update(RIGHT, "k", None, 4) == [("k", change("l-None", "l-r"), 4, ())]
    assert join.update(LEFT, "k", None, 1) == [("k", change(None, "l-None"), 1, ())]


@pytest.mark.parametrize("kind", list(JoinKind))
def test_old_results_are_made_only_if_asked_for(kind: JoinKind) -> None:
    join = TableJoin(kind, send_old_values=False)
    join.update(LEFT, "k", "l", 1)
    join.update(RIGHT, "k", "r", 2)
    assert join.update(LEFT, "k", "m", 3) == [("k", change("m-r"), 3, ())]


@pytest.mark.parametrize("kind", list(JoinKind))
def test_null_key_is_dropped(kind: JoinKind) -> None:
    join = TableJoin(kind)
    assert join.send(join.sides[LEFT], None, change("l")) == []
    assert join.dropped == 1


@pytest.mark.parametrize("versioned", [True, False])
def test_out_of_order_updates_of_versioned_tables_are_dropped(versioned: bool) -> None:
    rig = Rig({"right": Rows()})
    join = rig.compile(TableTableJoin(LEFT_JOIN, LEFT, VIEWS[RIGHT], pair, versioned=versioned))
    update = Change("l", None, is_latest=False)
    expected = [] if versioned else [("k", Change("l-None", None, is_latest=False), 3, ())]
    assert rig.send(join, "k", update, 3) == expected
    assert rig.dropped == versioned


def test_merge_without_store_leaves_old_values_out_unless_asked_for() -> None:
    rig = Rig()
    update = Change("new", "old", is_latest=False)
    assert rig.send(rig.compile(TableJoinMerge(None, True)), "k", update) == [("k", update, 0, ())]
    assert rig.send(rig.compile(TableJoinMerge(None)), "k", update) == [
        ("k", Change("new", None, is_latest=False), 0, ())
    ]


@pytest.mark.parametrize("send_old_values", [True, False])
def test_merge_keeps_rows_in_its_store(send_old_values: bool) -> None:
    rows = Rows()
    rig = Rig({"result": rows})
    merge = rig.compile(TableJoinMerge("result", send_old_values))
    old = "old" if send_old_values else None
    assert rig.send(merge, "k", change("new", "old"), 5) == [("k", change("new", old), 5, ())]
    assert rows.get("k") == ("new", 5)
    assert rig.send(merge, "k", change(None, "old"), 6) == [("k", change(None, old), 6, ())]
    assert rows.get("k") is None


def test_merge_passes_on_what_a_cached_store_writes_out() -> None:
    rows = Rows(cached=True)
    rig = Rig({"result": rows})
    merge = rig.compile(TableJoinMerge("result"))
    assert rig.send(merge, "k", change("one"), 5) == rig.send(merge, "k", change("two"), 6) == []
    rows.flush()
    assert rig.outputs == [("k", change("two"), 6, ())]


def test_merge_passes_nothing_on_that_a_versioned_store_refuses() -> None:
    rig = Rig({"result": Versions(oldest=10)})
    merge = rig.compile(TableJoinMerge("result"))
    assert rig.send(merge, "k", change("new"), 20) == [("k", change("new"), 20, ())]
    assert rig.send(merge, "k", change("old"), 15) == [
        ("k", Change("old", None, is_latest=False), 15, ())
    ]
    assert rig.send(merge, "k", change("ancient"), 9) == []


def test_view_of_a_join_has_no_row_where_the_joiner_gives_nothing() -> None:
    join = TableJoin(OUTER)
    join.update(LEFT, "k", "nothing", 1)
    assert join.view.get("k") is None
    assert not join.view.is_versioned


def relational(kind: JoinKind, left: dict[str, int], right: dict[str, int]) -> dict[str, str]:
    keys = {
        INNER: left.keys() & right.keys(),
        LEFT_JOIN: left.keys(),
        OUTER: left.keys() | right.keys(),
    }[kind]
    return {key: f"{left.get(key)}-{right.get(key)}" for key in keys}


@given(
    st.lists(
        st.tuples(
            st.sampled_from([LEFT, RIGHT]),
            st.sampled_from("ab"),
            st.none() | st.integers(0, 9),
            st.integers(0, 9),
        )
    ),
    st.sampled_from(list(JoinKind)),
)
def test_results_add_up_to_the_relational_join(
    updates: list[tuple[JoinSide, str, int | None, int]], kind: JoinKind
) -> None:
    join = TableJoin(kind)
    tables: dict[JoinSide, dict[str, int]] = {LEFT: {}, RIGHT: {}}
    result: dict[str, str] = {}
    for side, key, value, timestamp in updates:
        if value is None:
            tables[side].pop(key, None)
        else:
            tables[side][key] = value
        for output in join.update(side, key, value, timestamp):
            assert output.value.old == result.get(output.key)
            result[output.key] = output.value.new
            if output.value.new is None:
                del result[output.key]
        expected = relational(kind, tables[LEFT], tables[RIGHT])
        assert result == expected
        rows = {row_key: row.value for row_key in "ab" if (row := join.view.get(row_key))}
        assert rows == expected
        for row_key in expected:
            times = [
                row.timestamp
                for store in ("left", "right")
                if (row := join.stores[store].get(row_key))
            ]
            row = join.view.get(row_key)
            assert row is not None
            assert row.timestamp == max(times)
