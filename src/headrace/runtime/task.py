"""A task: one partition of a part of a topology, with its state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from operator import itemgetter
from typing import Any

from headrace.core.clock import Clock
from headrace.core.config import StreamsConfig
from headrace.core.errors import ConfigError, FlushError, StateError, StreamsError
from headrace.core.record import (
    NO_HEADERS,
    ConsumerRecord,
    Header,
    Headers,
    ProducerRecord,
    TaskId,
    TopicPartition,
)
from headrace.metrics import catalogue
from headrace.metrics.level import RecordingLevel
from headrace.metrics.recorder import Measurement
from headrace.metrics.task import TaskMetrics
from headrace.runtime import operators as _operators  # noqa: F401  registers the compilers
from headrace.runtime.columns import Columns
from headrace.runtime.consumption import Consumption, timed
from headrace.runtime.context import NO_RECORD, RawRecord, RecordContext, TaskContext
from headrace.runtime.failure import (
    FailureHandling,
    ProcessingFailed,
    TooSlow,
    describe,
    users_part,
)
from headrace.runtime.inputs import PartitionGroup, RecordQueue, Source, StampedRecord
from headrace.runtime.operator import metadata_of
from headrace.runtime.processor import ReadOnlyStore
from headrace.runtime.production import Production
from headrace.runtime.punctuation import PunctuationQueue, Punctuations, Schedule, is_punctuation
from headrace.runtime.serdes import SerdeResolver
from headrace.runtime.stores import (
    InMemoryStorage,
    RecordCache,
    Storage,
    StoreEnvironment,
    build_store,
)
from headrace.runtime.stores.metered import StoreMetering
from headrace.runtime.wiring import Wiring
from headrace.serde.json import unread
from headrace.serde.serde import Serde
from headrace.topology.nodes import ProcessorNode, SourceNode
from headrace.topology.operators import count_up
from headrace.topology.processor import PunctuationType
from headrace.topology.timestamps import fail_on_invalid
from headrace.topology.topology import Topology

Pace = Callable[[int], int]
"""After so many more records (0: before the first): how many to process until it is asked again. 0:
pause."""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What a task runs: some nodes of a topology, and the partitions that its sources read.

    The partition of a source that reads a pattern is named by the pattern.
    """

    id: TaskId
    topology: Topology
    nodes: tuple[str, ...]
    inputs: Mapping[TopicPartition, str]
    config: StreamsConfig
    partitions_of: Callable[[str], int] = field(default=lambda topic: 1)


class StreamTask:
    """Give it records, and it gives back records (`outbox`) and state.

    It neither reads nor writes Kafka, and doesn't know when a commit is due. Call `commit` to have
    held-back updates flushed; what is then in the outbox, `positions` and `metadata` belong
    together, and with them what is in `storage` and `facts`. A task that is given the storage (with
    the facts) and the metadata of another one goes on where that one was committed. It is made,
    its stores are brought up to date, then it is started: processors that are initialized may read
    them.
    """

    def __init__(
        self,
        spec: TaskSpec,
        clock: Clock,
        *,
        global_stores: Mapping[str, Any] | None = None,
        metadata: Mapping[str, int] | None = None,
        storage: Storage | None = None,
    ) -> None:
        self.id = spec.id
        self.metrics = TaskMetrics(RecordingLevel.of(spec.config))
        self.context = TaskContext(spec.id, spec.config, clock, self.metrics)
        metadata = metadata or {}
        self.context.processor_metadata.update(
            {name: number for name, number in metadata.items() if not is_punctuation(name)}
        )
        self._punctuations = Punctuations(metadata)
        self._stream_time_punctuations = self._punctuations.stream_time
        self._wall_clock_punctuations = self._punctuations.wall_clock
        self.outbox: list[Any] = []
        """What was sent, as tuples with the fields of ProducerRecord, in order."""
        self.positions: dict[TopicPartition, int] = {}
        """The offset after the last processed record of each input partition."""
        self.punctuated = 0
        """How many punctuations there were."""
        self._punctuate_latency = self.metrics.distribution(catalogue.TASK_PUNCTUATE)
        self._enforced = self.metrics.counter(catalogue.ENFORCED_PROCESSING)
        self._spec = spec
        self._resolve_serde = SerdeResolver(spec.config)
        self._failures = FailureHandling(self.context, self.outbox)
        self.stores = self._build_stores(storage or InMemoryStorage())
        wiring = Wiring(
            topology=spec.topology,
            context=self.context,
            failures=self._failures,
            outbox=self.outbox,
            stores=self.stores,
            global_stores={
                name: ReadOnlyStore(store) for name, store in (global_stores or {}).items()
            },
            resolve_serde=self._resolve_serde,
            partitions_of=spec.partitions_of,
            schedule=self._schedule,
            topic_name=self._topic_name,
        )
        self._wired = wiring.wire(spec.nodes)
        self._group = PartitionGroup(
            [
                RecordQueue(part, self._source(name), self._consumption(part, name, wiring))
                for part, name in spec.inputs.items()
            ],
            spec.config["max.task.idle.ms"],
        )
        self._production = Production(
            self.metrics,
            map(spec.topology.nodes.get, spec.nodes),
            self._topic_name,
            {*self._changelogs.values(), spec.config["errors.dead.letter.queue.topic.name"]},
            clock,
        )

    def start(self) -> None:
        """Initialize the processors."""
        for name, init in self._wired.on_init:
            _run(name, init, "initialized")
        self._punctuations.initialized()

    # Input

    def add_records(self, partition: TopicPartition, records: Iterable[ConsumerRecord]) -> None:
        """Queue records; `process_next` takes them in the order of Kafka Streams."""
        self._group.add(partition, records)

    @property
    def has_records(self) -> bool:
        return self._group.has_records()

    def has_queued(self, partition: TopicPartition) -> bool:
        return len(self._group.queues[partition]) > 0

    def drop_queued(self) -> None:
        """Forget the records that are queued, as their turn won't come."""
        for queue in self._group.queues.values():
            queue.clear()

    def is_processable(self) -> bool:
        """Whether a record is queued, and no empty input is still waited for."""
        ready = self._group.is_ready(self.context.clock.now_ms())
        if ready and self._group.is_forced:
            self._enforced.record()
        return ready

    def process_next(self) -> None:
        """Process the queued record that is next."""
        queue = self._group.next_queue()
        record, offset = queue.poll()
        if record is not None:
            self._process(queue.source, record)
            queue.consumption.processed(record.timestamp)
        self.positions[queue.partition] = offset + 1

    def process_columns(
        self, partition: TopicPartition, columns: Columns, pace: Pace | None = None
    ) -> int:
        """Process many records of one partition at once; nothing may be queued.

        The same as adding and processing them one by one, at a fraction of the cost. Gives how many
        were processed: all, if `pace` doesn't say to pause before.
        """
        if self.has_records:
            raise StateError("process_columns() can't overtake records that are queued")
        queue = self._group.queues[partition]
        source, context = queue.source, self.context
        deserialize_key, deserialize_value = source.deserialize_key, source.deserialize_value
        forward = source.forward
        takes_timestamp = source.timestamp_of is fail_on_invalid
        extracted: list[int] = []
        stream_time, partition_time = context.stream_time, queue.partition_time
        next_punctuation = self._stream_time_punctuations.next_due
        count, size = 0, len(columns.offsets)
        step = size if pace is None else pace(0)
        context.topic, context.partition = partition
        rows = zip(
            self._raw_records(columns),
            columns.timestamps,
            columns.keys,
            columns.values,
            columns.headers or repeat(NO_HEADERS, size),
            strict=True,
        )
        try:
            while step:
                before = count
                for record, timestamp, raw_key, raw_value, raw_headers in islice(rows, step):
                    try:
                        key = None if raw_key is None else deserialize_key(raw_key)
                        value = None if raw_value is None else deserialize_value(raw_value)
                        readable = takes_timestamp and timestamp >= 0
                    except Exception:
                        readable = False
                    if not readable:
                        # The slow way: handlers, and timestamp extractors of one's own.
                        raw = ConsumerRecord(
                            *partition, record[0], timestamp, raw_key, raw_value, raw_headers
                        )
                        stamped = source.read(raw, partition_time)
                        if not takes_timestamp:
                            extracted.append(timestamp if stamped is None else stamped.timestamp)
                        if stamped is None:
                            count += 1
                            continue
                        _, key, value, timestamp = stamped
                    context.record = record
                    context.timestamp = timestamp
                    context.headers = Headers(raw_headers) if raw_headers else NO_HEADERS
                    if timestamp > partition_time:
                        partition_time = timestamp
                        if timestamp > stream_time:
                            context.stream_time = stream_time = timestamp
                    forward(key, value)
                    count += 1
                    if stream_time >= next_punctuation:
                        self.punctuate_stream_time()
                        next_punctuation = self._stream_time_punctuations.next_due
                        context.topic, context.partition = partition
                step = 0 if pace is None else pace(count - before)
                if count == size:
                    break
        except ProcessingFailed as failure:
            raise self._failures.processing_error(failure) from users_part(failure.error)
        except TooSlow as slow:
            raise self._failures.slowness(source.name, slow) from None
        finally:
            queue.partition_time = partition_time
            for arrivals in self._wired.arrivals:
                arrivals.measure_if_many()
            if count:
                consumption = queue.consumption
                backlog = consumption.backlog
                backlog.rows += count
                if backlog.rows > backlog.due:
                    consumption.look_at(columns, extracted or columns.timestamps, count)
                self.positions[partition] = columns.offsets[count - 1] + 1
            context.restore(NO_RECORD)
        return count

    def _raw_records(self, columns: Columns) -> Iterable[RawRecord]:
        if self._failures.keeps_input:
            return zip(columns.offsets, columns.keys, columns.values, strict=True)
        # Nobody will ask for the bytes: a cache need not keep them with every update.
        return zip(columns.offsets, repeat(None), repeat(None), strict=False)

    @property
    def takes_record_timestamps(self) -> bool:
        """Whether the order of records can be told without reading them."""
        sources = (queue.source for queue in self._group.queues.values())
        return all(source.timestamp_of is fail_on_invalid for source in sources)

    def partition_time(self, partition: TopicPartition) -> int:
        """The highest timestamp processed of a partition; -1 before the first."""
        return self._group.queues[partition].partition_time

    def resume_at(self, partition: TopicPartition, position: int, partition_time: int) -> None:
        """Go on where an earlier task of the same partition stopped."""
        self.positions[partition] = position
        self._group.queues[partition].partition_time = partition_time
        self.context.stream_time = max(self.context.stream_time, partition_time)

    # Time

    def punctuate_stream_time(self) -> None:
        now = self.context.stream_time
        if now >= 0:
            self._punctuate(self._stream_time_punctuations, now)

    def punctuate_wall_clock(self) -> None:
        self._punctuate(self._wall_clock_punctuations, self.context.clock.now_ms())

    @property
    def next_wall_clock_punctuation(self) -> int:
        """When the next one is due; NEVER if there is none."""
        return self._wall_clock_punctuations.next_due

    # Output

    def take_outbox(self) -> tuple[list[Any], Counter[str]]:
        """What was sent since the last call, and how much of it to each topic."""
        outbox = list(self.outbox)
        self.outbox.clear()
        counts = Counter(map(_topic_of, outbox))
        self._production.add(outbox, counts)
        return outbox, counts

    def measure(self) -> None:
        """Look at the records that were kept for it: until then, they take memory."""
        for queue in self._group.queues.values():
            queue.consumption.measure()
        self._production.measure()

    def take_measurements(self) -> list[Measurement]:
        """What was measured since the last call. To be asked for after a commit: what a task has
        measured that is thrown away has never happened."""
        self.measure()
        for arrivals in self._wired.arrivals:
            arrivals.measure()
        if self._metering is not None:
            self._metering.measure(self.stores)
        return self.metrics.take()

    def sending_failed(self, record: ProducerRecord, error: StreamsError) -> None:
        """Ask the production handler about a record that could not be sent; raises if it says to
        fail."""
        self._failures.sending_failed(record, error)

    # State

    @property
    def metadata(self) -> dict[str, int]:
        """What operators want to find again after a restart, and when punctuations are due; it is
        to be committed with the positions, and given to the next task of this partition."""
        return {
            **self.context.processor_metadata,
            **metadata_of(self._wired.times),
            **self._punctuations.metadata(),
        }

    def facts(self) -> dict[str, dict[str, int]]:
        """What the stores want to find again besides what is in the storage, by store. To be asked
        for after a commit, and saved with the storage."""
        facts = {name: store.facts() for name, store in self.stores.items()}
        return {name: found for name, found in facts.items() if found}

    def commit(self) -> None:
        """Flush the record caches: updates that were held back go downstream and to changelogs."""
        self.context.commit_requested = False
        try:
            for store in self.stores.values():
                store.flush()
        except ProcessingFailed as failure:
            error = self._failures.processing_error(failure, FlushError)
            raise error from users_part(failure.error)
        finally:
            self.context.restore(NO_RECORD)
        for partition, queue in self._group.queues.items():
            if (read := queue.read_up_to) is not None:
                # Those before it were skipped, and handlers have seen to them: once.
                self.positions[partition] = read

    def changelog_topic(self, store: str) -> str | None:
        """The topic that the store is restored from; None if it can't be restored."""
        source_topic = self._spec.topology.source_topics_of_stores.get(store)
        if source_topic is not None:
            return self._topic_name(source_topic)
        return self._changelogs[store] if self.stores[store].spec.logging else None

    def close(self) -> None:
        self.close_processors()
        for store in self.stores.values():
            store.close()

    def close_processors(self) -> None:
        """Only these: what stores hold back is lost."""
        for name, close in self._wired.on_close:
            _run(name, close, "closed")

    # How it is put together

    def _build_stores(self, storage: Storage) -> dict[str, Any]:
        cache = RecordCache(self._spec.config["statestore.cache.max.bytes"], self.context)
        environment = StoreEnvironment(
            context=self.context,
            resolve_serde=self._resolve_serde,
            log=self._log,
            cache=cache,
            storage=storage,
        )
        self._metering = (
            StoreMetering(self.context, cache)
            if self.metrics.records(RecordingLevel.DEBUG)
            else None
        )
        specs = self._spec.topology.stores
        names: dict[str, None] = {}
        for node in self._spec.nodes:
            spec = self._spec.topology.nodes[node]
            if isinstance(spec, ProcessorNode):
                names.update(dict.fromkeys(spec.stores))
        self._changelogs = {
            name: f"{self.context.application_id}-{name}-changelog" for name in names
        }
        return {name: self._build_store(specs[name], environment) for name in names}

    def _build_store(self, spec: Any, environment: StoreEnvironment) -> Any:
        try:
            store = build_store(spec, environment)
            if self._metering is not None:
                self._metering.meter(store)
            return store
        except ConfigError as error:
            raise StreamsError(f"Store {spec.name} can't start: {error}") from error

    def _log(
        self,
        store: str,
        key: bytes,
        value: bytes | None,
        timestamp: int | None,
        headers: Sequence[Header],
    ) -> None:
        topic = self._changelogs[store]
        self.outbox.append((topic, self.id.partition, key, value, timestamp, tuple(headers)))

    def _consumption(self, partition: TopicPartition, source: str, wiring: Wiring) -> Consumption:
        measured_there = self.metrics.records(RecordingLevel.DEBUG)
        ends = set[str]() if measured_there else wiring.terminal_processors(source)
        return Consumption(self.metrics, source, partition.topic, self.context.clock, ends)

    def _source(self, name: str) -> Source:
        spec = self._spec.topology.nodes[name]
        assert isinstance(spec, SourceNode)
        try:
            key_serde = self._resolve_serde(spec.key_serde, "key")
            value_serde = self._resolve_serde(spec.value_serde, "value")
        except ConfigError as error:
            raise StreamsError(f"Source {name} can't start: {error}") from error
        read_value = value_serde.deserialize
        if self._is_only_counted(name):
            read_value = self._checking(spec, value_serde)
        extractor = spec.timestamp_extractor or self._spec.config["default.timestamp.extractor"]
        if self._is_internal(spec):
            extractor = None
        forward = self._wired.functions[name]
        if self.metrics.records(RecordingLevel.DEBUG):
            forward = timed(forward, self.context)
        return Source(
            name,
            forward,
            key_serde.deserialize,
            read_value,
            extractor or fail_on_invalid,
            self.context,
            self._failures,
        )

    def _checking(self, source: SourceNode, serde: Serde[Any]) -> Callable[[bytes], Any]:
        """Reads values that nobody looks at."""
        if self._is_internal(source):
            return unread(serde.deserialize)
        return getattr(serde, "check", None) or serde.deserialize

    def _is_internal(self, source: SourceNode) -> bool:
        return any(topic in self._spec.topology.internal_topics for topic in source.topics)

    def _is_only_counted(self, source: str) -> bool:
        nodes = map(self._spec.topology.nodes.get, self._spec.topology.children(source))
        return all(
            isinstance(node, ProcessorNode)
            and getattr(node.operator, "aggregator", None) is count_up
            for node in nodes
        )

    def _topic_name(self, topic: str) -> str:
        if topic in self._spec.topology.internal_topics:
            return f"{self.context.application_id}-{topic}"
        return topic

    def _process(self, source: Source, record: StampedRecord) -> None:
        context, raw = self.context, record.raw
        context.restore(
            RecordContext(
                record.timestamp,
                Headers(raw.headers) if raw.headers else NO_HEADERS,
                raw.topic,
                raw.partition,
                raw.offset,
                raw.key,
                raw.value,
            )
        )
        context.stream_time = max(context.stream_time, record.timestamp)
        try:
            source.forward(record.key, record.value)
        except ProcessingFailed as failure:
            raise self._failures.processing_error(failure) from users_part(failure.error)
        context.restore(NO_RECORD)

    def _schedule(
        self,
        node: str,
        interval_ms: int,
        kind: PunctuationType,
        callback: Callable[[int], None],
        start_ms: int | None = None,
    ) -> Schedule:
        by_stream_time = kind is PunctuationType.STREAM_TIME
        now = self.context.stream_time if by_stream_time else self.context.clock.now_ms()
        return self._punctuations.schedule(node, interval_ms, kind, callback, start_ms, now)

    def _punctuate(self, queue: PunctuationQueue, now: int) -> None:
        self.punctuated += queue.punctuate(now, self._fire)

    def _fire(self, node: str, timestamp: int, callback: Callable[[int], None]) -> None:
        context = self.context
        context.restore(NO_RECORD._replace(timestamp=timestamp))
        began = context.clock.nanoseconds()
        try:
            callback(timestamp)
            self._punctuate_latency.record(context.clock.nanoseconds() - began)
        except ProcessingFailed as failure:
            raise self._failures.processing_error(failure) from users_part(failure.error)
        except Exception as error:
            self._failures.punctuation_failed(node, error)
        finally:
            context.restore(NO_RECORD)


_topic_of = itemgetter(0)


def _run(name: str, callback: Callable[[], None], what: str) -> None:
    try:
        callback()
    except Exception as error:
        raise StreamsError(
            f"Processor {name} could not be {what}: {describe(error)}"
        ) from users_part(error)
