from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime.context import Process
from headrace.runtime.operators.stream_join import EMIT_INTERVAL
from headrace.topology.operators import (
    JoinSide,
    JoinWindowPut,
    StreamSelfJoin,
    StreamStreamJoin,
)
from headrace.topology.views import JoinKind
from headrace.topology.windows import JoinWindows

from .harness import Output, Rig, Unmatched, Windows

LEFT, RIGHT = JoinSide.LEFT, JoinSide.RIGHT
INNER, LEFT_JOIN, OUTER = JoinKind.INNER, JoinKind.LEFT, JoinKind.OUTER


def pair(left: Any, right: Any) -> str:
    return f"{left}-{right}"


class StreamJoin(Rig):
    """Both sides of a join, each behind the node that puts records in its store."""

    def __init__(
        self,
        kind: JoinKind,
        windows: JoinWindows,
        *,
        interval_ms: int = 0,
        with_key: bool = False,
    ) -> None:
        super().__init__(
            {"left": Windows(), "right": Windows(), "outer": Unmatched()},
            {EMIT_INTERVAL: interval_ms},
        )
        late = kind is not INNER and windows.emits_unmatched_late
        joiner = (lambda key, left, right: f"{key}:{left}-{right}") if with_key else pair
        self.sides: dict[JoinSide, Process] = {}
        for side, own, other in ((LEFT, "left", "right"), (RIGHT, "right", "left")):
            join = StreamStreamJoin(
                join="j",
                side=side,
                windows=windows,
                other_store=other,
                outer_store="outer" if late else None,
                joiner=joiner,
                with_key=with_key,
                emit_unmatched=kind is OUTER or (kind is LEFT_JOIN and side is LEFT),
            )
            self.sides[side] = self.compile(JoinWindowPut(own), self.compile(join))

    def left(self, key: Any, value: Any, timestamp: int, headers: Any = ()) -> list[Output]:
        return self.send(self.sides[LEFT], key, value, timestamp, headers)

    def right(self, key: Any, value: Any, timestamp: int, headers: Any = ()) -> list[Output]:
        return self.send(self.sides[RIGHT], key, value, timestamp, headers)

    @property
    def waiting(self) -> int:
        store: Unmatched = self.stores["outer"]
        return len(store.lists)


def windows(before: int, after: int, grace: int = 0) -> JoinWindows:
    return JoinWindows(before, after, grace)


def test_result_has_the_higher_timestamp_and_the_headers_of_the_trigger() -> None:
    join = StreamJoin(INNER, windows(10, 10))
    join.right("k", "r", 5, [("h", b"right")])
    assert join.left("k", "l", 3, [("h", b"left")]) == [("k", "l-r", 5, [("h", b"left")])]
    assert join.right("k", "s", 2) == [("k", "l-s", 3, ())]


def test_window_is_asymmetric_and_includes_both_ends() -> None:
    join = StreamJoin(INNER, windows(2, 5))
    for timestamp in (7, 8, 10, 15, 16):
        join.right("k", timestamp, timestamp)
    assert [output.value for output in join.left("k", "l", 10)] == ["l-8", "l-10", "l-15"]
    assert join.right("k", 8, 8) == [("k", "l-8", 10, ())]
    assert join.right("k", 7, 7) == []
    assert join.right("k", 16, 16) == []


def test_window_that_ends_before_time_began_is_clamped() -> None:
    join = StreamJoin(INNER, windows(10, -5))
    join.right("k", "r", 0)
    assert join.left("k", "l", 2) == [("k", "l-r", 2, ())]


@pytest.mark.parametrize("kind", list(JoinKind))
def test_key_is_passed_to_a_joiner_that_wants_it(kind: JoinKind) -> None:
    join = StreamJoin(kind, windows(10, 10), with_key=True)
    join.left("k", "l", 1)
    assert join.right("k", "r", 2) == [("k", "k:l-r", 2, ())]
    assert join.left("k", "m", 3) == [("k", "k:m-r", 3, ())]


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [(INNER, None, None), (LEFT_JOIN, "v-None", None), (OUTER, "v-None", "None-v")],
)
def test_null_key_joins_nothing(kind: JoinKind, left: str | None, right: str | None) -> None:
    join = StreamJoin(kind, windows(10, 10))
    assert [output.value for output in join.left(None, "v", 1)] == ([left] if left else [])
    assert [output.value for output in join.right(None, "v", 1)] == ([right] if right else [])
    assert join.dropped == [left, right].count(None)


@pytest.mark.parametrize("kind", list(JoinKind))
def test_null_value_is_dropped(kind: JoinKind) -> None:
    join = StreamJoin(kind, windows(10, 10))
    assert join.left("k", None, 1) == join.right(None, None, 1) == []
    assert join.dropped == 2


def test_null_value_still_moves_stream_time() -> None:
    join = StreamJoin(LEFT_JOIN, windows(10, 10))
    join.left("k", None, 100)
    assert join.left("k", "l", 50) == [("k", "l-None", 50, ())]


def test_unmatched_record_waits_until_its_window_and_grace_are_over() -> None:
    join = StreamJoin(LEFT_JOIN, windows(10, 20, 5))
    join.left("k", "l", 100)
    assert join.right("x", "r", 125) == []
    assert join.right("x", "r", 126, [("h", b"1")]) == [("k", "l-None", 100, [("h", b"1")])]
    assert join.right("x", "r", 200) == []


def test_wait_of_a_right_record_is_the_time_before() -> None:
    join = StreamJoin(OUTER, windows(10, 20))
    join.right("k", "r", 100)
    assert join.right("x", "y", 110) == []
    # The right side's own guard is the time before, the left side's is the time after.
    assert join.left("x", "z", 111) == [("x", "z-y", 111, ())]
    assert join.right("x", "y", 112) == [("k", "None-r", 100, ()), ("x", "z-y", 112, ())]


def test_unmatched_records_come_in_order_of_time_side_and_key_before_the_records_own() -> None:
    join = StreamJoin(OUTER, windows(5, 5))
    join.left("b", "1", 10)
    join.left("a", "2", 10)
    join.left("a", "3", 10)
    join.right("c", "4", 10)
    join.left("z", "5", 9)
    join.right("k", "r", 29)
    results = join.left("k", "l", 30)
    assert [(output.value, output.timestamp) for output in join.outputs] == [
        ("5-None", 9),
        ("None-4", 10),
        ("2-None", 10),
        ("3-None", 10),
        ("1-None", 10),
        ("l-r", 30),
    ]
    assert [output.value for output in results] == ["l-r"]
    assert join.waiting == 0


def test_match_takes_back_the_waiting_record() -> None:
    join = StreamJoin(OUTER, windows(5, 5))
    join.left("k", "l", 10)
    join.left("k", "m", 10)
    assert [output.value for output in join.right("k", "r", 12)] == ["l-r", "m-r"]
    assert join.waiting == 0
    assert join.right("x", "y", 100) == []


def test_record_whose_window_is_over_is_emitted_at_once_despite_grace() -> None:
    join = StreamJoin(LEFT_JOIN, windows(5, 5, 100))
    join.right("x", "y", 20)
    assert join.left("k", "l", 14) == [("k", "l-None", 14, ())]
    assert join.left("k", "l", 15) == []
    assert join.right("k", "r", 14) == [("k", "l-r", 14, ()), ("k", "l-r", 15, ())]


def test_out_of_order_record_emits_nothing_that_waits() -> None:
    join = StreamJoin(LEFT_JOIN, windows(5, 5))
    join.left("k", "l", 10)
    join.left(None, "null keys move time on, too", 100)
    assert [output.key for output in join.right("x", "y", 99)] == []
    assert [output.key for output in join.right("x", "y", 100)] == ["k"]


def test_scans_are_throttled_by_the_wall_clock() -> None:
    join = StreamJoin(LEFT_JOIN, windows(5, 5), interval_ms=1000)
    join.left("k", "l", 10)  # nothing waits, but the interval begins
    assert join.right("x", "y", 100) == []
    join.clock.advance(999)
    assert join.right("x", "y", 101) == []
    join.clock.advance(1)
    assert join.right("x", "y", 102) == [("k", "l-None", 10, ())]


def test_without_any_wait_the_interval_begins_with_the_first_record_that_may_be_due() -> None:
    join = StreamJoin(LEFT_JOIN, windows(0, 0), interval_ms=1000)
    join.left("k", "l", 10)
    assert join.right("x", "y", 11) == [("k", "l-None", 10, ())]


def test_scan_stops_behind_the_open_windows_of_both_sides() -> None:
    join = StreamJoin(OUTER, windows(10, 10))
    for timestamp in (1, 8):
        join.left("l", timestamp, timestamp)
        join.right("r", timestamp, timestamp)
    join.left("l", 9, 9)
    assert [output.timestamp for output in join.left("x", "y", 12)] == [1, 1]
    # The oldest time is taken from where the scan stopped, so that 8 is noticed only with 9.
    assert join.left("x", "y", 19) == []
    assert [output.timestamp for output in join.left("x", "y", 20)] == [8, 8, 9]


def test_side_with_open_windows_does_not_hold_up_the_other() -> None:
    join = StreamJoin(OUTER, windows(0, 100))
    join.left("k", "l", 1)
    join.right("k", "r", 2)
    join.left("a", "l", 3)
    join.right("b", "r", 4)
    assert join.right("x", "r", 50) == [("b", "None-r", 4, ())]


def test_legacy_windows_emit_unmatched_records_at_once() -> None:
    join = StreamJoin(OUTER, JoinWindows(5, 5, 100, emits_unmatched_late=False))
    assert join.left("k", "l", 1) == [("k", "l-None", 1, ())]
    assert join.right("k", "r", 2) == [("k", "l-r", 2, ())]
    assert join.right("k", "r", 50) == [("k", "None-r", 50, ())]


def test_registers_are_put_back_when_a_joiner_fails() -> None:
    def fail(left: Any, right: Any) -> None:
        if right == "bad":
            raise ZeroDivisionError

    rig = Rig({"other": Windows(), "outer": Unmatched()})
    rig.stores["other"].put("k", "good", 9)
    rig.stores["other"].put("k", "bad", 10)
    for outer_store in (None, "outer"):
        process = rig.compile(
            StreamStreamJoin("j", LEFT, windows(10, 10), "other", outer_store, fail, False, False)
        )
        with pytest.raises(ZeroDivisionError):
            rig.send(process, "k", "v", 5)
        assert rig.context.timestamp == 5


def self_join(join_windows: JoinWindows, with_key: bool = False) -> tuple[Rig, Process]:
    rig = Rig({"store": Windows()})
    joiner = (lambda key, left, right: f"{key}:{left}-{right}") if with_key else pair
    join = StreamSelfJoin(join_windows, "store", joiner, with_key)
    return rig, rig.compile(JoinWindowPut("store"), rig.compile(join))


def test_self_join_drops_null_keys_and_values() -> None:
    rig, process = self_join(windows(5, 5))
    assert rig.send(process, None, "v") == rig.send(process, "k", None) == []
    assert rig.dropped == 2


def test_self_join_leaves_an_expired_record_alone() -> None:
    rig, process = self_join(windows(5, 5), with_key=True)
    assert rig.send(process, "k", "a", 100) == [("k", "k:a-a", 100, ())]
    assert rig.send(process, "k", "b", 91) == []
    assert rig.send(process, "k", "c", 92) == [
        ("k", "k:c-b", 92, ()),
        ("k", "k:b-c", 92, ()),
        ("k", "k:c-c", 92, ()),
    ]


records = st.lists(
    st.tuples(st.sampled_from([LEFT, RIGHT]), st.sampled_from("ab"), st.integers(0, 30)),
    max_size=25,
)
spans = st.tuples(st.integers(-3, 10), st.integers(-3, 10)).filter(lambda span: sum(span) >= 0)


@given(records, spans)
def test_self_join_equals_the_join_of_two_streams(
    rows: list[tuple[JoinSide, str, int]], span: tuple[int, int]
) -> None:
    """Also a record outside of its own window is joined with itself, unlike in two streams."""
    one, process = self_join(windows(*span, 1000))
    two = StreamJoin(INNER, windows(*span, 1000))
    for number, (_, key, timestamp) in enumerate(rows):
        results = one.send(process, key, number, timestamp)
        both = two.left(key, number, timestamp) + two.right(key, number, timestamp)
        is_in_reach = max(0, timestamp - span[1]) <= timestamp <= max(0, timestamp + span[0])
        itself = Output(key, f"{number}-{number}", timestamp)
        expected = both if is_in_reach else [*both, itself]
        assert sorted(results) == sorted(expected)
        if is_in_reach:
            assert [output.timestamp for output in results] == [output.timestamp for output in both]


@given(
    records.map(lambda rows: sorted(rows, key=lambda row: row[2])),
    st.tuples(st.integers(0, 10), st.integers(0, 10)),
    st.sampled_from(list(JoinKind)),
)
def test_join_in_order_equals_the_relational_join(
    rows: list[tuple[JoinSide, str, int]], span: tuple[int, int], kind: JoinKind
) -> None:
    before, after = span
    join = StreamJoin(kind, windows(before, after))
    for number, (side, key, timestamp) in enumerate(rows):
        join.send(join.sides[side], key, number, timestamp)
    for flush in (1000, 2000):  # what waits comes out when time goes on, on either side
        join.left("end of left", flush, flush)
        join.right("end of right", flush, flush)

    expected = []
    matched = set()
    sides = [
        [(number, key, time) for number, (of, key, time) in enumerate(rows) if of is side]
        for side in (LEFT, RIGHT)
    ]
    for left, left_key, left_time in sides[0]:
        for right, right_key, right_time in sides[1]:
            if left_key == right_key and left_time - before <= right_time <= left_time + after:
                expected.append((left_key, pair(left, right), max(left_time, right_time)))
                matched |= {left, right}
    for left, key, time in sides[0]:
        if kind is not INNER and left not in matched:
            expected.append((key, pair(left, None), time))
    for right, key, time in sides[1]:
        if kind is OUTER and right not in matched:
            expected.append((key, pair(None, right), time))

    results = [
        (output.key, output.value, output.timestamp)
        for output in join.outputs
        if not output.key.startswith("end")
    ]
    assert sorted(results) == sorted(expected)
