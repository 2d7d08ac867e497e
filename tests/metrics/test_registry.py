"""Measurements of many tasks, added up."""

from __future__ import annotations

from math import isnan

from headrace.core.config import StreamsConfig
from headrace.metrics import catalogue
from headrace.metrics.catalogue import SENSORS
from headrace.metrics.name import MetricName, MetricValue
from headrace.metrics.recorder import Recorder
from headrace.metrics.registry import Registry
from headrace.metrics.sensor import Sensor
from headrace.metrics.task import TaskMetrics


def registry(**settings: object) -> Registry:
    return Registry(StreamsConfig({key.replace("_", "."): v for key, v in settings.items()}))


def one(values: dict[MetricName, MetricValue], name: str, **tags: str) -> MetricValue:
    """The value of the only metric of that name and tags."""
    wanted = {(key.replace("_", "-"), value) for key, value in tags.items()}
    (value,) = (
        value
        for metric, value in values.items()
        if metric.name == name and wanted <= {*metric.tags}
    )
    return value


def test_totals_go_on_when_a_task_moves_to_another_process_and_thread() -> None:
    metrics = registry()
    here, there = TaskMetrics(), TaskMetrics()
    here.dropped_records.record(3)
    metrics.add(here.take(), 0, thread="app-0", task="0_1")
    here.dropped_records.record(2)
    metrics.add(here.take(), 1, thread="app-0", task="0_1")
    there.dropped_records.record(4)
    metrics.add(there.take(), 2, thread="app-1", task="0_1")
    here.dropped_records.record(1)
    metrics.add(here.take(), 3, thread="app-0", task="0_1")
    assert one(metrics.values(4), "dropped-records-total") == 10
    assert one(metrics.values(4), "dropped-records-total", thread_id="app-0") == 10
    assert metrics.total(catalogue.DROPPED_RECORDS, "0_1") == 10
    assert metrics.total(catalogue.DROPPED_RECORDS, "0_2") == 0


def test_names_groups_and_tags_are_those_of_kafka_streams() -> None:
    metrics = registry()
    task, thread = Recorder(), Recorder()
    task.counter(catalogue.RECORDS_CONSUMED, "KSTREAM-SOURCE-0000000000", "orders").record(5)
    task.gauge(catalogue.ENTRIES, "rocksdb-window-state", "counts").record(7)
    thread.distribution(catalogue.COMMIT).record(2_000_000)
    metrics.add(task.take(), 0, thread="app-0", task="0_1")
    metrics.add(thread.take(), 0, thread="app-0")
    values = metrics.values(0)
    of_task = ("thread-id", "app-0"), ("task-id", "0_1")
    node = "processor-node-id", "KSTREAM-SOURCE-0000000000"
    topic = (*of_task, node, ("topic", "orders"))
    assert values[MetricName("records-consumed-total", "stream-topic-metrics", topic)] == 5
    store = (*of_task, ("rocksdb-window-state-id", "counts"))
    assert values[MetricName("estimate-num-keys", "stream-state-metrics", store)] == 7
    commit = MetricName("commit-latency-avg", "stream-thread-metrics", of_task[:1])
    assert values[commit] == 2  # ms, of ns
    assert one(values, "commit-total") == 1
    assert all(name.description for name in values)
    assert commit.tag("thread-id") == "app-0"
    assert commit.tag("task-id") is None


def test_latencies_of_two_processes_are_one_distribution() -> None:
    metrics = registry()
    for latencies in ([1, 9], [20]):
        process = Recorder()
        process.distribution(catalogue.NODE_LATENCY, "sink").record_all(latencies)
        metrics.add(process.take(), 0, thread="app-0", task="0_0")
    values = metrics.values(0)
    found = [one(values, f"record-e2e-latency-{stat}") for stat in ("min", "avg", "max")]
    assert found == [1, 10, 20]


def test_the_settings_of_samples_are_heeded() -> None:
    metrics = registry(metrics_num_samples=1, metrics_sample_window_ms=1000)
    task = TaskMetrics()
    task.dropped_records.record(6)
    metrics.add(task.take(), 0, thread="app-0", task="0_0")
    assert one(metrics.values(500), "dropped-records-rate") == 12
    assert one(metrics.values(1000), "dropped-records-rate") == 0
    assert one(metrics.values(1000), "dropped-records-total") == 6


def test_what_is_no_more_is_forgotten() -> None:
    metrics = registry()
    for slot, name in enumerate(["0_0", "0_1"]):
        metrics.add(TaskMetrics().take(), 0, thread=f"app-{slot}", task=name)
        thread = Recorder()
        thread.counter(catalogue.PROCESSED).record(1)
        metrics.add(thread.take(), 0, thread=f"app-{slot}")
    metrics.set(catalogue.CLIENT_INFO["state"], "RUNNING", "app")
    metrics.retain(threads=["app-0"], tasks=["0_0"])
    values = metrics.values(0)
    assert {name.tag("task-id") for name in values} == {None, "0_0"}
    assert {name.tag("thread-id") for name in values} == {None, "app-0"}
    assert one(values, "state") == "RUNNING"


def test_a_gauge_can_be_replaced_as_a_whole() -> None:
    metrics = registry()
    for lags in ({"0": 1, "1": 2}, {"1": 3}):
        metrics.replace(
            catalogue.RECORDS_LAG,
            {("app", "in", partition): lag for partition, lag in lags.items()},
        )
    assert {name.tag("partition"): lag for name, lag in metrics.values(0).items()} == {"1": 3}


def test_a_sensor_has_one_key_and_its_metrics_one_name_each() -> None:
    assert all(key == sensor.key for key, sensor in SENSORS.items())
    names = [(metric.name, sensor.scope.group) for sensor in _all() for metric in sensor.metrics]
    assert len(names) == len(set(names))


def _all() -> list[Sensor]:
    return list(SENSORS.values())


def test_averages_that_nobody_measured_lately_are_not_a_number() -> None:
    metrics = registry()
    thread = Recorder()
    thread.distribution(catalogue.POLL).record(1)
    metrics.add(thread.take(), 0, thread="app-0")
    later = metrics.values(10**9)
    value = one(later, "poll-latency-avg")
    assert isinstance(value, float)
    assert isnan(value)
    assert one(later, "poll-total") == 1
