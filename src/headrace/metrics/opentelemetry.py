"""The metrics of an application as OpenTelemetry's instruments (`pip install
'headrace[opentelemetry]'`).

    from headrace.metrics.opentelemetry import observe

    observe(streams.metrics, meter_provider)

Instruments are called as in Prometheus, without `headrace_` and with dots for what they are of:
`headrace.thread.commit-latency-avg`. Tags are attributes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from math import isnan
from typing import Any

from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation, get_meter

from headrace.metrics.catalogue import SENSORS
from headrace.metrics.name import MetricName, MetricValue
from headrace.metrics.sensor import Metric, Sensor, Stat

_FRESH_S = 1.0
"""All instruments are read at the same time: once for all of them is enough."""


def observe(
    metrics: Callable[[], Mapping[MetricName, MetricValue]],
    meter_provider: MeterProvider | None = None,
) -> None:
    """Make an instrument of each metric that has a number; whoever reads them calls `metrics()`.

    Without a provider, the global one is used.
    """
    meter = get_meter("headrace", meter_provider=meter_provider)
    readings = _Readings(metrics)
    for sensor in SENSORS.values():
        for metric in sensor.metrics:
            is_total = metric.stat in (Stat.TOTAL, Stat.SUM)
            make: Any = (
                meter.create_observable_counter if is_total else meter.create_observable_gauge
            )
            make(
                f"headrace.{sensor.scope.word}.{metric.name}",
                callbacks=[readings.callback(sensor, metric)],
                description=metric.description,
            )


class _Readings:
    """What `metrics()` gave last, by name."""

    def __init__(self, metrics: Callable[[], Mapping[MetricName, MetricValue]]) -> None:
        self._metrics = metrics
        self._read_at = float("-inf")
        self._found: dict[tuple[str, str], list[Observation]] = {}

    def callback(
        self, sensor: Sensor, metric: Metric
    ) -> Callable[[CallbackOptions], Iterable[Observation]]:
        key = metric.name, sensor.scope.group
        return lambda options: self._current().get(key, ())

    def _current(self) -> dict[tuple[str, str], list[Observation]]:
        now = time.monotonic()
        if now - self._read_at >= _FRESH_S:
            self._read_at = now
            self._found = {}
            for name, value in self._metrics().items():
                if not isinstance(value, str) and not isnan(value):
                    readings = self._found.setdefault((name.name, name.group), [])
                    readings.append(Observation(value, dict(name.tags)))
        return self._found
