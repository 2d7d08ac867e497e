"""The metrics of an application as Prometheus reads them.

    from headrace.metrics.prometheus import exposition

    text = exposition(streams.metrics())

or, in a process that serves metrics of its own with prometheus_client:

    REGISTRY.register(StreamsCollector(streams.metrics))

A metric is called `headrace_`, what it is of, and its name in Kafka Streams: of threads,
`commit-latency-avg` is `headrace_thread_commit_latency_avg`. Tags are labels. Below threads
`thread-id` is left out: a task may change its thread with every batch, and would begin a new time
series each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    StateSetMetricFamily,
)
from prometheus_client.registry import Collector

from headrace.metrics.catalogue import SENSORS
from headrace.metrics.name import MetricName, MetricValue
from headrace.metrics.sensor import CLIENT, SCOPES, STORE, Stat

__all__ = [
    "CONTENT_TYPE_LATEST",
    "CRITICAL",
    "STATES",
    "StreamsCollector",
    "exposition",
    "metric_name",
]

CRITICAL = (
    ("commit-latency-avg", "stream-thread-metrics"),
    ("commit-latency-max", "stream-thread-metrics"),
    ("restore-latency-max", "stream-state-updater-metrics"),
    ("restore-time-ns-total", "stream-state-updater-metrics"),
    ("total-sst-files-size", "stream-state-metrics"),
    ("estimate-num-keys", "stream-state-metrics"),
    ("failed-stream-threads", "stream-metrics"),
)
"""What to look at first, and what comes first in the exposition: commit latency, restore time, the
size of stores, failed threads."""

_WORDS = {scope.group: scope.word for scope in SCOPES}
_TOTALS = {
    (metric.name, sensor.scope.group)
    for sensor in SENSORS.values()
    for metric in sensor.metrics
    if metric.stat in (Stat.TOTAL, Stat.SUM)
}
_INFO = ("version", "application-id")
STATES = (
    "CREATED",
    "REBALANCING",
    "RUNNING",
    "PENDING_SHUTDOWN",
    "NOT_RUNNING",
    "PENDING_ERROR",
    "ERROR",
)


def exposition(metrics: Mapping[MetricName, MetricValue]) -> bytes:
    """The metrics as text, of the type CONTENT_TYPE_LATEST."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(StreamsCollector(lambda: metrics))
    return generate_latest(registry)


def metric_name(name: str, group: str) -> str:
    """What a metric of Kafka Streams is called here."""
    return f"headrace_{_WORDS[group]}_{name.replace('-', '_')}"


class StreamsCollector(Collector):
    """Collects what `metrics()` gives when it is asked."""

    def __init__(self, metrics: Callable[[], Mapping[MetricName, MetricValue]]) -> None:
        self._metrics = metrics

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance: the metrics are known when they are collected."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """All metrics by name, the most important first."""
        families: dict[tuple[str, str], Metric] = {}
        texts: dict[str, str] = {}
        for name, value in self._metrics().items():
            if isinstance(value, str):
                if name.group == CLIENT.group:
                    texts[name.name] = value
                continue
            labels = _labels(name)
            key = name.name, name.group
            family = families.get(key)
            if family is None:
                family = families[key] = _family(name, list(labels))
            family.add_metric(list(labels.values()), value)  # type: ignore[attr-defined]
        for key in CRITICAL:
            if key in families:
                yield families.pop(key)
        yield from families.values()
        yield from _described(texts)


def _family(name: MetricName, labels: list[str]) -> Metric:
    full = metric_name(name.name, name.group)
    kind = CounterMetricFamily if (name.name, name.group) in _TOTALS else GaugeMetricFamily
    return kind(full, name.description, labels=labels)


def _labels(name: MetricName) -> dict[str, str]:
    tags = dict(name.tags)
    if len(tags) > 1:
        tags.pop("thread-id", None)
    if name.group == STORE.group:
        # The tag of a store is named after its kind, but labels of one metric must be the same.
        kind, store = tags.popitem()
        tags |= {"store-scope": kind.removesuffix("-id"), "store": store}
    return {key.replace("-", "_"): value for key, value in tags.items()}


def _described(texts: Mapping[str, str]) -> Iterable[Metric]:
    facts = {name.replace("-", "_"): texts[name] for name in _INFO if name in texts}
    if facts:
        yield InfoMetricFamily("headrace", "The application", value=facts)
    if "state" in texts:
        states = {state: state == texts["state"] for state in STATES}
        yield StateSetMetricFamily("headrace_state", "What the application is doing", value=states)
