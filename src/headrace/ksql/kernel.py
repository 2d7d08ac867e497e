"""The kernel in this process: the tasks of a topology, fed with records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.core.clock import Clock, SystemClock
from headrace.core.config import StreamsConfig
from headrace.core.record import (
    ConsumerRecord,
    Headers,
    ProducerRecord,
    TaskId,
    TopicPartition,
)
from headrace.ksql.cluster import Cluster
from headrace.runtime.stores import InMemoryStorage
from headrace.runtime.task import StreamTask, TaskSpec
from headrace.testing.layout import Layout
from headrace.topology.topology import Topology

_UNTHROTTLED = {
    "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__": 0,
    "__emit.interval.ms.kstreams.windowed.aggregation__": 0,
    "statestore.cache.max.bytes": 0,
}
"""Every result comes out at once."""


def partition_counts(cluster: Cluster, topics: Iterable[str]) -> dict[str, int]:
    """The sizes of those of the topics that exist."""
    found = (cluster.topics.find(name) for name in dict.fromkeys(topics))
    return {topic.name: topic.partitions for topic in found if topic is not None}


class TaskState(InMemoryStorage):
    """What a task leaves to the next one of its partition."""

    def __init__(self) -> None:
        super().__init__()
        self.metadata: dict[str, int] = {}
        self.partition_times: dict[TopicPartition, int] = {}
        self._facts: dict[str, dict[str, int]] = {}

    def facts(self, store: str) -> Mapping[str, int]:
        return self._facts.get(store, {})

    def keep(self, task: StreamTask, inputs: Iterable[TopicPartition]) -> None:
        self._facts = task.facts()
        self.metadata = task.metadata
        self.partition_times = {part: task.partition_time(part) for part in inputs}


class Kernel:
    """All tasks of a topology. What they write to topics of their own stays here; all else is
    given to `send`. State is in memory, and has no changelogs: `states` are those of a kernel that
    was closed, to go on with."""

    def __init__(
        self,
        topology: Topology,
        settings: Mapping[str, Any],
        partitions: Mapping[str, int],
        send: Callable[[ProducerRecord], None],
        states: Mapping[TaskId, TaskState] | None = None,
        clock: Clock | None = None,
    ) -> None:
        config = StreamsConfig({**settings, **_UNTHROTTLED})
        self._layout = Layout(topology, config, dict(partitions))
        self._send = send
        self._own = f"{config.application_id}-"
        clock = clock or SystemClock()
        self.states = dict(states or {})
        self._tasks = [self._task(spec, clock) for spec in self._layout.tasks()]
        self._readers: defaultdict[TopicPartition, list[StreamTask]] = defaultdict(list)
        self._ends: defaultdict[TopicPartition, int] = defaultdict(int)
        for task in self._tasks:
            for partition in self._layout.inputs(task.id):
                self._readers[partition].append(task)

    def _task(self, spec: TaskSpec, clock: Clock) -> StreamTask:
        state = self.states.setdefault(spec.id, TaskState())
        task = StreamTask(spec, clock, metadata=state.metadata, storage=state)
        for partition, time in state.partition_times.items():
            if partition in spec.inputs:
                task.resume_at(partition, 0, time)
        task.start()
        return task

    @property
    def inputs(self) -> set[TopicPartition]:
        """The partitions that are to be fed to it."""
        return {part for part in self._readers if not part.topic.startswith(self._own)}

    def feed(self, records: Iterable[ConsumerRecord]) -> None:
        """Take records, and process all that follows from them."""
        arrived: defaultdict[TopicPartition, list[ConsumerRecord]] = defaultdict(list)
        for record in records:
            arrived[TopicPartition(record.topic, record.partition)].append(record)
        for partition, those in arrived.items():
            for task in self._readers.get(partition, ()):
                task.add_records(partition, those)
        self._process()

    def tick(self) -> None:
        """Do what is due by the wall clock."""
        for task in self._tasks:
            if task.next_wall_clock_punctuation <= task.context.clock.now_ms():
                task.punctuate_wall_clock()
                self._hand_out(task)
        self._process()

    def stores(self, name: str) -> list[Any]:
        """The stores of a name, one for each partition."""
        return [task.stores[name] for task in self._tasks if name in task.stores]

    def close(self) -> None:
        """End it; `states` are what it leaves."""
        for task in self._tasks:
            self.states[task.id].keep(task, self._layout.inputs(task.id))
            task.close_processors()

    def _process(self) -> None:
        busy = True
        while busy:
            busy = False
            for task in self._tasks:
                while task.is_processable():
                    busy = True
                    task.process_next()
                    task.punctuate_stream_time()
                    self._hand_out(task)

    def _hand_out(self, task: StreamTask) -> None:
        task.commit()
        sent = [ProducerRecord(*fields) for fields in task.outbox]
        task.outbox.clear()
        for record in sent:
            if not record.topic.startswith(self._own):
                self._send(record)
            elif self._layout.is_read(record.topic):
                self._repartition(record)

    def _repartition(self, record: ProducerRecord) -> None:
        number = record.partition
        if number is None:
            number = self._layout.partition_of(record)
        partition = TopicPartition(record.topic, number)
        offset = self._ends[partition]
        self._ends[partition] += 1
        written = ConsumerRecord(
            record.topic,
            number,
            offset,
            -1 if record.timestamp is None else record.timestamp,
            record.key,
            record.value,
            Headers(record.headers),
        )
        for task in self._readers[partition]:
            task.add_records(partition, [written])
