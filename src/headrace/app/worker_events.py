"""What workers and nodes tell while a batch is running."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from headrace.app.metadata import HostInfo
from headrace.app.observation import Observation
from headrace.core.clock import PacedClock
from headrace.engine.slot_runner import STOP

log = logging.getLogger("headrace")


class WorkerEvents:
    """Hears of events, and passes each on to whom it concerns."""

    def __init__(self, observed: Observation, clock: PacedClock) -> None:
        self._observed = observed
        self._clock = clock
        self._heard_at = clock.seconds()
        self._starting: dict[int, str] = {}
        self._has_progressed = False
        self.stop_slots = False
        """Slots that give a sign of life are told to stop."""

    def heard(self) -> None:
        """There was a sign of life."""
        self._heard_at = self._clock.seconds()

    @property
    def silent_s(self) -> float:
        """How long nobody has given a sign of life."""
        return self._clock.seconds() - self._heard_at

    def take_progress(self) -> bool:
        """Whether a slot has committed something in the middle of a batch, since the last call."""
        progressed, self._has_progressed = self._has_progressed, False
        return progressed

    @property
    def starting(self) -> list[str]:
        """The tasks that were being started when they were last heard of, one of each slot."""
        return sorted(self._starting.values())

    def on_event(self, event: list[Any], send: Callable[[Any], None]) -> None:
        """An event, and the way to tell its sender something."""
        nodes, metrics = self._observed.nodes, self._observed.metrics
        match event:
            case ["node", name, host, port]:
                nodes.joined(name, HostInfo(host, port), send)
                return
            case ["followed", name, lags, of_tasks, of_all]:
                nodes.followed(name, lags)
                metrics.followed(name, of_tasks, of_all)
                return
            case ["gone"]:
                metrics.left(nodes.left(send))
                return
        self.heard()
        match event:
            case ["alive"]:
                if self.stop_slots:
                    send(STOP)
            case ["progressed", positions]:
                self._has_progressed = True
                self._observed.progress.reached(positions)
            case ["starting", slot, task]:
                self._starting[slot] = task
            case ["attempt_failed", slot, task, kind, message]:
                log.warning("Slot %d tries its batch again: %s", slot, message)
                self._observed.progress.attempt_failed(kind, message, task)
            case _:
                self._observed.restoration.on_event(event)
