"""What Prometheus is told."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from headrace.core.config import StreamsConfig
from headrace.metrics import catalogue
from headrace.metrics.catalogue import SENSORS
from headrace.metrics.name import MetricName, MetricValue
from headrace.metrics.prometheus import CRITICAL, exposition, metric_name
from headrace.metrics.recorder import Recorder
from headrace.metrics.registry import Registry


def everything() -> dict[MetricName, MetricValue]:
    """Every metric of the catalogue, with a value."""
    registry = Registry(StreamsConfig())
    for sensor in SENSORS.values():
        given = {"client-id", "thread-id", "task-id"}
        tags = [f"a {tag}" for tag in sensor.scope.tags if tag not in given]
        if "client-id" in sensor.scope.tags:
            value = "RUNNING" if sensor.key == "client.state" else 3
            registry.set(sensor, value, "app", *tags)
        else:
            measurement = sensor.key, tags, (2, 6, 1, 5)
            registry.add([measurement], 0, thread="app-0", task="0_1")
    registry.set(catalogue.CLIENT_INFO["version"], "1.0", "app")
    registry.set(catalogue.CLIENT_INFO["application-id"], "shop", "app")
    return registry.values(0)


def sample_names(text: str) -> set[str]:
    families = text_string_to_metric_families(text)
    return {sample.name for family in families for sample in family.samples}


def test_every_metric_is_there_and_can_be_parsed() -> None:
    found = sample_names(exposition(everything()).decode())
    wanted = {
        metric_name(metric.name, sensor.scope.group)
        for sensor in SENSORS.values()
        for metric in sensor.metrics
    }
    texts = {f"headrace_client_{name}" for name in ("version", "application_id", "state")}
    missing = {name for name in wanted - texts if not {name, f"{name}_total"} & found}
    assert missing == set()


def test_names_labels_and_types() -> None:
    registry = Registry(StreamsConfig())
    task, thread = Recorder(), Recorder()
    task.counter(catalogue.DROPPED_RECORDS).record(3)
    task.gauge(catalogue.ENTRIES, "rocksdb-window-state", 'a "name"').record(7)
    thread.distribution(catalogue.COMMIT).record(4_000_000)
    registry.add(task.take(), 0, thread="app-0", task="0_1")
    registry.add(thread.take(), 0, thread="app-0")
    lines = exposition(registry.values(0)).decode().splitlines()
    assert "# TYPE headrace_task_dropped_records_total counter" in lines
    assert 'headrace_task_dropped_records_total{task_id="0_1"} 3.0' in lines
    assert 'headrace_thread_commit_latency_avg{thread_id="app-0"} 4.0' in lines
    labels = '{store="a \\"name\\"",store_scope="rocksdb-window-state",task_id="0_1"}'
    assert f"headrace_state_estimate_num_keys{labels} 7.0" in _with_sorted_labels(lines)
    assert "# TYPE headrace_thread_commit_latency_avg gauge" in lines


def _with_sorted_labels(lines: list[str]) -> list[str]:
    found = []
    for line in lines:
        name, opening, rest = line.partition("{")
        labels, _, value = rest.rpartition("} ")
        labels = ",".join(sorted(labels.split(",")))
        found.append(f"{name}{{{labels}}} {value}" if opening else line)
    return found


def test_a_task_that_changes_its_thread_is_the_same_series() -> None:
    registry = Registry(StreamsConfig())
    texts = []
    for thread in ("app-0", "app-1"):
        task = Recorder()
        task.counter(catalogue.DROPPED_RECORDS).record(1)
        registry.add(task.take(), 0, thread=thread, task="0_1")
        texts.append(exposition(registry.values(0)).decode())
    assert 'headrace_task_dropped_records_total{task_id="0_1"} 1.0' in texts[0]
    assert 'headrace_task_dropped_records_total{task_id="0_1"} 2.0' in texts[1]


def test_the_critical_ones_come_first() -> None:
    text = exposition(everything()).decode()
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    first = [metric_name(*key) for key in CRITICAL]
    assert [name.removesuffix("_total") for name in names[: len(first)]] == [
        name.removesuffix("_total") for name in first
    ]


def test_facts_and_the_state() -> None:
    lines = exposition(everything()).decode().splitlines()
    assert 'headrace_info{application_id="shop",version="1.0"} 1.0' in _with_sorted_labels(lines)
    assert 'headrace_state{headrace_state="RUNNING"} 1.0' in lines
    assert 'headrace_state{headrace_state="ERROR"} 0.0' in lines


def test_the_state_is_not_that_of_a_thread() -> None:
    metrics = Registry(StreamsConfig())
    metrics.set(catalogue.CLIENT_INFO["state"], "ERROR", "app")
    metrics.set(catalogue.THREAD_STATE, "DEAD", "app-0")
    metrics.set(catalogue.THREAD_STATE_NUMBER, 6, "app-0")
    lines = exposition(metrics.values(0)).decode().splitlines()
    assert 'headrace_state{headrace_state="ERROR"} 1.0' in lines
    assert 'headrace_thread_thread_state{thread_id="app-0"} 6.0' in lines


def test_states_are_those_of_the_lifecycle() -> None:
    from headrace.app.lifecycle import State
    from headrace.metrics.prometheus import STATES

    assert tuple(state.value for state in State) == STATES
