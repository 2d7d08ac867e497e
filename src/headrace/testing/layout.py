"""Which tasks the test driver runs, and which partitions they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.core.config import StreamsConfig
from headrace.core.errors import ArgumentError
from headrace.core.record import ProducerRecord, TaskId, TopicPartition
from headrace.runtime.task import TaskSpec
from headrace.serde.murmur2 import partition_for
from headrace.topology.nodes import SourceNode
from headrace.topology.partitions import PartitionCounts
from headrace.topology.topology import Topology


class Layout:
    """One task for the whole topology or, with `partitions`, one for each partition of each
    sub-topology; and one more that keeps the global stores."""

    def __init__(
        self, topology: Topology, config: StreamsConfig, partitions: int | Mapping[str, int] | None
    ) -> None:
        _check_counts(partitions)
        self._topology = topology
        self._config = config
        self._one_task = partitions is None
        self._given = partitions if partitions is not None else 1
        self._counts = PartitionCounts(topology, self._external_count)
        self._prefix = f"{config.application_id}-"
        self._patterns = [
            node.pattern
            for node in topology.nodes.values()
            if isinstance(node, SourceNode) and node.pattern is not None
        ]
        self._tasks = {spec.id: spec for spec in self._make_tasks()}
        self._global = self._make_global_task()
        self._source_topics = frozenset(
            partition.topic
            for inputs in (*(spec.inputs for spec in self._tasks.values()), self.global_inputs)
            for partition in inputs
        )

    def tasks(self) -> Iterable[TaskSpec]:
        return self._tasks.values()

    def global_task(self) -> TaskSpec | None:
        return self._global

    def inputs(self, task: TaskId) -> Mapping[TopicPartition, str]:
        return self._tasks[task].inputs

    @property
    def global_inputs(self) -> Mapping[TopicPartition, str]:
        return self._global.inputs if self._global is not None else {}

    def is_read(self, topic: str) -> bool:
        return self.input_name(topic) in self._source_topics

    def source_topics(self) -> list[str]:
        return sorted(self._source_topics)

    def input_name(self, topic: str) -> str:
        """The name under which a topic is read: its own, or the pattern that it matches."""
        if topic in self._source_topics:
            return topic
        for pattern in self._patterns:
            if pattern.fullmatch(topic):
                return pattern.pattern
        return topic

    def partitions_of(self, topic: str) -> int:
        """The partition count of a topic by its full name."""
        name = topic.removeprefix(self._prefix)
        return self._counts[name if name in self._topology.internal_topics else topic]

    def partition_of(self, record: ProducerRecord) -> int:
        """The default partitioner; a record without a key goes to the first partition."""
        if record.key is None:
            return 0
        return partition_for(record.key, self.partitions_of(record.topic))

    def _external_count(self, topic: str) -> int:
        if isinstance(self._given, int):
            return self._given
        return self._given.get(topic, 1)

    def _full_name(self, topic: str) -> str:
        return f"{self._prefix}{topic}" if topic in self._topology.internal_topics else topic

    def _make_tasks(self) -> Iterable[TaskSpec]:
        subtopologies = [sub for sub in self._topology.subtopologies() if not sub.is_global]
        if self._one_task:
            together = {name for sub in subtopologies for name in sub.nodes}
            nodes = tuple(name for name in self._topology.nodes if name in together)
            if nodes:
                yield self._task(TaskId(0, 0), nodes)
            return
        for sub in subtopologies:
            for partition in range(self._counts.of_subtopology(sub)):
                yield self._task(TaskId(sub.id, partition), sub.nodes)

    def _make_global_task(self) -> TaskSpec | None:
        nodes = tuple(
            name for sub in self._topology.subtopologies() if sub.is_global for name in sub.nodes
        )
        return self._task(TaskId(-1, -1), nodes, all_partitions=True) if nodes else None

    def _task(
        self, task_id: TaskId, nodes: tuple[str, ...], *, all_partitions: bool = False
    ) -> TaskSpec:
        inputs: dict[TopicPartition, str] = {}
        for name in nodes:
            node = self._topology.nodes[name]
            if not isinstance(node, SourceNode):
                continue
            for topic in node.topics or ([node.pattern.pattern] if node.pattern else []):
                count = self._counts[topic]
                for partition in range(count) if all_partitions else [task_id.partition]:
                    if partition < count:
                        inputs[TopicPartition(self._full_name(topic), partition)] = name
        return TaskSpec(task_id, self._topology, nodes, inputs, self._config, self.partitions_of)


def _check_counts(partitions: int | Mapping[str, int] | None) -> None:
    counts = partitions if isinstance(partitions, Mapping) else {"every topic": partitions}
    for topic, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise ArgumentError(f"The partitions of {topic} must be 1 or more, not {count!r}")
