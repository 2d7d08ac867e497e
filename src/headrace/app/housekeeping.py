"""What is thrown away while an application runs: records that every task has read, and directories
of tasks that are elsewhere or gone."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from headrace.app.nodes import Nodes
from headrace.core.clock import PacedClock
from headrace.core.config import StreamsConfig
from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan
from headrace.kafka.port import Kafka
from headrace.state.directory import StateDirectory

log = logging.getLogger("headrace")


class Housekeeping:
    """Does what is due for the driver. Positions are those that are committed."""

    def __init__(
        self, config: StreamsConfig, kafka: Kafka, nodes: Nodes, clock: PacedClock
    ) -> None:
        self._purge_every_s = config["repartition.purge.interval.ms"] / 1000
        self._kafka = kafka
        self._nodes = nodes
        self._clock = clock
        self._leftovers = Leftovers(config)
        self._purged_at = clock.seconds()
        self._purged: dict[TopicPartition, int] = {}

    def run(self, plan: Plan, positions: Mapping[TopicPartition, int]) -> None:
        now = self._clock.seconds()
        if now - self._purged_at < self._purge_every_s:
            return
        self._purged_at = now
        self._purge(plan, positions)
        if not self._nodes.have_tasks:
            # Otherwise the node of each host does that for its own.
            self._leftovers.remove(directories(plan))

    def _purge(self, plan: Plan, positions: Mapping[TopicPartition, int]) -> None:
        behind = {
            part: offset
            for part, offset in positions.items()
            if part.topic in plan.internal_topics and offset > self._purged.get(part, 0)
        }
        if behind:
            self._kafka.admin.delete_records(behind)
            self._purged.update(behind)


def directories(plan: Plan) -> set[str]:
    """The names of all directories that the tasks of a plan have."""
    shared = {"global"} if plan.global_task is not None else set()
    return {str(task.id) for task in plan.tasks} | shared


class Leftovers:
    """Directories on this host that no task needs any more: it has moved to another, or is gone."""

    def __init__(self, config: StreamsConfig) -> None:
        self._directory = StateDirectory.of(config)
        self._delay_ms = config["state.cleanup.delay.ms"]
        self._max_age_ms = config["state.cleanup.dir.max.age.ms"]

    def remove_outdated(self) -> None:
        """Remove what nobody has used for as long as `state.cleanup.dir.max.age.ms` says. For the
        start: what tasks have that merely had no input would be restored for nothing."""
        if self._max_age_ms >= 0:
            for task in self._directory.remove_unused((), self._max_age_ms):
                log.info("The state of task %s was removed: it is outdated", task)

    def remove(self, keep: Collection[str]) -> None:
        """Remove the directories of other tasks than these, if nobody has used them for as long as
        `state.cleanup.delay.ms` says."""
        for task in self._directory.remove_unused(keep, self._delay_ms):
            log.info("The state of task %s was removed: it isn't needed on this host", task)
