"""What a task has sent: how much to which topic, and how old it was."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from headrace.core.clock import Clock
from headrace.metrics import catalogue
from headrace.metrics.backlog import MANY, Backlog, sample
from headrace.metrics.recorder import Recorder
from headrace.topology.nodes import SinkNode

_FIXED_SIZE = 8 + 4
"""Of every record, as Kafka Streams counts: timestamp, partition."""


class Production:
    """Measures what sinks send, as Consumption does what is read.

    A record in the outbox doesn't name its sink. Its topic does; if a sink chooses its topics,
    those that are no other's are taken for its own.
    """

    def __init__(
        self,
        metrics: Recorder,
        nodes: Iterable[object],
        topic_name: Callable[[str], str],
        others: Collection[str | None],
        clock: Clock,
    ) -> None:
        """`others` are topics that no sink writes to: changelogs, and that of dead letters."""
        self._metrics = metrics
        self._clock = clock
        self._others = others
        self._sinks: dict[str, str] = {}
        self._choosing_sink: str | None = None
        for node in nodes:
            if isinstance(node, SinkNode):
                if callable(node.topic):
                    self._choosing_sink = self._choosing_sink or node.name
                else:
                    self._sinks.setdefault(topic_name(node.topic), node.name)
        self._topics: dict[str, _Topic | None] = {}
        self._backlog: Backlog[Sequence[Any]] = Backlog()

    def add(self, outbox: Sequence[Any], counts: Mapping[str, int]) -> None:
        """`counts` are how many records are for each topic."""
        for name, count in counts.items():
            topic = self._topic(name)
            if topic is not None:
                topic.records.record(count)
                topic.unmeasured += count
        if self._backlog.add(outbox, len(outbox)):
            self.measure()

    def measure(self) -> None:
        if not self._backlog.rows:
            return
        now = self._clock.now_ms()
        sizes: defaultdict[str, list[int]] = defaultdict(list)
        for outbox, part in self._backlog.take():
            for name, _, key, value, timestamp, headers in outbox[part]:
                topic = self._topic(name)
                if topic is not None:
                    size = len(key or b"") + len(value or b"")
                    for header, text in headers:
                        size += len(header) + len(text or b"")
                    sizes[name].append(size)
                    if timestamp is not None:
                        topic.latency.record(now - timestamp)
        for name, found in sizes.items():
            topic = self._topic(name)
            assert topic is not None
            topic.measured(sum(found) / len(found))

    def _topic(self, name: str) -> _Topic | None:
        try:
            return self._topics[name]
        except KeyError:
            sink = self._sinks.get(name)
            if sink is None and name not in self._others:
                sink = self._choosing_sink
            topic = None if sink is None else _Topic(self._metrics, sink, name)
            self._topics[name] = topic
            return topic


class _Topic:
    """A topic that a sink writes to."""

    def __init__(self, metrics: Recorder, sink: str, name: str) -> None:
        self.latency = metrics.distribution(catalogue.NODE_LATENCY, sink)
        self.records = metrics.counter(catalogue.RECORDS_PRODUCED, sink, name)
        self.bytes = metrics.counter(catalogue.BYTES_PRODUCED, sink, name)
        self.unmeasured = 0
        """Records whose bytes are not counted yet: none of them was in a sample."""
        self._fixed_size = _FIXED_SIZE + len(name.encode())

    def measured(self, size: float) -> None:
        self.bytes.record(round(self.unmeasured * (self._fixed_size + size)))
        self.unmeasured = 0


class Arrivals:
    """The timestamps of records that came to a terminal node which is no sink."""

    __slots__ = ("_clock", "_latency", "timestamps")

    def __init__(self, metrics: Recorder, node: str, clock: Clock) -> None:
        self._latency = metrics.distribution(catalogue.NODE_LATENCY, node)
        self._clock = clock
        self.timestamps: list[int] = []

    def measure_if_many(self) -> None:
        if len(self.timestamps) >= MANY:
            self.measure()

    def measure(self) -> None:
        if self.timestamps:
            now = self._clock.now_ms()
            looked_at = sample(self.timestamps)
            self._latency.record_all([now - timestamp for timestamp in looked_at])
            self.timestamps.clear()
