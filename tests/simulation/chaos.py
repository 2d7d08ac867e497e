"""What goes wrong in a run: which kinds of faults there are in it, how often, and until when."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from headrace.core.errors import BrokerError

from .broker import Broker
from .scheduler import Process, Scheduler

T = TypeVar("T")

_LATENCY_S = 0.004
_STALLS_S = (0.5, 3.0, 15.0, 40.0, 75.0, 200.0)
"""Past the timeouts of locks, requests, sessions and transactions."""
_LOST_S = (0.2, 5.0, 35.0)


class Chaos:
    """Draws faults. Not every run has all kinds of them: with few kinds, each goes deeper."""

    def __init__(self, scheduler: Scheduler, broker: Broker, *, exactly_once: bool) -> None:
        self._scheduler = scheduler
        self._broker = broker
        self._random = draw = random.Random(scheduler.random.random())
        self._exactly_once = exactly_once
        self.is_over = False
        self.landed = 0
        """How many faults there were."""
        self._left = draw.choice((2, 5, 10, 20, 30))
        self._rate = draw.choice((0.002, 0.005, 0.01, 0.02))
        kinds = [kind for kind in ("crash", "stall", "lose") if draw.random() < 0.75]
        self._kinds = kinds or ["crash"]

    def step(self, process: Process, what: str) -> None:
        """At every call to Kafka or the disk, before it is done."""
        drawn = self._random.random()
        scheduler = self._scheduler
        if scheduler.history is not None:
            scheduler.note(process.name, what)
        if drawn < self._rate and self._may(process):
            self._strike(process, what)
        scheduler.sleep(drawn * _LATENCY_S)

    def request(self, process: Process, what: str, request: Callable[[], T]) -> T:
        """A request to the brokers, which may be lost on its way there or back."""
        process.step(what)
        broker = self._broker
        if broker.is_down:
            self._wait(process, what)
        broker.settle()
        drawn = self._random.random()
        if drawn < self._rate and "lose" in self._kinds and self._may(process):
            self._lose(process, what, request)
        answer = request()
        if drawn > 1 - self._rate and self._may(process):
            self._strike(process, f"answer: {what}")
        return answer

    def share(self, waiting: int) -> int:
        return self._random.randint(0, waiting)

    def marker_delay(self) -> float:
        """How long the markers of a transaction take: mostly a moment."""
        drawn = self._random.random()
        if self.is_over:
            return drawn * 0.01
        return drawn * 0.02 if drawn < 0.95 else drawn * 4

    def happens(self, probability: float) -> bool:
        return not self.is_over and self._random.random() < probability

    def _may(self, process: Process) -> bool:
        return not self.is_over and self._left > 0 and process.is_mortal

    def _strike(self, process: Process, what: str) -> None:
        kind = self._random.choice(self._kinds)
        if kind == "crash":
            self._landed(process, f"crashes at {what}")
            process.die()
        elif kind == "stall":
            seconds = self._random.choice(_STALLS_S)
            self._landed(process, f"stalls for {seconds} s at {what}")
            self._scheduler.sleep(seconds)

    def _lose(self, process: Process, what: str, request: Callable[[], T]) -> None:
        """The caller doesn't know whether it was done: it wasn't, it was, or it will be."""
        fates = ["undone", "done"]
        if self._exactly_once or what.startswith("commit"):
            # A late record of a producer without epochs would be a fault of Kafka's.
            fates.append("late")
        fate = self._random.choice(fates)
        self._landed(process, f"has no answer, {fate}: {what}")
        if fate == "done":
            request()
        elif fate == "late":
            self._broker.later(self._random.choice((0.01, 0.5, 10.0, 50.0)), request)
        self._scheduler.sleep(self._random.choice(_LOST_S))
        raise BrokerError(f"Could not {what}: no answer.", retriable=True)

    def _wait(self, process: Process, what: str) -> None:
        seconds = min(self._broker.down_until - self._scheduler.now, 20.0)
        self._scheduler.sleep(max(0.1, seconds))
        if self._broker.is_down:
            raise BrokerError(f"Could not {what}: no broker answers.", retriable=True)

    def _landed(self, process: Process, what: str) -> None:
        self.landed += 1
        self._left -= 1
        self._scheduler.note(process.name, f"*** {what}")


class ProcessNetwork:
    """The network as one process has it."""

    def __init__(self, chaos: Chaos, process: Process) -> None:
        self._chaos = chaos
        self._process = process
        self.clock = process.clock

    def call(self, what: str, request: Callable[[], T]) -> T:
        return self._chaos.request(self._process, what, request)

    def share(self, waiting: int) -> int:
        return self._chaos.share(waiting)
