"""The nodes of a topology: sources, processors and sinks."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError
from headrace.core.record import ConsumerRecord
from headrace.serde.serde import SerdeLike
from headrace.topology.operators import Operator

TimestampExtractor = Callable[[ConsumerRecord, int], int]
"""`extractor(record, partition_time)`: the record as it was read, but with its key and value
deserialized, and the highest timestamp seen in its partition (-1: none yet)."""

TopicNameExtractor = Callable[[Any, Any, Any], str]
"""`extractor(key, value, context)` gives the name of the topic that a record goes to; the context
is a RecordContext."""

Partitioner = Callable[[str, Any, Any, int], "int | set[int] | None"]
"""`partitioner(topic, key, value, partitions)` gives the partition, a set of them (the record goes
to each; an empty set drops it), or None: the default partitioner decides."""


class AutoOffsetReset(NamedTuple):
    """Where to begin in a topic that has no committed position."""

    strategy: str
    duration: timedelta | None = None

    @classmethod
    def earliest(cls) -> AutoOffsetReset:
        """At the oldest record."""
        return cls("earliest")

    @classmethod
    def latest(cls) -> AutoOffsetReset:
        """After the newest record."""
        return cls("latest")

    @classmethod
    def none(cls) -> AutoOffsetReset:
        """Nowhere: starting without a committed position is an error."""
        return cls("none")

    @classmethod
    def by_duration(cls, duration: timedelta) -> AutoOffsetReset:
        """At the first record that is not older than `duration`, which must not be negative."""
        if to_ms(duration, "The duration of an offset reset") < 0:
            raise ArgumentError(f"The duration of an offset reset can't be negative: {duration}")
        return cls("by_duration", duration)


class SourceNode(NamedTuple):
    """Reads topics, by name or by pattern (which must match the whole name).

    A topic of an internal source is named without the application id in front.
    """

    name: str
    topics: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    key_serde: SerdeLike = None
    value_serde: SerdeLike = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: AutoOffsetReset | None = None


class ProcessorNode(NamedTuple):
    """`operator` says what it does. `stores` are the names of the stores it may use, in order."""

    name: str
    operator: Operator
    parents: tuple[str, ...]
    stores: tuple[str, ...] = ()


class SinkNode(NamedTuple):
    """Writes to a topic, or to the one that an extractor names for each record."""

    name: str
    topic: str | TopicNameExtractor
    parents: tuple[str, ...]
    key_serde: SerdeLike = None
    value_serde: SerdeLike = None
    partitioner: Partitioner | None = None


Node = SourceNode | ProcessorNode | SinkNode
