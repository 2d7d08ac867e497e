"""The start of an application: topics checked and made, earlier runs shut out, positions known."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from headrace.core.config import StreamsConfig
from headrace.core.errors import StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.claim import Claim
from headrace.engine.clients import Clients
from headrace.engine.plan import Plan, full_name, plan_tasks
from headrace.engine.thread import make_producer
from headrace.kafka.internal_topics import InternalTopics
from headrace.kafka.positions import Position
from headrace.kafka.resets import out_of_range, starting_offsets
from headrace.topology.nodes import SinkNode
from headrace.topology.topology import Topology

log = logging.getLogger("headrace")

_SESSION_S = 60.0
"""Kafka Streams' session.timeout.ms is 45 seconds."""
_LOOK_EVERY_S = 0.5


class Launch:
    """Turns a topology into a plan, and claims the application for it."""

    def __init__(self, topology: Topology, config: StreamsConfig, clients: Clients) -> None:
        self._topology = topology
        self._config = config
        self._clients = clients

    def plan(self, cores: int) -> Plan:
        """Make the internal topics, or check those that are there, and plan the tasks."""
        topics = InternalTopics(self._topology, self._config, self._clients.admin)
        topics.ensure()
        known = self._clients.admin.describe(topics.all_names() | self._sink_topics())
        tasks, global_task = plan_tasks(self._topology, self._config, topics)
        threads = self._config["num.stream.threads"] or cores
        return Plan(
            run=secrets.randbits(62),
            topology=self._topology,
            config=self._config,
            tasks=tasks,
            global_task=global_task,
            partitions={name: info.partitions for name, info in known.items()},
            topic_ids={name: info.topic_id for name, info in known.items()},
            slots=max(1, min(threads, len(tasks))),
        )

    def has_changed(self, plan: Plan) -> bool:
        """Whether the topics of a plan are no longer those it was made for.

        Raises what is wrong if it can't be gone on with.
        """
        topics = InternalTopics(self._topology, self._config, self._clients.admin)
        found = self._clients.admin.describe(plan.topic_ids)
        internal = {topic.name for topic in topics.planned}
        changed = {
            name
            for name, id_ in plan.topic_ids.items()
            if name not in found or found[name].topic_id != id_
        }
        if lost := changed & internal:
            raise StreamsError(
                f"Internal topics were deleted under the running application: "
                f"{', '.join(sorted(lost))}. What was in them is lost. Stop the application "
                "everywhere, and `headrace reset` has it begin anew, from the start of its input."
            )
        tasks, _ = plan_tasks(self._topology, self._config, topics)
        return bool(changed) or tasks != plan.tasks

    def wait_until_free(self, closing: threading.Event) -> None:
        """Kafka Streams doesn't leave the consumer group when it is closed: it is in it until its
        session times out. Raises BrokerError if somebody stays for longer than that."""
        group = self._config.application_id
        deadline = time.monotonic() + _SESSION_S
        waits = False
        while (members := self._clients.admin.group_members(group)) and time.monotonic() < deadline:
            if not waits:
                who = ", ".join(sorted(set(members)))
                log.warning("Waiting for the session of %s in consumer group %s to end", who, group)
                waits = True
            if closing.wait(_LOOK_EVERY_S):
                break
        self._clients.admin.check_group_is_free(group)

    def claim(self, plan: Plan) -> dict[TopicPartition, int]:
        """Shut out earlier runs, and find where each input goes on.

        The order matters: a worker of an earlier run that takes its slot again after we fenced it
        reads the claim then, and stops; one that took it before can't commit any more.
        """
        # Clients of an earlier plan may not know of partitions that came since.
        self._clients.close()
        with closing(Claim(self._clients.settings, plan)) as claim:
            claim.take()
        self._fence(plan)
        group = self._clients.group
        committed = group.committed(plan.inputs)
        positions = {part: position.offset for part, position in committed.items()}
        for part in out_of_range(group, positions):
            log.warning("The committed position %d of %s is gone", positions.pop(part), part)
        missing = [part for part in plan.inputs if part not in positions]
        begin = starting_offsets(self._topology, self._config, missing, group)
        # Those that are known too: Kafka forgets what was committed long ago.
        group.commit(committed | {part: Position(offset) for part, offset in begin.items()})
        return positions | begin

    def _fence(self, plan: Plan) -> None:
        if self._config["processing.guarantee"] != "exactly_once_v2":
            return

        def fence(slot: int) -> None:
            producer = make_producer(plan, self._clients, slot)
            producer.open()
            producer.close()

        # An earlier run may have had as many slots as there are tasks.
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(fence, range(len(plan.tasks))))

    def _sink_topics(self) -> set[str]:
        return {
            full_name(self._topology, self._config.application_id, node.topic)
            for node in self._topology.nodes.values()
            if isinstance(node, SinkNode) and isinstance(node.topic, str)
        }
