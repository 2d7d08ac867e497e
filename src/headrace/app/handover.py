"""The handover of an application that ends: Kafka Streams can go on from where it is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import closing

from headrace.core.errors import BrokerError
from headrace.core.record import TopicPartition
from headrace.engine.claim import Claim, fence
from headrace.engine.plan import Plan
from headrace.engine.slot_runner import SlotCluster
from headrace.kafka.port import Kafka, Position

log = logging.getLogger("headrace")

_REACHABLE_S = 2.0


class Handover:
    """Leaves positions as Kafka Streams reads them, if the application was ever claimed.

    `connect` gives clients of its own: those of the application are no longer of use when it is
    closed.
    """

    def __init__(self, connect: Callable[[], Kafka]) -> None:
        self._connect = connect
        self._plan: Plan | None = None

    def claimed(self, plan: Plan) -> None:
        self._plan = plan

    def run(self, cluster: SlotCluster) -> None:
        plan = self._plan
        if plan is None:
            return
        try:
            with closing(self._connect()) as kafka:
                if not kafka.group.wait_until_reachable(_REACHABLE_S):
                    raise BrokerError("Kafka can't be reached.")
                cluster.hand_over(lambda: _positions(kafka, plan))
        except Exception as error:
            log.warning("Kafka Streams would not find the partition times: %s", error)


def _positions(kafka: Kafka, plan: Plan) -> Mapping[TopicPartition, Position]:
    """When no worker can commit any more: one that was given up may still be at work."""
    claim = Claim(kafka, plan)
    claim.check()
    fence(kafka, range(1, plan.slots) if plan.exactly_once else ())  # the first is fenced already
    claim.check()
    return kafka.group.committed(plan.inputs)
