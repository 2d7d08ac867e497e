"""Logs in memory, in place of a Kafka that is only read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.kafka.port import Kafka, Logged, OffsetGone


class Logs:
    """Partitions of records, which come in lists of `batch` at most. What is before `begins_at` was
    deleted."""

    def __init__(self, batch: int = 2) -> None:
        self.group = self.changelogs = self.admin = self
        self.config: dict[str, str | None] = {}
        """Of every topic."""
        self.batch = batch
        self.begins_at = 0
        self._logs: dict[TopicPartition, list[Logged]] = {}

    @property
    def kafka(self) -> Kafka:
        return cast(Kafka, self)

    def log(self, part: TopicPartition) -> list[Logged]:
        return self._logs.setdefault(part, [])

    def write(self, part: TopicPartition, key: bytes, value: bytes | None) -> None:
        self.log(part).append((key, value, 5, ()))

    def end_offsets(self, parts: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {part: len(self.log(part)) for part in parts}

    def first_offsets(self, parts: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(parts, self.begins_at)

    ends = end_offsets

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str | None]]:
        return dict.fromkeys(topics, self.config)

    def read(
        self, part: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[list[Logged], int]]:
        if 0 < start < self.begins_at:
            raise OffsetGone(f"The log doesn't have {part}@{start}.")
        for offset in range(max(start, self.begins_at), end, self.batch):
            until = min(offset + self.batch, end)
            yield self.log(part)[offset:until], until

    def records(
        self, part: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[list[ConsumerRecord], int]]:
        for logged, after in self.read(part, start, end):
            first = after - len(logged)
            yield (
                [
                    ConsumerRecord(*part, first + index, timestamp, key, value, headers)
                    for index, (key, value, timestamp, headers) in enumerate(logged)
                ],
                after,
            )

    def close(self) -> None:
        pass
