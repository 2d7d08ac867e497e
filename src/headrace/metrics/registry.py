"""Metrics under Kafka Streams' names, cheap enough to be always on."""

from __future__ import annotations

from dataclasses import dataclass

TASK_METRICS = "stream-task-metrics"
NODE_METRICS = "stream-processor-node-metrics"


@dataclass(frozen=True, slots=True)
class MetricName:
    """What is measured, and of what: tags such as `task-id`."""

    name: str
    group: str
    tags: tuple[tuple[str, str], ...] = ()


class Counter:
    """A number that only grows."""

    __slots__ = ("total",)

    def __init__(self) -> None:
        self.total = 0

    def record(self, by: int = 1) -> None:
        self.total += by


class Metrics:
    """The metrics of one task."""

    def __init__(self, task_id: str = "0_0") -> None:
        self._task_id = task_id
        self._counters: dict[MetricName, Counter] = {}
        self.processed = self._of_task("process-total")
        self.punctuated = self._of_task("punctuate-total")
        self.committed = self._of_task("commit-total")
        self.dropped_records = self._of_task("dropped-records-total")

    def counter(self, name: str, group: str, **tags: str) -> Counter:
        """The counter of that name and tags, made at the first call."""
        metric = MetricName(name, group, (("task-id", self._task_id), *sorted(tags.items())))
        return self._counters.setdefault(metric, Counter())

    def of_node(self, name: str, node: str) -> Counter:
        return self.counter(name, NODE_METRICS, **{"processor-node-id": node})

    def values(self) -> dict[MetricName, int]:
        return {name: counter.total for name, counter in self._counters.items()}

    def _of_task(self, name: str) -> Counter:
        return self.counter(name, TASK_METRICS)
