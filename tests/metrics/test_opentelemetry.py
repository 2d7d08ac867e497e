"""OpenTelemetry's instruments over the same metrics."""

from __future__ import annotations

from math import nan
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from headrace.metrics.name import MetricName, MetricValue
from headrace.metrics.opentelemetry import observe

THREAD = (("thread-id", "app-0"),)
VALUES: dict[MetricName, MetricValue] = {
    MetricName("commit-total", "stream-thread-metrics", THREAD): 5,
    MetricName("commit-latency-avg", "stream-thread-metrics", THREAD): 2.5,
    MetricName("commit-latency-max", "stream-thread-metrics", THREAD): nan,
    MetricName("state", "stream-metrics", (("client-id", "app"),)): "RUNNING",
}


def read() -> tuple[dict[str, Any], int]:
    calls = 0

    def metrics() -> dict[MetricName, MetricValue]:
        nonlocal calls
        calls += 1
        return VALUES

    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    observe(metrics, provider)
    data = reader.get_metrics_data()
    provider.shutdown()
    assert data is not None
    found = {
        metric.name: metric.data
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.data.data_points
    }
    return found, calls


def test_numbers_are_observed_with_their_tags() -> None:
    found, _ = read()
    assert sorted(found) == ["headrace.thread.commit-latency-avg", "headrace.thread.commit-total"]
    (latency,) = found["headrace.thread.commit-latency-avg"].data_points
    assert (latency.value, dict(latency.attributes)) == (2.5, {"thread-id": "app-0"})


def test_totals_are_counters() -> None:
    found, _ = read()
    total = found["headrace.thread.commit-total"]
    assert total.is_monotonic
    assert total.data_points[0].value == 5


def test_all_instruments_share_one_reading() -> None:
    assert read()[1] == 1
