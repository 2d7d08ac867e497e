"""The records that handlers have sent to the dead letter topic."""

from __future__ import annotations

import time
from collections.abc import Callable

from headrace.core.record import ConsumerRecord
from headrace.server.answers import DeadLetter, DeadLetters
from headrace.server.application import Application
from headrace.server.excerpts import bytes_excerpt
from headrace.server.problems import without_paths

ReadTopic = Callable[[str, int], list[ConsumerRecord]]
"""`read(topic, limit)`: the last records, the latest first."""

_KEPT_S = 5.0
MOST = 100


class DeadLetterList:
    """Read from Kafka when somebody asks, but not more often than every few seconds."""

    def __init__(self, application: Application, read: ReadTopic) -> None:
        self._topic: str | None = application.config["errors.dead.letter.queue.topic.name"]
        self._read = read
        self._kept: list[DeadLetter] = []
        self._kept_until = 0.0

    def latest(self, limit: int) -> DeadLetters:
        if self._topic is None:
            return DeadLetters(None, [])
        if time.monotonic() >= self._kept_until:
            self._kept = [_dead_letter(record) for record in self._read(self._topic, MOST)]
            self._kept_until = time.monotonic() + _KEPT_S
        return DeadLetters(self._topic, self._kept[:limit])


def _dead_letter(record: ConsumerRecord) -> DeadLetter:
    headers = {name: value for name, value in record.headers if value is not None}

    def header(name: str) -> str | None:
        return bytes_excerpt(headers.get(f"__streams.errors.{name}"))

    def number(name: str) -> int | None:
        text = header(name)
        return int(text) if text is not None and text.removeprefix("-").isdecimal() else None

    message = header("message")
    return DeadLetter(
        partition=record.partition,
        offset=record.offset,
        timestamp=record.timestamp,
        key=bytes_excerpt(record.key),
        value=bytes_excerpt(record.value),
        error=header("exception"),
        message=None if message is None else without_paths(message),
        source_topic=header("topic"),
        source_partition=number("partition"),
        source_offset=number("offset"),
    )
