"""The watch over a running application: lag, topics that have changed, what is no longer needed."""

from __future__ import annotations

import logging

from headrace.app.housekeeping import Housekeeping
from headrace.app.observation import Observation
from headrace.core.clock import PacedClock
from headrace.core.errors import BrokerError
from headrace.engine.launch import Launch
from headrace.engine.plan import Plan
from headrace.engine.slot_runner import SlotRunner
from headrace.kafka.resets import known_positions

log = logging.getLogger("headrace")

_EVERY_S = 5.0
_PATIENCE_S = 5.0
_POSITIONS_LAST_S = 6 * 3600.0
"""Kafka forgets what was committed long ago. To claim an application commits it again."""


class Watch:
    """Looks around every few seconds."""

    def __init__(self, launch: Launch, observed: Observation, clock: PacedClock) -> None:
        self._launch = launch
        self._kafka = launch.kafka
        self._progress = observed.progress
        self._metrics = observed.metrics
        self._housekeeping = Housekeeping(launch.config, launch.kafka, observed.nodes, clock)
        self._clock = clock
        self._away = f"Kafka at {launch.config['bootstrap.servers']} doesn't answer."
        self._claimed_at: float | None = None
        self._looked_at = clock.seconds()

    def claimed(self) -> None:
        """The application was claimed, and its positions with it."""
        self._claimed_at = self._looked_at = self._clock.seconds()

    def look(self, plan: Plan, runner: SlotRunner) -> bool:
        """Whether the application must be planned anew. Raises what can't be mended that way."""
        if not self._may_look():
            return False
        try:
            self._launch.check_claim()
            if self._is_expiring or self._launch.has_changed(plan):
                return True
            if runner.is_idle:
                # No batch will notice that they are gone.
                known_positions(self._kafka.group, plan.config.application_id, plan.inputs)
            self._measure(plan, runner)
        except BrokerError as error:
            log.warning("%s", error)
        return False

    def look_at_claim(self) -> None:
        """Raises FencedError if another instance has taken the application over."""
        if self._may_look():
            try:
                self._launch.check_claim()
            except BrokerError as error:
                log.warning("%s", error)

    def look_while_paused(self, plan: Plan) -> None:
        """As `look_at_claim`; and what was claimed long ago is claimed anew, with its positions."""
        if not self._is_expiring:
            self.look_at_claim()
        elif self._may_look():
            try:
                self._launch.claim(plan)
                self.claimed()
            except BrokerError as error:
                log.warning("%s", error)

    def _may_look(self) -> bool:
        """Whether it is time to, and Kafka answers."""
        now = self._clock.seconds()
        if now - self._looked_at < _EVERY_S:
            return False
        is_there = self._is_kafka_there()
        self._looked_at = self._clock.seconds()
        return is_there

    def _is_kafka_there(self) -> bool:
        """If not, everything else would wait for it, for as long as tasks may, and nobody would
        look after the application meanwhile."""
        progress = self._progress
        if self._kafka.group.wait_until_reachable(_PATIENCE_S):
            if progress.reason == self._away:
                progress.reason = None
            return True
        if progress.reason != self._away:
            log.warning("%s", self._away)
            progress.reason = self._away
        return False

    @property
    def _is_expiring(self) -> bool:
        at = self._claimed_at
        return at is not None and self._clock.seconds() - at > _POSITIONS_LAST_S

    def _measure(self, plan: Plan, runner: SlotRunner) -> None:
        progress = self._progress
        ends = self._kafka.group.end_offsets(plan.inputs)
        progress.ends = ends
        known, read = progress.positions, runner.completed()
        # A partition may end in marks of transactions, behind the last record.
        lags = {
            part: max(0, end - max(known[part], read.get(part, 0))) for part, end in ends.items()
        }
        progress.lags = lags
        progress.lag = sum(lags.values())
        self._metrics.lag(lags)
        # Batches read what was committed before them too, and drop it: it must still be there.
        behind = {part: min(at, read[part]) for part, at in known.items() if part in read}
        self._housekeeping.run(plan, behind)
