"""Positions that are missing or lost: where to begin, and whether that may be."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Mapping

from headrace.core.config import StreamsConfig
from headrace.core.duration import to_ms
from headrace.core.errors import StreamsError
from headrace.core.record import TopicPartition
from headrace.kafka.port import Kafka, Position, Positions
from headrace.kafka.settings import ClientSettings
from headrace.topology.nodes import AutoOffsetReset, SourceNode
from headrace.topology.topology import Topology


def starting_offsets(
    topology: Topology,
    config: StreamsConfig,
    partitions: Iterable[TopicPartition],
    group: Positions,
) -> dict[TopicPartition, int]:
    """Where to begin, by the policy of the source that reads a partition, or `auto.offset.reset`.

    An internal topic is always read from its beginning: what is in it was never processed. Raises
    StreamsError for partitions whose policy is `none`.
    """
    policies = _Policies(topology, config)
    by_policy: dict[AutoOffsetReset, list[TopicPartition]] = {}
    for partition in partitions:
        by_policy.setdefault(policies.of(partition.topic), []).append(partition)
    offsets: dict[TopicPartition, int] = {}
    for (strategy, duration), members in by_policy.items():
        if strategy == "earliest":
            offsets |= group.first_offsets(members)
        elif strategy == "latest":
            offsets |= group.end_offsets(members)
        elif duration is not None:
            now_ms = time.time_ns() // 1_000_000
            offsets |= group.offsets_at(members, now_ms - to_ms(duration, "The duration"))
        else:
            raise StreamsError(
                f"There is no valid committed position of {', '.join(map(str, members))}, and "
                "auto.offset.reset is none. Set consumer.auto.offset.reset (or the offset_reset of "
                "the source) to earliest, latest or by_duration:PT… for this start."
            )
    return offsets


def lost_positions(
    kafka: Kafka,
    committed: Mapping[TopicPartition, Position],
    inputs: Iterable[TopicPartition],
    read: Container[TopicPartition],
) -> dict[TopicPartition, str]:
    """Why the application can't go on in some of its inputs. Those that it hasn't `read` before
    have no position to lose.

    A position may be beyond what is committed: with `at_least_once`, records of an open transaction
    were read. So it is the log's own end that counts.
    """
    parts = list(committed)
    first, end = kafka.group.first_offsets(parts), kafka.changelogs.ends(parts)
    lost: dict[TopicPartition, str] = {}
    for part in inputs:
        if part not in committed:
            if part in read:
                lost[part] = f"{part} has no position any more"
        elif (at := committed[part].offset) < first[part]:
            begin = first[part]
            lost[part] = f"{part}@{at} was deleted before it was read, its log begins at {begin}"
        elif at > end[part]:
            lost[part] = f"{part}@{at} is not there, its log ends at {end[part]}"
    return lost


def known_positions(
    group: Positions, application_id: str, inputs: Iterable[TopicPartition]
) -> dict[TopicPartition, Position]:
    """The positions of an application that runs: all were committed with its claim. Raises
    StreamsError if one is gone."""
    asked = list(inputs)
    positions = group.committed(asked)
    if gone := [part for part in asked if part not in positions]:
        raise loss(application_id, [f"{part} has no position any more" for part in gone])
    return positions


def loss(application_id: str, lost: Iterable[str]) -> StreamsError:
    """What to raise if an application can't go on from its positions."""
    return StreamsError(
        f"Application {application_id!r} can't go on where it was: {'; '.join(lost)}. Records were "
        "deleted by retention, Kafka forgot the positions of an application that was stopped for "
        "long (the brokers' offsets.retention.minutes), or somebody deleted them. To begin anew, "
        "`headrace reset`. To go on with the state as it is, and in these partitions by "
        "auto.offset.reset, so that records are skipped or processed again, start it once with "
        "lost.positions=reset."
    )


class _Policies:
    def __init__(self, topology: Topology, config: StreamsConfig) -> None:
        self._default = ClientSettings(config).offset_reset()
        self._internal = {f"{config.application_id}-{topic}" for topic in topology.internal_topics}
        self._sources = [node for node in topology.nodes.values() if isinstance(node, SourceNode)]

    def of(self, topic: str) -> AutoOffsetReset:
        if topic in self._internal:
            return AutoOffsetReset.earliest()
        for source in self._sources:
            is_read = source.pattern.fullmatch(topic) if source.pattern else topic in source.topics
            if is_read and source.offset_reset is not None:
                return source.offset_reset
        return self._default
