"""The start of an application: topics checked and made, earlier runs shut out, positions known."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from headrace.core.config import StreamsConfig
from headrace.core.errors import AuthorizationError, MissingTopicError, StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.beginning import beginning
from headrace.engine.claim import CLAIM, Claim, Claimed, fence, instance_name
from headrace.engine.plan import Plan, full_name, plan_tasks
from headrace.kafka.internal_topics import InternalTopics, claim_topic
from headrace.kafka.port import Kafka
from headrace.topology.nodes import SinkNode, SourceNode
from headrace.topology.topology import Topology

log = logging.getLogger("headrace")

_SESSION_S = 60.0
"""Kafka Streams' session.timeout.ms is 45 seconds."""
_LOOK_EVERY_S = 0.5


class Instances(NamedTuple):
    """The other instances of an application: the one that runs it, if one does, and all."""

    running: str | None
    others: list[str]
    is_claimed_here: bool = False
    """Whether the claim is this instance's, also if it never heard that it was written."""


class Launch:
    """Turns a topology into a plan, and claims the application for it."""

    def __init__(
        self, topology: Topology, config: StreamsConfig, kafka: Kafka, instance: str | None = None
    ) -> None:
        self.instance = instance or instance_name()
        self._topology = topology
        self.config = config
        self.kafka = kafka
        self._claim: Claim | None = None
        self._known_runs: set[int | None] = set()
        """The run that had the claim when this instance first looked, and this instance's own."""

    def plan(self, cores: int) -> Plan:
        """Make the internal topics, or check those that are there, and plan the tasks."""
        topics = self._topics()
        self.kafka.admin.check_rights(self._external_rights())
        topics.ensure()
        self.kafka.admin.check_rights(topics.rights())
        known = self.kafka.admin.describe(topics.all_names() | self._sink_topics())
        tasks, global_task = plan_tasks(self._topology, self.config, topics)
        threads = self.config["num.stream.threads"] or cores
        return Plan(
            run=secrets.randbits(62),
            topology=self._topology,
            config=self.config,
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
        topics = self._topics()
        try:
            found = self.kafka.admin.describe(plan.topic_ids)
        except AuthorizationError:
            # That we may not see a topic is less than what we need.
            self.kafka.admin.check_rights(self._external_rights())
            raise
        internal = topics.internal_names()
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
        tasks, _ = plan_tasks(self._topology, self.config, topics)
        return bool(changed) or tasks != plan.tasks

    def wait_until_free(self, closing: threading.Event) -> None:
        """Kafka Streams doesn't leave the consumer group when it is closed: it is in it until its
        session times out. Raises BrokerError if somebody stays for longer than that."""
        group = self.config.application_id
        deadline = time.monotonic() + _SESSION_S
        waits = False
        while (members := self.kafka.admin.group_members(group)) and time.monotonic() < deadline:
            if not waits:
                who = ", ".join(sorted(set(members)))
                log.warning("Waiting for the session of %s in consumer group %s to end", who, group)
                waits = True
            if closing.wait(_LOOK_EVERY_S):
                break
        self.kafka.admin.check_group_is_free(group)

    def claim(self, plan: Plan) -> dict[TopicPartition, int]:
        """Shut out earlier runs, and find where each input goes on.

        The order matters: a worker of an earlier run that takes its slot again after we fenced it
        reads the claim then, and stops; one that took it before can't commit any more. Positions
        are committed by the producer that wrote the claim: who has begun to claim the application
        after us has shut that out.

        Raises FencedError if another instance has claimed it since this one first did, StreamsError
        if positions are lost; nobody was shut out then.
        """
        # Clients of an earlier plan may not know of partitions that came since.
        self.kafka.close()
        self._claim = claim = Claim(self.kafka, plan)
        with closing(self.kafka.producer_named(CLAIM)) as producer:
            producer.open()
            before = claim.current()
            self._compare(claim, before)
            beginning(self.kafka, plan, before)
            self._known_runs.add(plan.run)
            slots = _slots_to_fence(plan, before)
            taken = Claimed(plan.run, slots, self.instance, {} if before is None else before.inputs)
            claim.write(producer, taken)
            fence(self.kafka, range(slots))
            positions = beginning(self.kafka, plan, before)
            inputs = {
                part.topic: (plan.topic_ids[part.topic], plan.partitions[part.topic])
                for part in plan.inputs
            }
            claim.write(producer, replace(taken, inputs=inputs), positions)
        return {part: position.offset for part, position in positions.items()}

    def instances(self, plan: Plan) -> Instances:
        """Who is there besides this instance."""
        claimed = Claim(self.kafka, plan).seen()
        members = self.kafka.admin.group_members(claim_topic(self.config.application_id))
        others = sorted(set(members) - {self.instance})
        at_work = claimed is not None and claimed.instance in others
        return Instances(
            claimed.instance if claimed is not None and at_work else None,
            others,
            claimed is not None and claimed.instance == self.instance,
        )

    def check_claim(self) -> None:
        """Raises FencedError if another run has claimed the application since this one did."""
        if self._claim is not None:
            self._claim.check()

    def _compare(self, claim: Claim, before: Claimed | None) -> None:
        """An instance takes the application once from whoever has it. After that it only renews its
        own claim, or tries again where it doesn't know how an attempt has ended."""
        run = None if before is None else before.run
        if self._known_runs and run not in self._known_runs:
            raise claim.lost_to(before)
        self._known_runs.add(run)

    def _topics(self) -> InternalTopics:
        try:
            return InternalTopics(self._topology, self.config, self.kafka.admin)
        except MissingTopicError:
            # Or may we only not see it?
            self.kafka.admin.check_rights(self._external_rights())
            raise

    def _external_rights(self) -> dict[str, set[str]]:
        """What the application does with topics that others made, as far as they are named."""
        rights: defaultdict[str, set[str]] = defaultdict(set)
        for node in self._topology.nodes.values():
            if isinstance(node, SourceNode):
                for topic in node.topics:
                    rights[topic].add("READ")
        written = self._sink_topics()
        if dead_letters := self.config["errors.dead.letter.queue.topic.name"]:
            written.add(dead_letters)
        for topic in written:
            rights[topic].add("WRITE")
        internal = self._topology.internal_topics
        own = {full_name(self._topology, self.config.application_id, name) for name in internal}
        return {topic: needed for topic, needed in rights.items() if topic not in {*internal, *own}}

    def _sink_topics(self) -> set[str]:
        return {
            full_name(self._topology, self.config.application_id, node.topic)
            for node in self._topology.nodes.values()
            if isinstance(node, SinkNode) and isinstance(node.topic, str)
        }


def _slots_to_fence(plan: Plan, before: Claimed | None) -> int:
    """As many as any run until now can have had; those of `at_least_once` have none to fence."""
    slots = plan.slots if plan.exactly_once else 0
    if before is not None:
        return max(before.slots, slots)
    # No run has left a claim: there may be one all the same, whose topic was deleted.
    return max(len(plan.tasks), slots) if plan.exactly_once else 0
