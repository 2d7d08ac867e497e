"""The metrics of a whole application, made of what its tasks report."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from headrace.metrics.catalogue import SENSORS
from headrace.metrics.level import RecordingLevel
from headrace.metrics.name import MetricName, MetricValue
from headrace.metrics.recorder import Measurement
from headrace.metrics.samples import Samples
from headrace.metrics.sensor import STORE, Metric, Sensor, Stat


class Registry:
    """Adds up measurements.

    They say what is new since the report before, so that it doesn't matter which process made them:
    totals of a task go on when it moves, and what was rolled back was never added.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.level = RecordingLevel.of(config)
        self._window_ms: int = config["metrics.sample.window.ms"]
        self._samples: int = config["metrics.num.samples"]
        self._lock = threading.Lock()
        self._series: dict[tuple[str, ...], _Series] = {}

    def add(
        self, measurements: Iterable[Measurement], now_ms: int, *, thread: str, task: str = ""
    ) -> None:
        """Take what a thread measured, or one of its tasks."""
        with self._lock:
            for key, tags, values in measurements:
                sensor = SENSORS[key]
                is_of_task = "task-id" in sensor.scope.tags
                # Not by the thread: a task may run in another one from now on.
                series = self._of(sensor, task if is_of_task else thread, *tags)
                series.tags = (thread, task, *tags) if is_of_task else (thread, *tags)
                series.add(now_ms, values)

    def set(self, sensor: Sensor, value: MetricValue, *tags: str) -> None:
        """The value of a gauge."""
        with self._lock:
            series = self._of(sensor, *tags)
            series.tags, series.value = tags, value

    def replace(self, sensor: Sensor, values: Mapping[tuple[str, ...], MetricValue]) -> None:
        """All values of a gauge, by their tags; those of before are forgotten."""
        with self._lock:
            self._series = {key: one for key, one in self._series.items() if key[0] != sensor.key}
            for tags, value in values.items():
                series = self._of(sensor, *tags)
                series.tags, series.value = tags, value

    def retain(self, *, threads: Collection[str], tasks: Collection[str]) -> None:
        """Forget the threads and tasks that are no more."""
        with self._lock:
            self._series = {
                key: one for key, one in self._series.items() if one.is_of(threads, tasks)
            }

    def total(self, sensor: Sensor, task: str) -> int:
        """How often something was recorded in a task."""
        with self._lock:
            series = self._series.get((sensor.key, task))
            return 0 if series is None else int(series.count)

    def values(self, now_ms: int) -> dict[MetricName, MetricValue]:
        """All metrics as they are now. What was not measured lately is NaN, or a rate of 0."""
        with self._lock:
            return {
                one.name(metric): one.measure(metric, now_ms)
                for one in self._series.values()
                for metric in one.sensor.metrics
            }

    def _of(self, sensor: Sensor, *key: str) -> _Series:
        series = self._series.get((sensor.key, *key))
        if series is None:
            samples = Samples(self._window_ms, self._samples)
            series = self._series[(sensor.key, *key)] = _Series(sensor, samples)
        return series


class _Series:
    """What was measured by a sensor, of one thing."""

    __slots__ = ("_names", "_samples", "_tags", "count", "sensor", "total", "value")

    def __init__(self, sensor: Sensor, samples: Samples) -> None:
        self.sensor = sensor
        self.count: float = 0
        self.total: float = 0
        self.value: MetricValue = 0
        self._tags: tuple[str, ...] = ()
        self._names: dict[str, MetricName] = {}
        self._samples = samples

    @property
    def tags(self) -> tuple[str, ...]:
        return self._tags

    @tags.setter
    def tags(self, tags: tuple[str, ...]) -> None:
        if tags != self._tags:
            self._tags = tags
            self._names.clear()

    def add(self, now_ms: int, values: Iterable[float]) -> None:
        count, *rest = values
        if rest:
            total, low, high = rest
        else:
            total = low = high = self.value = count
        self.count += count
        self.total += total
        self._samples.add(now_ms, count, total, low, high)

    def is_of(self, threads: Collection[str], tasks: Collection[str]) -> bool:
        found = dict(zip(self.sensor.scope.tags, self._tags, strict=True))
        return (
            found.get("thread-id") is None
            or (found.get("task-id") in tasks)
            or ("task-id" not in found and found["thread-id"] in threads)
        )

    def name(self, metric: Metric) -> MetricName:
        name = self._names.get(metric.name)
        if name is None:
            scope = self.sensor.scope
            tags = tuple(zip(scope.tags, self._tags, strict=True))
            if scope is STORE:
                (_, kind), (_, store) = tags[-2:]
                tags = (*tags[:-2], (f"{kind}-id", store))
            name = MetricName(metric.name, scope.group, tags, metric.description)
            self._names[metric.name] = name
        return name

    def measure(self, metric: Metric, now_ms: int) -> MetricValue:
        samples, divisor = self._samples, self.sensor.divisor
        match metric.stat:
            case Stat.VALUE:
                return self.value
            case Stat.TOTAL:
                return self.count
            case Stat.SUM:
                return self.total
            case Stat.RATE:
                return samples.rate(now_ms)
            case Stat.RATIO:
                return samples.ratio(now_ms)
            case Stat.AVG:
                return samples.average(now_ms) / divisor
            case Stat.MIN:
                return samples.smallest(now_ms) / divisor
            case Stat.MAX:
                return samples.largest(now_ms) / divisor
