"""Where a run begins in its inputs: where the run before it was, or by the reset policy."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headrace.core.record import TopicPartition
from headrace.engine.claim import Claimed
from headrace.engine.plan import Plan
from headrace.kafka.port import Kafka, Position
from headrace.kafka.resets import loss, lost_positions, starting_offsets

log = logging.getLogger("headrace")


def beginning(kafka: Kafka, plan: Plan, before: Claimed | None) -> dict[TopicPartition, Position]:
    """The positions that a run is to commit and begin at: those that are known as well, because
    Kafka forgets what was committed long ago.

    Raises StreamsError if a position is lost: the run `before` had one that can't be gone on from.
    Partitions and topics that are new begin by the policy; a topic that was deleted and created
    again is new.
    """
    committed = kafka.group.committed(plan.inputs)
    if not plan.exactly_once:
        committed |= _purged(kafka, plan, committed)
    if before is not None:
        read = {part for part in plan.inputs if before.has_read(part, plan.topic_ids[part.topic])}
    else:
        read = set() if committed or not _has_state(kafka, plan) else set(plan.inputs)
    lost = lost_positions(kafka, committed, plan.inputs, read)
    failed = [
        reason
        for part, reason in lost.items()
        if before is None or not before.has_read_another(part.topic, plan.topic_ids[part.topic])
    ]
    if failed and plan.config["lost.positions"] == "fail":
        raise loss(plan.config.application_id, failed)
    for reason in lost.values():
        log.warning("By auto.offset.reset: %s", reason)
    missing = [part for part in plan.inputs if part in lost or part not in committed]
    begin = starting_offsets(plan.topology, plan.config, missing, kafka.group)
    return committed | {part: Position(offset) for part, offset in begin.items()}


def _purged(
    kafka: Kafka, plan: Plan, committed: Mapping[TopicPartition, Position]
) -> dict[TopicPartition, Position]:
    """Where internal topics begin whose positions are before that: a commit that came late has set
    them back, as without transactions nobody refuses it. What is purged was committed before."""
    internal = [part for part in committed if part.topic in plan.internal_topics]
    first = kafka.group.first_offsets(internal)
    return {
        part: committed[part]._replace(offset=offset)
        for part, offset in first.items()
        if committed[part].offset < offset
    }


def _has_state(kafka: Kafka, plan: Plan) -> bool:
    """Whether somebody has written changelogs, if without a claim: Kafka Streams, for example."""
    # A source topic that serves as changelog is written by others.
    stores = plan.topology.stores.keys() - plan.topology.source_topics_of_stores.keys()
    parts = [
        TopicPartition(topic, number)
        for store in stores
        if (topic := plan.changelog_of(store)) is not None
        for number in range(plan.partitions[topic])
    ]
    return any(kafka.changelogs.ends(parts).values())
