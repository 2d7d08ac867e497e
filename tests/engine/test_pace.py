"""The pace of a task."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.engine.pace import Pace
from headrace.runtime.failure import TooSlow
from tests.simulation.clock import VirtualClock


class Work:
    """Records that take so many seconds each."""

    def __init__(self, limit_s: float = 60.0) -> None:
        self.clock = VirtualClock()
        context: Any = SimpleNamespace(commit_requested=False)
        self.context = context
        self.pace = Pace(self.clock, context, limit_s)

    def until_pause(self, seconds: float, most: int = 1_000_000) -> list[int]:
        """How many are processed between two looks at the clock."""
        steps: list[int] = []
        self.pace.begin()
        step = self.pace(0)
        while step and sum(steps) < most:
            steps.append(step)
            self.clock.sleep(seconds * step)
            step = self.pace(step)
        return steps


def test_what_was_never_measured_is_taken_for_slow() -> None:
    assert Work().until_pause(1e-6, 127) == [1, 2, 4, 8, 16, 32, 64]


def test_fast_records_are_never_interrupted_for_long() -> None:
    work = Work()
    assert sum(work.until_pause(1e-6)) == pytest.approx(50_000, rel=0.01)
    assert work.until_pause(1e-6, 640) == [64] * 10


def test_slow_records_are_taken_one_at_a_time() -> None:
    work = Work()
    work.until_pause(1e-6, 1000)
    assert work.until_pause(0.02) == [64]
    assert work.until_pause(0.02) == [32]
    for _ in range(4):
        work.until_pause(0.02)
    assert work.until_pause(0.02) == [1, 1, 1]


def test_a_commit_that_is_asked_for_is_a_pause() -> None:
    work = Work()
    work.context.commit_requested = True
    assert work.until_pause(1e-6) == [1]
    assert work.pace.is_over()


def test_a_record_that_takes_too_long() -> None:
    with pytest.raises(TooSlow, match=r"more than 5\.5 s"):
        Work(limit_s=5).until_pause(5.5)
