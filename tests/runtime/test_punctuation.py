"""Punctuations, and how they go on in the next task of a partition."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.runtime.punctuation import NEVER, Punctuations, Schedule
from headrace.topology.processor import PunctuationType

STREAM, WALL = PunctuationType.STREAM_TIME, PunctuationType.WALL_CLOCK_TIME


class Scheduler:
    """The punctuations of a task whose processors schedule three of them at the start."""

    def __init__(self, metadata: Mapping[str, int] | None = None, *, now: int = 0) -> None:
        self.fired: list[tuple[str, int]] = []
        self.punctuations = Punctuations(metadata or {})
        self.stream = self.schedule("p", 10, STREAM, now)
        self.slow = self.schedule("p", 25, STREAM, now)
        self.wall = self.schedule("q", 100, WALL, now)
        self.punctuations.initialized()

    def schedule(self, node: str, interval: int, kind: PunctuationType, now: int) -> Schedule:
        return self.punctuations.schedule(
            node,
            interval,
            kind,
            lambda at: self.fired.append((f"{node}/{interval}", at)),
            None,
            now,
        )

    def advance(self, *, stream: int = -1, wall: int = -1) -> list[tuple[str, int]]:
        """What fires."""
        self.fired.clear()
        for queue, now in (
            (self.punctuations.stream_time, stream),
            (self.punctuations.wall_clock, wall),
        ):
            queue.punctuate(now, lambda node, at, callback: callback(at))
        return list(self.fired)

    @property
    def metadata(self) -> dict[str, int]:
        return self.punctuations.metadata()


def test_the_next_task_goes_on_with_the_schedules() -> None:
    before = Scheduler()
    assert before.advance(stream=3) == [("p/10", 3), ("p/25", 3)]
    assert before.metadata == {
        "punctuation:q:0": 100,
        "punctuation:p:0": 10,
        "punctuation:p:1": 25,
    }
    after = Scheduler(before.metadata, now=60)
    assert after.metadata == before.metadata
    assert after.advance(stream=9, wall=99) == []
    assert after.advance(stream=10, wall=100) == [("p/10", 10), ("q/100", 100)]


def test_a_new_task_begins_anew() -> None:
    assert Scheduler(now=60).metadata == {
        "punctuation:p:0": 0,
        "punctuation:p:1": 0,
        "punctuation:q:0": 160,
    }


def test_who_fires_first_at_the_same_time_stays_so() -> None:
    before = Scheduler()
    for time in (0, 11, 26, 31, 41):
        before.advance(stream=time)
    after = Scheduler(before.metadata)
    assert after.advance(stream=50) == before.advance(stream=50) == [("p/25", 50), ("p/10", 50)]


def test_a_schedule_that_was_cancelled_does_not_come_back() -> None:
    before = Scheduler()
    before.stream.cancel()
    assert before.metadata["punctuation:p:0"] == NEVER
    after = Scheduler(before.metadata)
    assert after.stream.cancelled
    assert after.advance(stream=1000) == [("p/25", 1000)]
    assert Scheduler(after.metadata).stream.cancelled


def test_later_schedules_are_remembered_while_they_last() -> None:
    before = Scheduler()
    for _ in range(100):
        before.schedule("p", 1, STREAM, 0).cancel()
    kept = before.schedule("p", 5, STREAM, 0)
    assert before.advance(stream=7)[-1] == ("p/5", 7)
    assert len(before.metadata) == 4
    assert before.metadata["punctuation:p:102"] == kept.due == 10
    after = Scheduler(before.metadata)
    assert len(after.metadata) == 3


def test_a_wall_clock_schedule_is_never_further_away_than_its_interval() -> None:
    assert Scheduler({"punctuation:q:0": 5000}, now=60).wall.due == 160
    assert Scheduler({"punctuation:q:0": 40}, now=60).wall.due == 40
