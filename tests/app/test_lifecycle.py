"""The states of an application."""

from __future__ import annotations

import pytest

from headrace.app.lifecycle import Lifecycle, State
from headrace.core.errors import StateError


def test_a_life_is_told_step_by_step() -> None:
    told: list[tuple[State, State]] = []
    lifecycle = Lifecycle()
    lifecycle.listener = lambda new, old: told.append((new, old))
    for state in (State.REBALANCING, State.RUNNING, State.PENDING_SHUTDOWN, State.NOT_RUNNING):
        assert lifecycle.move(state)
    assert told == [
        (State.REBALANCING, State.CREATED),
        (State.RUNNING, State.REBALANCING),
        (State.PENDING_SHUTDOWN, State.RUNNING),
        (State.NOT_RUNNING, State.PENDING_SHUTDOWN),
    ]


@pytest.mark.parametrize("impossible", [State.RUNNING, State.ERROR, State.CREATED])
def test_a_step_that_cannot_be_is_not_taken(impossible: State) -> None:
    lifecycle = Lifecycle()
    assert not lifecycle.move(impossible)
    assert lifecycle.state is State.CREATED


def test_what_needs_another_state_says_so() -> None:
    with pytest.raises(StateError, match="needs an application that is RUNNING"):
        Lifecycle().require(State.RUNNING, "pause()")


def test_waiting_for_a_state() -> None:
    lifecycle = Lifecycle()
    assert not lifecycle.wait_for(State.RUNNING, timeout_s=0.01)
    assert lifecycle.wait_for(State.CREATED, State.RUNNING, timeout_s=0.01)
