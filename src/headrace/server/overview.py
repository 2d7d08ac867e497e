"""How an application is: state, topology, tasks, settings, errors."""

from __future__ import annotations

import time
from importlib.metadata import version
from math import isfinite
from typing import Any

from headrace.console.description import full_description
from headrace.console.picture import Picture, picture
from headrace.core.settings import SETTINGS
from headrace.engine.plan import TaskPlan, full_name
from headrace.metrics.name import MetricValue
from headrace.server.answers import (
    Client,
    Configuration,
    Failure,
    Failures,
    Health,
    InputPartition,
    Lags,
    Metadata,
    Metric,
    Metrics,
    Node,
    Restoration,
    Setting,
    State,
    StoreLag,
    Subtopology,
    Task,
    Tasks,
    Topic,
    TopicPartition,
    Topology,
)
from headrace.server.application import Application
from headrace.server.problems import without_paths
from headrace.topology.nodes import ProcessorNode


class Overview:
    """Answers that need no store."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._began = time.monotonic()
        self._version = version("headrace")

    def health(self) -> Health:
        state = self._application.state
        return Health(state.is_running_or_rebalancing, state.value)

    def state(self) -> State:
        application = self._application
        status = application.status()
        plan = application.plan
        return State(
            application_id=application.config.application_id,
            state=status.state.value,
            paused=application.is_paused,
            version=self._version,
            uptime_ms=int((time.monotonic() - self._began) * 1000),
            tasks=0 if plan is None else len(plan.tasks),
            records_total=status.records_total,
            rate=round(status.rate, 1),
            lag=status.lag,
            batches=status.batches,
            batch_ms=round(status.batch_ms, 1),
            restoring=[
                Restoration(each.store, *each.partition, each.start, each.end, each.offset)
                for each in status.restoring
            ],
            reason=None if status.reason is None else without_paths(status.reason),
            last_error=None if status.last_error is None else without_paths(status.last_error),
        )

    def paused(self) -> State:
        self._application.pause()
        return self.state()

    def resumed(self) -> State:
        self._application.resume()
        return self.state()

    # The topology

    def topology(self) -> Topology:
        form = self._description()
        subtopologies = [
            Subtopology(
                part["id"],
                part["global"],
                [_node(node) for node in part["nodes"]],
                [[*edge] for edge in part["edges"]],
                [*part["stores"]],
            )
            for part in form["subtopologies"]
        ]
        nodes = [node for part in subtopologies for node in part.nodes]
        names = dict.fromkeys(topic for node in nodes for topic in node.topics)
        text = str(self._application.topology.describe())
        return Topology(text, subtopologies, [self._topic(name, nodes) for name in names])

    def picture(self) -> Picture:
        return picture(self._description(), self._application.config.application_id)

    def _description(self) -> dict[str, Any]:
        application = self._application
        return full_description(application.topology, application.config.application_id)

    def _topic(self, name: str, nodes: list[Node]) -> Topic:
        application = self._application
        internal = application.topology.internal_topics
        plan = application.plan
        return Topic(
            name,
            any(self._full_name(topic) == name for topic in internal),
            None if plan is None else plan.partitions.get(name),
            [node.name for node in nodes if node.kind == "source" and name in node.topics],
            [node.name for node in nodes if node.kind == "sink" and name in node.topics],
        )

    def _full_name(self, topic: str) -> str:
        application = self._application
        return full_name(application.topology, application.config.application_id, topic)

    # Tasks

    def tasks(self) -> Tasks:
        plan = self._application.plan
        if plan is None:
            return Tasks([])
        status = self._application.status()

        def described(task: TaskPlan) -> Task:
            name = str(task.id)
            report = status.tasks.get(name)
            inputs = []
            for part, source in sorted(task.inputs.items()):
                at, end = status.positions.get(part), status.ends.get(part)
                inputs.append(InputPartition(*part, source, at, end, status.lags.get(part)))
            lags = [part.lag for part in inputs if part.lag is not None]
            nodes = [plan.topology.nodes[node] for node in task.nodes]
            stores = (
                store
                for node in nodes
                if isinstance(node, ProcessorNode)
                for store in node.stores
                if store not in plan.topology.global_stores
            )
            return Task(
                id=name,
                subtopology=task.id.subtopology,
                partition=task.id.partition,
                slot=plan.slot_of[task.id] if report is None else report.slot,
                worker=None if report is None else report.worker,
                records_total=status.task_records.get(name, 0),
                rate=round(status.task_rates.get(name, 0.0), 1),
                restored_total=0 if report is None else report.restored,
                lag=sum(lags) if len(lags) == len(inputs) else None,
                inputs=inputs,
                stores=[*dict.fromkeys(stores)],
                dropped_total=status.dropped.get(name, 0),
            )

        return Tasks([described(task) for task in plan.tasks])

    def metrics(self) -> Metrics:
        return Metrics(
            [
                Metric(name.name, name.group, name.description, dict(name.tags), _number(value))
                for name, value in self._application.metrics().items()
            ]
        )

    def failures(self) -> Failures:
        status = self._application.status()
        return Failures(
            [
                Failure(each.at_ms, each.kind, without_paths(each.message), each.task, each.worker)
                for each in reversed(status.failures)
            ],
            sum(status.dropped.values()),
        )

    # The rest

    def configuration(self) -> Configuration:
        config = self._application.config
        shown = config.shown()

        def described(key: str) -> Setting:
            setting = SETTINGS.get(key)
            value = None if config[key] is None else shown[key]
            return Setting(
                key=key,
                value=value,
                given=config.is_given(key),
                importance="client" if setting is None else setting.importance,
                doc="" if setting is None else setting.doc,
            )

        return Configuration([described(key) for key in config])

    def metadata(self) -> Metadata:
        return Metadata(
            [
                Client(
                    *client.host,
                    sorted(client.stores),
                    [TopicPartition(*part) for part in sorted(client.partitions)],
                    sorted(client.standby_stores),
                    [TopicPartition(*part) for part in sorted(client.standby_partitions)],
                )
                for client in self._application.metadata_for_all_streams_clients()
            ]
        )

    def lags(self) -> Lags:
        found = self._application.all_local_store_partition_lags()
        return Lags(
            [
                StoreLag(store, partition, *lag)
                for store, lags in sorted(found.items())
                for partition, lag in sorted(lags.items())
            ]
        )


def _node(form: dict[str, Any]) -> Node:
    topics: list[str] = form.get("topics", [])
    if form.get("topic") is not None:
        topics = [form["topic"]]
    return Node(
        form["name"],
        form["kind"],
        [*topics],
        form.get("pattern"),
        form.get("extractor"),
        [*form.get("stores", ())],
    )


def _number(value: MetricValue) -> MetricValue | None:
    """JSON has no NaN, which is what was not measured lately."""
    return None if isinstance(value, float) and not isfinite(value) else value
