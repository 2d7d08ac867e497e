"""What is thrown away while an application runs: records that every task has read, and directories
of tasks that are gone."""

from __future__ import annotations

import time
from collections.abc import Mapping

from headrace.core.config import StreamsConfig
from headrace.core.record import TopicPartition
from headrace.engine.clients import Clients
from headrace.engine.plan import Plan
from headrace.state.directory import StateDirectory


class Housekeeping:
    """Does what is due. Positions are those that are committed."""

    def __init__(self, config: StreamsConfig, clients: Clients) -> None:
        self._purge_every_s = config["repartition.purge.interval.ms"] / 1000
        self._cleanup_delay_ms = config["state.cleanup.delay.ms"]
        self._clients = clients
        self._directory = StateDirectory.of(config)
        self._purged_at = time.monotonic()
        self._purged: dict[TopicPartition, int] = {}

    def run(self, plan: Plan, positions: Mapping[TopicPartition, int]) -> None:
        now = time.monotonic()
        if now - self._purged_at < self._purge_every_s:
            return
        self._purged_at = now
        internal = {plan.topic_name(topic) for topic in plan.topology.internal_topics}
        behind = {
            part: offset
            for part, offset in positions.items()
            if part.topic in internal and offset > self._purged.get(part, 0)
        }
        if behind:
            self._clients.admin.delete_records(behind)
            self._purged.update(behind)
        keep = {str(task.id) for task in plan.tasks} | {"global"}
        self._directory.remove_unused(keep, self._cleanup_delay_ms)
