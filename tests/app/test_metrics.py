"""What the driver makes of reports, and adds to them."""

from __future__ import annotations

import pytest

from headrace import StreamsBuilder, serdes
from headrace.app.lifecycle import Lifecycle, State
from headrace.app.metrics import ApplicationMetrics
from headrace.app.restoration import Restoration
from headrace.core.config import StreamsConfig
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.report import TaskReport
from headrace.engine.slot_metrics import SlotMetrics
from headrace.metrics import catalogue
from headrace.metrics.level import RecordingLevel
from headrace.metrics.name import MetricValue
from headrace.metrics.prometheus import exposition
from headrace.metrics.recorder import Recorder
from headrace.metrics.task import TaskMetrics

CONFIG = StreamsConfig({"application.id": "shop", "bootstrap.servers": "kafka:9092"})
TEXT = serdes.string()


def topology() -> StreamsBuilder:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).group_by_key().count("counts")
    return builder


def plan(partitions: int, slots: int = 2) -> Plan:
    built = topology().build()
    nodes = tuple(built.nodes)
    tasks = tuple(
        TaskPlan(TaskId(0, number), nodes, {TopicPartition("in", number): nodes[0]})
        for number in range(partitions)
    )
    return Plan(1, built, CONFIG, tasks, None, {}, {}, slots)


class Application:
    def __init__(self) -> None:
        self.lifecycle = Lifecycle()
        self.restoration = Restoration()
        self.metrics = ApplicationMetrics(
            topology().build(), CONFIG, self.lifecycle, self.restoration
        )

    def value(self, name: str, **tags: str) -> MetricValue:
        wanted = {(key.replace("_", "-"), text) for key, text in tags.items()}
        (found,) = (
            value
            for metric, value in self.metrics.values().items()
            if metric.name == name and wanted <= {*metric.tags}
        )
        return found

    def names(self) -> set[str]:
        return {metric.name for metric in self.metrics.values()}


@pytest.fixture
def application() -> Application:
    return Application()


def test_before_the_start(application: Application) -> None:
    assert application.value("application-id") == "shop"
    assert application.value("state", client_id="shop") == "CREATED"
    assert application.value("client-state") == 0
    assert application.value("alive-stream-threads") == 0
    assert application.value("recording-level") == 0
    assert "Topologies:" in str(application.value("topology-description"))


def test_states_and_threads(application: Application) -> None:
    application.lifecycle.move(State.REBALANCING)
    application.metrics.planned(plan(2))
    assert application.value("alive-stream-threads") == 2
    application.lifecycle.move(State.RUNNING)
    assert application.value("state", client_id="shop") == "RUNNING"
    assert application.value("client-state") == 2
    assert application.value("state", thread_id="shop-1") == "RUNNING"
    assert application.value("thread-state", thread_id="shop-1") == 4
    application.metrics.slot_failed()
    application.lifecycle.move(State.PENDING_ERROR)
    assert application.value("failed-stream-threads") == 1
    assert application.value("alive-stream-threads") == 0
    assert application.value("state", thread_id="shop-0") == "PENDING_SHUTDOWN"
    start = application.value("thread-start-time", thread_id="shop-1")
    assert isinstance(start, int)


def report(task: str, slot: int, dropped: int) -> TaskReport:
    measured, thread = TaskMetrics(), SlotMetrics(RecordingLevel.INFO)
    measured.dropped_records.record(dropped)
    thread.processed.record(10)
    made = TaskReport(task, slot, "host:1", metrics=measured.take(), slot_metrics=thread.take())
    return TaskReport.from_json(made.to_json())


def test_reports_are_added_up(application: Application) -> None:
    application.metrics.planned(plan(2))
    application.metrics.add([report("0_0", 0, 1), report("0_1", 1, 5)])
    application.metrics.add([report("0_0", 1, 2)])  # moved
    assert application.metrics.dropped(["0_0", "0_1", "0_2"]) == {"0_0": 3, "0_1": 5, "0_2": 0}
    assert application.value("dropped-records-total", task_id="0_0", thread_id="shop-1") == 3
    assert application.value("process-total", thread_id="shop-0") == 10
    assert application.value("process-total", thread_id="shop-1") == 20
    application.metrics.planned(plan(1))
    assert application.metrics.dropped(["0_0", "0_1"]) == {"0_0": 3, "0_1": 0}


def test_global_stores_are_a_task_of_their_own(application: Application) -> None:
    application.metrics.planned(plan(1))
    measured = TaskMetrics()
    measured.dropped_records.record(2)
    application.metrics.add([TaskReport("0_0", 0, "host:1", global_metrics=measured.take())])
    application.metrics.planned(plan(1))
    assert application.value("dropped-records-total", task_id="global") == 2


def test_copies_of_nodes(application: Application) -> None:
    application.metrics.planned(plan(1))
    copy, node = Recorder(RecordingLevel.DEBUG), Recorder()
    copy.counter(catalogue.TASK_UPDATE).record(5)
    node.distribution(catalogue.STANDBY_UPDATE).record(1000)
    application.metrics.followed("b", {"0_0": copy.take()}, node.take())
    assert application.value("update-total", task_id="0_0") == 5
    assert application.value("standby-updating-tasks", thread_id="shop-standby-b") == 1
    assert application.value("standby-update-ratio", thread_id="shop-standby-b") is not None
    application.metrics.left(["b", "c"])
    assert "standby-updating-tasks" not in application.names()


def test_lag(application: Application) -> None:
    application.metrics.lag({TopicPartition("in", 0): 7, TopicPartition("in", 1): 0})
    assert application.value("records-lag", topic="in", partition="0") == 7
    application.metrics.lag({TopicPartition("in", 1): 3})
    assert application.value("records-lag", client_id="shop") == 3


def test_a_restore_that_is_under_way(application: Application) -> None:
    application.metrics.planned(plan(3))
    changelog = ("counts", "shop-counts-changelog", 1)
    application.restoration.on_event(["restore_started", *changelog, 0, 100])
    application.restoration.on_event(["batch_restored", *changelog, 40, 40])
    assert application.value("restore-remaining-records-total", task_id="0_1") == 60
    assert application.value("restore-remaining-records-total", task_id="0_0") == 0
    assert application.value("active-restoring-tasks", thread_id="shop-1") == 1
    assert application.value("active-restoring-tasks", thread_id="shop-0") == 0
    application.restoration.on_event(["restore_ended", *changelog, 100])
    assert application.value("active-restoring-tasks", thread_id="shop-1") == 0


def test_a_new_plan_leaves_nothing_twice(application: Application) -> None:
    for slots in (2, 1):
        application.metrics.planned(plan(2, slots))
        application.metrics.add([report("0_0", 0, 1), report("0_1", slots - 1, 1)])
        lines = exposition(application.metrics.values()).decode().splitlines()
        series = [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]
        assert len(series) == len(set(series))
    assert application.value("restore-remaining-records-total", task_id="0_1") == 0
