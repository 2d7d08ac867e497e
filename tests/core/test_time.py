from __future__ import annotations

import time
from datetime import timedelta

import pytest

from headrace.core.clock import ManualClock, SystemClock
from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError, NullArgumentError, require


def test_durations_are_whole_milliseconds() -> None:
    assert to_ms(timedelta(seconds=1.5), "d") == 1500
    assert to_ms(timedelta(microseconds=1999), "d") == 1


def test_a_duration_must_be_a_timedelta() -> None:
    with pytest.raises(ArgumentError, match=r"grace must be a datetime\.timedelta, not int 5"):
        to_ms(5, "grace")  # type: ignore[arg-type]
    with pytest.raises(NullArgumentError, match="grace can't be None"):
        to_ms(None, "grace")  # type: ignore[arg-type]


def test_clocks() -> None:
    assert abs(SystemClock().now_ms() - time.time() * 1000) < 60_000
    clock = ManualClock(5)
    clock.advance(10)
    assert clock.now_ms() == 15


def test_require() -> None:
    require(0, "zero")
    with pytest.raises(NullArgumentError, match="The topic can't be None"):
        require(None, "The topic")
