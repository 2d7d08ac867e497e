"""Staleness: local state that may lack deletions which its changelog has forgotten.

A compacted topic keeps a deletion for `delete.retention.ms`, and then only the absence of the key.
State that was not brought up to date for that long still has the key, and nothing that it could
read would take it away.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from headrace.kafka.port import Kafka
from headrace.state.checkpoint import Checkpoint
from headrace.state.port import LocalState

log = logging.getLogger("headrace")

_DAY_MS = 24 * 60 * 60 * 1000
"""Kafka's default."""
_MARGIN_MS = 60 * 60 * 1000
"""For what is forgotten while it is read."""
_SOONEST_MS = 10_000
"""Brokers don't compact more often than that, whatever a topic says."""


class Following:
    """Knows how long a state has not been at the end of its topics."""

    def __init__(self, name: str, state: LocalState, kafka: Kafka) -> None:
        self._name = name
        self._state = state
        self._kafka = kafka
        self._checkpoint: Checkpoint | None = None
        self._age_ms = 0.0

    def at_end(self) -> None:
        """The state has all that its topics have now."""
        self._checkpoint, self._age_ms = self._state.checkpoint, self._state.age_ms()

    def has_missed_deletions(self, behind: Collection[str]) -> bool:
        """Whether it may have. `behind` are the topics that have something the state has not: a
        topic that has nothing new has forgotten nothing new, either."""
        if not behind or self._state.checkpoint is None:
            return False
        age_ms = self._unfollowed_ms()
        if age_ms < _SOONEST_MS:
            return False
        for topic, config in self._kafka.admin.configs(behind).items():
            kept_ms = _kept_ms(config)
            if kept_ms is not None and age_ms >= kept_ms - min(_MARGIN_MS, kept_ms / 2):
                log.warning(
                    "The state of %s is restored: it was last brought up to date %.0f minutes ago, "
                    "and topic %s keeps deletions for %.0f (delete.retention.ms).",
                    self._name, age_ms / 60_000, topic, kept_ms / 60_000,
                )  # fmt: skip
                return True
        return False

    def _unfollowed_ms(self) -> float:
        age_ms = self._state.age_ms()
        if self._checkpoint is not None and self._checkpoint == self._state.checkpoint:
            return max(0.0, age_ms - self._age_ms)
        return age_ms


def _kept_ms(config: Mapping[str, str | None]) -> float | None:
    """How long a topic keeps deletions; None if for ever."""
    if "compact" not in (config.get("cleanup.policy") or "compact"):
        return None
    return float(config.get("delete.retention.ms") or _DAY_MS)
