"""Turns: one computes, the others wait in a line."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from headrace.ksql.turns import Turns


class Line:
    """Threads that want the turn, and what they did in which order."""

    def __init__(self, turn_s: float = 60.0) -> None:
        self.turns = Turns(turn_s)
        self.done: list[str] = []
        self._threads: list[threading.Thread] = []

    def join(self, name: str, *, brief: bool = False) -> None:
        """Another thread wants the turn, and stands in the line when this returns."""
        before = self.turns.waiters
        self._threads.append(threading.Thread(target=self._compute, args=(name, brief)))
        self._threads[-1].start()
        until(lambda: self.turns.waiters > before)

    def end(self) -> list[str]:
        for thread in self._threads:
            thread.join(10)
        return self.done

    def _compute(self, name: str, brief: bool) -> None:
        with self.turns.computing(brief=brief):
            self.done.append(name)


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.001)


def test_the_order_in_which_they_came() -> None:
    line = Line()
    with line.turns.computing():
        for name in ("first", "second", "third"):
            line.join(name)
        assert line.done == []
    assert line.end() == ["first", "second", "third"]
    with line.turns.computing():  # nobody has it any more
        pass


def test_brief_ones_and_others_have_it_in_turn() -> None:
    line = Line()
    with line.turns.computing():
        for name in ("first", "second"):
            line.join(name)
        for name in ("brief", "too", "as well"):
            line.join(name, brief=True)
    assert line.end() == ["brief", "first", "too", "second", "as well"]


def test_who_has_it_need_not_wait_for_it() -> None:
    turns = Turns()
    with turns.computing(), turns.computing(brief=True):
        assert turns.waiters == 0
    with turns.computing():  # nobody has it any more
        pass


def test_who_waits_lets_others_have_it() -> None:
    line = Line()
    with line.turns.computing():
        line.join("other")
        with line.turns.waiting():
            assert line.end() == ["other"]
        line.join("later")
        assert line.done == ["other"]
    assert line.end() == ["other", "later"]


def test_who_has_no_turn_just_waits() -> None:
    turns = Turns()
    with turns.waiting():
        pass
    assert list(turns.each([1, 2])) == [1, 2]
    with turns.computing():  # it was left alone
        pass


def test_a_long_turn_ends_between_two_items() -> None:
    line = Line(turn_s=-1.0)
    with line.turns.computing():
        items = line.turns.each([1, 2])
        assert next(items) == 1  # nobody else wants it
        line.join("other")
        assert line.done == []
        assert next(items) == 2
        assert line.done == ["other"]


def test_a_short_turn_goes_on() -> None:
    line = Line()
    with line.turns.computing():
        line.join("other")
        assert list(line.turns.each([1, 2])) == [1, 2]
        assert line.done == []
    assert line.end() == ["other"]


def test_errors_leave_it() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="wrong"), turns.computing():
        raise ValueError("wrong")
    with turns.computing():
        pass
