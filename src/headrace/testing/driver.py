"""Runs a topology record by record, with no Kafka and no Spark."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, TypeVar

from headrace.core.arguments import require_type
from headrace.core.clock import ManualClock, SystemClock
from headrace.core.config import StreamsConfig
from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError
from headrace.core.record import Header, ProducerRecord, TaskId, TopicPartition
from headrace.metrics.name import MetricName, MetricValue
from headrace.metrics.registry import Registry
from headrace.runtime.global_task import GlobalTask
from headrace.runtime.task import StreamTask
from headrace.serde.serde import Serde
from headrace.testing.layout import Layout
from headrace.testing.topic_log import TopicLog
from headrace.testing.topics import TestInputTopic, TestOutputTopic
from headrace.topology.topology import Topology

K = TypeVar("K")
V = TypeVar("V")

_UNTHROTTLED = {
    "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__": 0,
    "__emit.interval.ms.kstreams.windowed.aggregation__": 0,
}
"""The clock stands still, so that results which are looked for every second would never come."""


class TopologyTestDriver:
    """Processes each record that is piped in completely before the next: processing, stream-time
    punctuations, a commit, and then whatever that wrote to topics that the topology reads.

    With `partitions` (a number for all topics, or one for each) every sub-topology has that many
    tasks, records are partitioned by key, and repartition topics really repartition. Without it,
    one task with one stream time runs the whole topology, as Kafka Streams' own driver does.

    The wall clock stands still until `advance_wall_clock_time`. Use the driver as a context
    manager, or call `close`.
    """

    __test__ = False

    def __init__(
        self,
        topology: Topology,
        config: Mapping[str, Any] | None = None,
        *,
        partitions: int | Mapping[str, int] | None = None,
        wall_clock_start_ms: int | None = None,
    ) -> None:
        require_type(topology, Topology, "The topology", "Build it: builder.build().")
        if config is not None:
            require_type(config, Mapping, "The configuration", "Give a dict of settings.")
        settings = StreamsConfig({**_UNTHROTTLED, **(config or {})})
        start = SystemClock().now_ms() if wall_clock_start_ms is None else wall_clock_start_ms
        self.clock = ManualClock(start)
        self._log = TopicLog()
        self._sent: list[ProducerRecord] = []
        self._unread: defaultdict[str, deque[ProducerRecord]] = defaultdict(deque)
        self._produced: set[str] = set()
        self._settings = settings
        self._layout = Layout(topology, settings, partitions)
        self._start()

    # Topics

    def input_topic(
        self,
        name: str,
        key: Serde[K],
        value: Serde[V],
        *,
        start: datetime | int | None = None,
        advance: timedelta = timedelta(0),
    ) -> TestInputTopic[K, V]:
        """A topic to pipe records into.

        A record without a timestamp gets `start` (default: the wall clock's time), which moves on
        by `advance` with each.
        """
        return TestInputTopic(self, name, key, value, start, advance)

    def output_topic(self, name: str, key: Serde[K], value: Serde[V]) -> TestOutputTopic[K, V]:
        """A topic to read results from."""
        return TestOutputTopic(self, name, key, value)

    def pipe(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Iterable[Header] = (),
        partition: int | None = None,
    ) -> None:
        """Pipe a record as bytes, and process all that follows from it."""
        record = ProducerRecord(topic, partition, key, value, timestamp, tuple(headers))
        if not self._layout.is_read(topic):
            raise ArgumentError(
                f"The topology doesn't read topic {topic!r}. It reads: "
                f"{', '.join(self._layout.source_topics())}."
            )
        self._deliver(record)
        self._process_all()

    def take_output(self) -> list[ProducerRecord]:
        """All records sent since the last call, also those to internal topics, in order."""
        sent, self._sent = self._sent, []
        return sent

    def next_output(self, topic: str) -> ProducerRecord | None:
        """The next record of a topic that was not read yet."""
        unread = self._unread[topic]
        return unread.popleft() if unread else None

    def unread(self, topic: str) -> int:
        """How many records of a topic were not read yet."""
        return len(self._unread[topic])

    def produced_topic_names(self) -> set[str]:
        """All topics that something was written to."""
        return set(self._produced)

    # Time

    def advance_wall_clock_time(self, by: timedelta) -> None:
        """Move the wall clock; punctuations that are due run once each, with all that follows."""
        self.clock.advance(to_ms(by, "The advance"))
        for task in self._tasks:
            task.punctuate_wall_clock()
            task.commit()
        self._collect_output()
        self._process_all()

    # State

    def store(self, name: str, *, partition: int = 0) -> Any:
        """A state store, by its name and, if there are several, its partition.

        `headrace.stores` has the types to annotate it with, such as KeyValueStore[str, int].
        """
        stores = self.stores(partition)
        if name not in stores:
            raise ArgumentError(
                f"There is no store {name!r} in partition {partition}. "
                f"The stores are: {', '.join(sorted(stores)) or 'none'}."
            )
        return stores[name]

    def stores(self, partition: int = 0) -> dict[str, Any]:
        """All stores of a partition, global ones too."""
        stores: dict[str, Any] = {}
        for task in self._tasks:
            if task.id.partition == partition:
                stores.update(task.stores)
        if self._global is not None:
            stores.update(self._global.stores)
        return stores

    def metrics(self) -> dict[MetricName, MetricValue]:
        """All metrics of all tasks; rates, averages and extremes go by the wall clock, which stands
        still."""
        now, thread = self.clock.now_ms(), f"{self._settings.application_id}-0"
        for task in self._tasks:
            measured = task.take_measurements()
            self._metrics.add(measured, now, thread=thread, task=str(task.id))
        if self._global is not None:
            measured = self._global.take_measurements()
            self._metrics.add(measured, now, thread=f"{thread}-global", task="global")
        return self._metrics.values(now)

    @property
    def dropped_records(self) -> int:
        """How many records were dropped so far."""
        metrics = [task.metrics for task in self._tasks]
        if self._global is not None:
            metrics.append(self._global.metrics)
        return sum(one.dropped_records.total for one in metrics)

    def crash(self) -> None:
        """Lose all tasks, and start again from what was committed: positions and changelogs."""
        committed = {
            task.id: (
                [(part, at, task.partition_time(part)) for part, at in task.positions.items()],
                task.metadata,
            )
            for task in self._tasks
        }

        def restore(task: StreamTask) -> None:
            for partition, position, partition_time in committed[task.id][0]:
                task.resume_at(partition, position, partition_time)
            self._restore(task)

        self._start({task: metadata for task, (_, metadata) in committed.items()}, restore)
        for task in self._tasks:
            for partition in self._layout.inputs(task.id):
                waiting = self._log.read(partition, task.positions.get(partition, 0))
                task.add_records(partition, waiting)
        self._process_all()

    def close(self) -> None:
        """Close the processors and stores."""
        for task in self._tasks:
            task.close()
        if self._global is not None:
            self._global.close()

    def __enter__(self) -> TopologyTestDriver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # After an error the tasks are in an unknown state: closing them could hide it.
        if error is None:
            self.close()

    # How it works

    def _start(
        self,
        metadata: Mapping[TaskId, Mapping[str, int]] | None = None,
        restore: Callable[[StreamTask], None] | None = None,
    ) -> None:
        self._metrics = Registry(self._settings)
        self._global = None
        global_spec = self._layout.global_task()
        if global_spec is not None:
            self._global = GlobalTask(global_spec, self.clock)
            for partition in global_spec.inputs:
                self._global.update(partition, self._log.read(partition))
        global_stores = self._global.stores if self._global is not None else {}
        self._tasks = []
        for spec in self._layout.tasks():
            task = StreamTask(
                spec,
                self.clock,
                global_stores=global_stores,
                metadata=(metadata or {}).get(spec.id),
            )
            if restore is not None:
                restore(task)
            task.start()
            self._tasks.append(task)
        self._readers: defaultdict[TopicPartition, list[StreamTask]] = defaultdict(list)
        for task in self._tasks:
            for partition in self._layout.inputs(task.id):
                self._readers[partition].append(task)

    def _restore(self, task: StreamTask) -> None:
        for name, store in task.stores.items():
            topic = task.changelog_topic(name)
            if topic is None:
                continue
            partition = TopicPartition(topic, task.id.partition)
            records = self._log.read(partition)
            if partition in task.positions:
                # Restored from its source topic: only what was processed already.
                records = records[: task.positions[partition]]
            store.restore((r.key, r.value, r.timestamp, r.headers) for r in records)

    def _process_all(self) -> None:
        while True:
            task = next((task for task in self._tasks if task.is_processable()), None)
            if task is None:
                return
            task.process_next()
            task.punctuate_stream_time()
            task.commit()
            self._collect_output()

    def _collect_output(self) -> None:
        for task in self._tasks:
            outbox, _ = task.take_outbox()
            sent = [ProducerRecord(*fields) for fields in outbox]
            self._sent.extend(sent)
            for record in sent:
                self._unread[record.topic].append(record)
                self._produced.add(record.topic)
                self._deliver(record)

    def _deliver(self, record: ProducerRecord) -> None:
        """Write a record to its topic, and hand it to the tasks that read it."""
        partition = record.partition
        if partition is None:
            partition = self._layout.partition_of(record)
        target = TopicPartition(self._layout.input_name(record.topic), partition)
        written = self._log.append(record, target)
        for task in self._readers[target]:
            task.add_records(target, [written])
        if self._global is not None and target in self._layout.global_inputs:
            self._global.update(target, [written])
