"""Where to begin in partitions that have no valid committed position."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from headrace.core.config import StreamsConfig
from headrace.core.duration import to_ms
from headrace.core.errors import StreamsError
from headrace.core.record import TopicPartition
from headrace.kafka.positions import GroupReader
from headrace.kafka.settings import ClientSettings
from headrace.topology.nodes import AutoOffsetReset, SourceNode
from headrace.topology.topology import Topology


def starting_offsets(
    topology: Topology,
    config: StreamsConfig,
    partitions: Iterable[TopicPartition],
    group: GroupReader,
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


def out_of_range(group: GroupReader, offsets: Mapping[TopicPartition, int]) -> list[TopicPartition]:
    """Those of the positions that are not in the log any more: records were deleted before they
    were read, or the topic is another one of the same name. To go on is to begin by the policy."""
    first, end = group.first_offsets(offsets), group.end_offsets(offsets)
    return [part for part, offset in offsets.items() if not first[part] <= offset <= end[part]]


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
