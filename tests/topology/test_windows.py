"""Windows: what is accepted, and which windows a time falls in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import (
    ArgumentError,
    JoinWindows,
    NullArgumentError,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)
from headrace.core.windowed import LONG_MAX


def ms(number: int) -> timedelta:
    return timedelta(milliseconds=number)


def test_tumbling_windows() -> None:
    windows = TimeWindows.of_size(ms(10), grace=ms(5))
    assert (windows.size_ms, windows.advance_ms, windows.grace_ms) == (10, 10, 5)
    assert windows.retention_ms == 15
    assert [list(windows.starts_for(time)) for time in (0, 9, 10)] == [[0], [0], [10]]
    assert TimeWindows.of_size(ms(10)).grace_ms == 0


@given(size=st.integers(1, 30), advance=st.integers(1, 30), time=st.integers(0, 200))
def test_hopping_windows_are_all_that_hold_the_time(size: int, advance: int, time: int) -> None:
    advance = min(advance, size)
    windows = TimeWindows.of_size(ms(size)).advance_by(ms(advance))
    expected = [start for start in range(0, time + 1, advance) if start <= time < start + size]
    assert list(windows.starts_for(time)) == expected


def test_unlimited_windows() -> None:
    windows = UnlimitedWindows.of(start_ms=5)
    assert [list(windows.starts_for(time)) for time in (4, 5, 99)] == [[], [5], [5]]
    assert (windows.size_ms, windows.grace_ms, windows.retention_ms) == (LONG_MAX, 0, LONG_MAX)
    assert UnlimitedWindows.of().start_ms == 0


def test_how_long_windows_are_kept() -> None:
    assert SlidingWindows.of_time_difference(ms(10), grace=ms(3)).retention_ms == 23
    assert SessionWindows.of_inactivity_gap(ms(10), grace=ms(3)).retention_ms == 13


def test_join_windows() -> None:
    windows = JoinWindows.of_time_difference(ms(10), grace=ms(3))
    assert (windows.before_ms, windows.after_ms, windows.size_ms) == (10, 10, 20)
    assert (windows.retention_ms, windows.emits_unmatched_late) == (23, True)
    moved = windows.before(ms(-2)).after(ms(6))
    assert (moved.before_ms, moved.after_ms, moved.size_ms) == (-2, 6, 4)


def test_join_windows_of_old_applications_have_a_day_of_grace() -> None:
    day_ms = 24 * 60 * 60 * 1000
    assert JoinWindows.of(ms(10)).grace_ms == day_ms - 20
    assert JoinWindows.of(timedelta(days=1)).grace_ms == 0
    assert JoinWindows.of(ms(10), grace=ms(3)).grace_ms == 3
    assert not JoinWindows.of(ms(10)).emits_unmatched_late


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TimeWindows.of_size(ms(0)), "larger than zero, but is 0 ms"),
        (lambda: TimeWindows.of_size(ms(-1)), "larger than zero, but is -1 ms"),
        (lambda: TimeWindows.of_size(timedelta(microseconds=999)), "but is 0 ms"),
        (lambda: TimeWindows.of_size(ms(1), grace=ms(-1)), "The grace period must not be negative"),
        (lambda: TimeWindows.of_size(ms(5)).advance_by(ms(0)), "advance 0 ms, size 5 ms"),
        (lambda: TimeWindows.of_size(ms(5)).advance_by(ms(6)), "advance 6 ms, size 5 ms"),
        (lambda: UnlimitedWindows.of(start_ms=-1), "Window start must not be negative"),
        (lambda: SlidingWindows.of_time_difference(ms(-1)), "The time difference must not be neg"),
        (lambda: SessionWindows.of_inactivity_gap(ms(-1)), "The inactivity gap must not be neg"),
        (lambda: JoinWindows.of_time_difference(ms(-1)), "The time difference must not be neg"),
        (lambda: JoinWindows.of(ms(-1)), "The time difference must not be negative"),
        (lambda: JoinWindows.of(ms(5)).before(ms(-6)), "before -6 ms, after 5 ms"),
        (lambda: JoinWindows.of(ms(5)).after(ms(-6)), "before 5 ms, after -6 ms"),
    ],
)
def test_windows_that_make_no_sense(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_window_needs_a_size() -> None:
    nothing: Any = None
    with pytest.raises(NullArgumentError):
        TimeWindows.of_size(nothing)
