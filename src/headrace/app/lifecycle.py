"""The states of an application, as Kafka Streams has them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from enum import Enum

from headrace.core.errors import StateError

log = logging.getLogger("headrace")


class State(Enum):
    """What an application is doing."""

    CREATED = "CREATED"
    REBALANCING = "REBALANCING"
    RUNNING = "RUNNING"
    PENDING_SHUTDOWN = "PENDING_SHUTDOWN"
    NOT_RUNNING = "NOT_RUNNING"
    PENDING_ERROR = "PENDING_ERROR"
    ERROR = "ERROR"

    @property
    def is_running_or_rebalancing(self) -> bool:
        """Whether it was started, and not told to end."""
        return self in (State.RUNNING, State.REBALANCING)

    @property
    def has_ended(self) -> bool:
        """Whether nothing can follow."""
        return self in (State.NOT_RUNNING, State.ERROR)


_NEXT = {
    State.CREATED: {State.REBALANCING, State.PENDING_SHUTDOWN},
    State.REBALANCING: {State.RUNNING, State.PENDING_SHUTDOWN, State.PENDING_ERROR},
    State.RUNNING: {State.REBALANCING, State.PENDING_SHUTDOWN, State.PENDING_ERROR},
    State.PENDING_SHUTDOWN: {State.NOT_RUNNING},
    State.NOT_RUNNING: set[State](),
    State.PENDING_ERROR: {State.ERROR},
    State.ERROR: set[State](),
}

StateListener = Callable[[State, State], None]
"""`listener(new, old)`."""


class Lifecycle:
    """The current state. A step that Kafka Streams wouldn't take is not taken."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._state = State.CREATED
        self.listener: StateListener | None = None

    @property
    def state(self) -> State:
        return self._state

    def move(self, new: State) -> bool:
        """Whether the state was changed."""
        with self._changed:
            old = self._state
            if new is old or new not in _NEXT[old]:
                return False
            self._state = new
            self._changed.notify_all()
        if self.listener is not None:
            try:
                self.listener(new, old)
            except Exception:
                # Who is only told must not keep an application from running, or from ending.
                log.exception("The state listener failed at %s", new.name)
        return True

    def wait_for(self, *states: State, timeout_s: float | None = None) -> bool:
        """Whether one of these states was reached in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._state in states, timeout_s)

    def require(self, expected: State, what: str) -> None:
        if self._state is not expected:
            raise StateError(
                f"{what} needs an application that is {expected.value}, but it is "
                f"{self._state.value}. An application that has ended can't be started again: make "
                "a new KafkaStreams."
            )
