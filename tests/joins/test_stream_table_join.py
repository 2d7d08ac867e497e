from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import ArgumentError, NullArgumentError
from headrace.core.record import ValueAndTimestamp
from headrace.runtime.context import Process
from headrace.topology.operators import StreamGlobalTableJoin, StreamTableJoin
from headrace.topology.views import Function, JoinKind, StoreView

from .harness import Buffer, Rig, Rows, Versions

INNER, LEFT = JoinKind.INNER, JoinKind.LEFT


def pair(left: Any, right: Any) -> str:
    return f"{left}-{right}"


def keyed_pair(key: Any, left: Any, right: Any) -> str:
    return f"{key}:{left}-{right}"


def join_with(rig: Rig, kind: JoinKind, grace_ms: int | None = None) -> Process:
    buffer_store = None if grace_ms is None else "buffer"
    return rig.compile(
        StreamTableJoin(StoreView("table"), kind, pair, False, buffer_store, grace_ms)
    )


def table_of(**rows: Any) -> Rows:
    table = Rows()
    for key, value in rows.items():
        table.put(key, ValueAndTimestamp(value, 99))
    return table


@pytest.mark.parametrize(("kind", "absent"), [(INNER, []), (LEFT, ["v-None"])])
def test_stream_record_looks_up_the_row_as_it_is_now(kind: JoinKind, absent: list[str]) -> None:
    rig = Rig({"table": table_of(a="row")})
    join = join_with(rig, kind)
    assert rig.send(join, "a", "v", 5, [("h", b"1")]) == [("a", "v-row", 5, [("h", b"1")])]
    assert [output.value for output in rig.send(join, "b", "v", 5)] == absent
    assert rig.dropped == 0


@pytest.mark.parametrize(("kind", "dropped"), [(INNER, 2), (LEFT, 1)])
def test_null_keys_and_values(kind: JoinKind, dropped: int) -> None:
    rig = Rig({"table": table_of()})
    join = join_with(rig, kind)
    assert rig.send(join, "a", None) == []
    results = rig.send(join, None, "v")
    assert results == ([(None, "v-None", 0, ())] if kind is LEFT else [])
    assert rig.dropped == dropped


def test_key_is_passed_to_a_joiner_that_wants_it() -> None:
    rig = Rig({"table": table_of(a="row")})
    join = rig.compile(StreamTableJoin(StoreView("table"), LEFT, keyed_pair, True))
    assert rig.send(join, "a", "v") == [("a", "a:v-row", 0, ())]


def versioned_table() -> Versions:
    table = Versions()
    table.put("a", "old", 10)
    table.put("a", "new", 20)
    return table


def test_versioned_table_is_read_as_of_the_record() -> None:
    rig = Rig({"table": versioned_table()})
    join = join_with(rig, LEFT)
    results = [rig.send(join, "a", "v", timestamp)[0].value for timestamp in (9, 10, 19, 20)]
    assert results == ["v-None", "v-old", "v-old", "v-new"]


def test_grace_needs_a_versioned_table() -> None:
    with pytest.raises(ArgumentError, match="versioned"):
        join_with(Rig({"table": table_of(), "buffer": Buffer(5)}), INNER, 5)


def test_buffered_record_waits_for_grace_and_keeps_its_own_registers() -> None:
    table = versioned_table()
    rig = Rig({"table": table, "buffer": Buffer(5)})
    join = join_with(rig, INNER, 5)
    assert rig.send(join, "a", "v", 12, [("h", b"v")]) == []
    assert rig.send(join, "a", "w", 16) == []
    table.put("a", "late", 11)
    assert rig.send(join, "b", "x", 17) == [("a", "v-late", 12, [("h", b"v")])]
    assert rig.send(join, "b", "x", 100) == [("a", "w-late", 16, ())]


def test_record_beyond_grace_is_joined_at_once() -> None:
    rig = Rig({"table": versioned_table(), "buffer": Buffer(5)})
    join = join_with(rig, LEFT, 5)
    rig.send(join, "b", "x", 100)
    assert rig.send(join, "a", "v", 94) == [("a", "v-new", 94, ())]
    assert len(rig.stores["buffer"].held) == 1


def test_buffer_takes_no_null_keys() -> None:
    stores = {"table": versioned_table(), "buffer": Buffer(5)}
    left, inner = Rig(stores), Rig(stores)
    with pytest.raises(NullArgumentError):
        left.send(join_with(left, LEFT, 5), None, "v")
    assert inner.send(join_with(inner, INNER, 5), None, "v") == []
    assert inner.send(join_with(inner, INNER, 5), "a", None) == []
    assert inner.dropped == 2


def global_join(
    rig: Rig, kind: JoinKind, key_selector: Function, joiner: Function = pair
) -> Process:
    return rig.compile(
        StreamGlobalTableJoin(StoreView("table"), kind, key_selector, joiner, joiner is keyed_pair)
    )


@pytest.mark.parametrize(("kind", "absent"), [(INNER, []), (LEFT, ["k:z-None"])])
def test_global_table_is_read_by_the_selected_key(kind: JoinKind, absent: list[str]) -> None:
    rig = Rig({"table": table_of(a="row")})
    join = global_join(rig, kind, lambda key, value: value, keyed_pair)
    assert rig.send(join, "k", "a", 5) == [("k", "k:a-row", 5, ())]
    assert [output.value for output in rig.send(join, "k", "z")] == absent
    # the stream's own key does not matter
    assert rig.send(join, None, "a") == [(None, "None:a-row", 0, ())]


@pytest.mark.parametrize("kind", [INNER, LEFT])
def test_global_join_without_a_selected_key(kind: JoinKind) -> None:
    rig = Rig({"table": table_of()})
    join = global_join(rig, kind, lambda key, value: None)
    results = rig.send(join, "k", "v")
    assert results == ([("k", "v-None", 0, ())] if kind is LEFT else [])
    assert rig.dropped == (kind is INNER)


@pytest.mark.parametrize("kind", [INNER, LEFT])
def test_key_selector_sees_null_values_before_they_are_dropped(kind: JoinKind) -> None:
    rig = Rig({"table": table_of()})
    seen: list[Any] = []

    def select(key: Any, value: Any) -> Any:
        seen.append((key, value))
        return key

    join = global_join(rig, kind, select)
    assert rig.send(join, "k", None) == []
    assert seen == [("k", None)]
    assert rig.dropped == 1
