"""What is to be run: the tasks of a topology on a cluster's topics, as every slot must know it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from headrace.core.config import StreamsConfig
from headrace.core.record import TaskId, TopicPartition
from headrace.kafka.internal_topics import InternalTopics
from headrace.runtime.task import TaskSpec
from headrace.topology.nodes import ProcessorNode, SourceNode
from headrace.topology.operators import Process, ProcessValues, TableTransformValues
from headrace.topology.topology import Topology

GLOBAL = TaskId(-1, -1)

_CACHE = "statestore.cache.max.bytes"
_SCHEDULING = (Process, ProcessValues, TableTransformValues)


@dataclass(frozen=True)
class TaskPlan:
    """One task: its nodes, and which source reads which partition."""

    id: TaskId
    nodes: tuple[str, ...]
    inputs: Mapping[TopicPartition, str]


@dataclass(frozen=True)
class Plan:
    """Made by the driver when the application starts, and sent to all workers.

    `run` names this start of the application, see Claim. `partitions` and `topic_ids` are by full
    topic name.
    """

    run: int
    topology: Topology
    config: StreamsConfig
    tasks: tuple[TaskPlan, ...]
    global_task: TaskPlan | None
    partitions: Mapping[str, int]
    topic_ids: Mapping[str, str]
    slots: int

    @property
    def exactly_once(self) -> bool:
        return bool(self.config["processing.guarantee"] == "exactly_once_v2")

    @cached_property
    def inputs(self) -> tuple[TopicPartition, ...]:
        """All input partitions; a row of a batch names its own by the index in this tuple."""
        return tuple(sorted(part for task in self.tasks for part in task.inputs))

    @cached_property
    def internal_topics(self) -> frozenset[str]:
        """The full names of the topics that the application reads and writes itself."""
        return frozenset(self.topic_name(topic) for topic in self.topology.internal_topics)

    @cached_property
    def shares(self) -> tuple[tuple[tuple[TopicPartition, ...], int], ...]:
        """The inputs in groups, and how many records of each a batch takes at most.

        Repartition topics have a share of their own. Were they to share one with the topics that
        fill them, by how much each is behind, they would fall behind for as long as those are.
        """
        internal = self.internal_topics
        inner = tuple(part for part in self.inputs if part.topic in internal)
        outer = tuple(part for part in self.inputs if part.topic not in internal)
        most = self.config["max.batch.records"]
        groups = ((outer, most), (inner, most * len(internal)))
        return tuple((parts, limit) for parts, limit in groups if parts)

    @cached_property
    def task_of(self) -> Mapping[TopicPartition, TaskPlan]:
        return {part: task for task in self.tasks for part in task.inputs}

    @cached_property
    def slot_of(self) -> Mapping[TaskId, int]:
        """Which slot a task is in, in every batch."""
        return {task.id: index % self.slots for index, task in enumerate(self.tasks)}

    def inputs_of(self, slot: int) -> tuple[TopicPartition, ...]:
        """What the tasks of a slot read."""
        return tuple(part for part in self.inputs if self.slot_of[self.task_of[part].id] == slot)

    @cached_property
    def may_punctuate(self) -> bool:
        """Whether a processor might schedule something by the wall clock."""
        return any(
            isinstance(node, ProcessorNode) and isinstance(node.operator, _SCHEDULING)
            for node in self.topology.nodes.values()
        )

    def spec(self, task: TaskPlan) -> TaskSpec:
        return TaskSpec(
            task.id, self.topology, task.nodes, task.inputs, self._task_config, self.partitions_of
        )

    @cached_property
    def _task_config(self) -> StreamsConfig:
        """The caches of all tasks share what the application has for them."""
        share = self.config[_CACHE] // max(1, len(self.tasks))
        return StreamsConfig({**self.config.given(), _CACHE: share})

    def partitions_of(self, topic: str) -> int:
        return self.partitions[topic]

    def changelog_of(self, store: str) -> str | None:
        """The full name of the topic that a store is restored from; None if it can't be."""
        source = self.topology.source_topics_of_stores.get(store)
        if source is not None:
            return self.topic_name(source)
        is_logged = self.topology.stores[store].logging
        return f"{self.config.application_id}-{store}-changelog" if is_logged else None

    def topic_name(self, topic: str) -> str:
        """The full name of a topic of the topology."""
        return full_name(self.topology, self.config.application_id, topic)


def full_name(topology: Topology, application_id: str, topic: str) -> str:
    """The name that a topic of a topology has in Kafka."""
    return f"{application_id}-{topic}" if topic in topology.internal_topics else topic


def plan_tasks(
    topology: Topology, config: StreamsConfig, topics: InternalTopics
) -> tuple[tuple[TaskPlan, ...], TaskPlan | None]:
    """The tasks of a topology, and the one that keeps its global stores."""

    def inputs(nodes: Iterable[str], partition: int | None) -> dict[TopicPartition, str]:
        found = {}
        for name in nodes:
            node = topology.nodes[name]
            if not isinstance(node, SourceNode):
                continue
            for topic in node.topics or topics.matching(node):
                in_kafka = full_name(topology, config.application_id, topic)
                for number in range(topics.counts[topic]) if partition is None else [partition]:
                    if number < topics.counts[topic]:
                        found[TopicPartition(in_kafka, number)] = name
        return found

    tasks = []
    global_nodes: list[str] = []
    for sub in topology.subtopologies():
        if sub.is_global:
            global_nodes += sub.nodes
            continue
        for partition in range(topics.counts.of_subtopology(sub)):
            tasks.append(
                TaskPlan(TaskId(sub.id, partition), sub.nodes, inputs(sub.nodes, partition))
            )
    if not global_nodes:
        return tuple(tasks), None
    nodes = tuple(global_nodes)
    return tuple(tasks), TaskPlan(GLOBAL, nodes, inputs(nodes, None))
