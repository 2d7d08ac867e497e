"""The last records of a topic."""

from __future__ import annotations

import time
from contextlib import closing

from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.kafka.admin import Admin
from headrace.kafka.positions import GroupReader
from headrace.kafka.settings import ClientSettings
from headrace.kafka.topic_tail import TopicTail

_BYTES = 16 * 1024 * 1024


def latest_records(
    settings: ClientSettings, topic: str, limit: int, timeout_s: float
) -> list[ConsumerRecord]:
    """Those at the last `limit` offsets of each partition, the latest first; what is read in time
    and before it is too much, and none if there is no such topic. Raises BrokerError if Kafka can't
    be reached."""
    deadline = time.monotonic() + timeout_s
    with closing(Admin(settings, timeout_s=timeout_s)) as admin:
        info = admin.describe([topic]).get(topic)
    partitions = [TopicPartition(topic, number) for number in range(info.partitions if info else 0)]
    with closing(GroupReader(settings, timeout_s=timeout_s)) as group:
        first, ends = group.first_offsets(partitions), group.end_offsets(partitions)
    starts = {part: max(first[part], end - limit) for part, end in ends.items()}
    waiting = {part for part, start in starts.items() if start < ends[part]}
    found: list[ConsumerRecord] = []
    size = 0
    with closing(TopicTail(settings, {part: starts[part] for part in waiting})) as tail:
        while waiting - tail.ended and (left := deadline - time.monotonic()) > 0 and size < _BYTES:
            records = tail.poll(min(left, 0.5))
            size += sum(len(each.key or b"") + len(each.value or b"") for each in records)
            found += records
    return sorted(found, key=lambda record: (-record.timestamp, -record.offset))
