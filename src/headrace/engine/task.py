"""A task in a worker process: the kernel's task, with its local state kept true to Kafka."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter_ns
from typing import Any

from headrace.core.clock import SystemClock
from headrace.core.errors import StreamsError
from headrace.core.record import ProducerRecord, TopicPartition
from headrace.engine.chunk import Chunk, rows
from headrace.engine.clients import Clients
from headrace.engine.merge import InputMerge
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.restore import Listener, Restore
from headrace.kafka.errors import OffsetGone
from headrace.kafka.metadata import encode
from headrace.kafka.positions import Position
from headrace.metrics import catalogue
from headrace.metrics.recorder import Measurement
from headrace.runtime.stores.metered import scope_of
from headrace.runtime.task import StreamTask
from headrace.state.checkpoint import Checkpoint
from headrace.state.task_state import TaskState

log = logging.getLogger("headrace")

SEQUENCE = "headrace.sequence"
"""Committed with the positions: how many commits of the task there were."""

_METADATA = "headrace.metadata"
"""Under this name the operators' metadata is kept in the local state, where its size doesn't
matter."""
_MAX_METADATA = 4000
"""Kafka refuses offset metadata of more than 4,096 bytes."""


class ActiveTask:
    """Made once in a process. In each batch: `open` it, give it records, `drain` and `flush` it,
    have its outbox sent, and say `applied` when that is committed; or `abandon` it.

    The kernel's task is kept for the next batch, and used again if nobody else has committed the
    task since.
    """

    def __init__(self, plan: Plan, task: TaskPlan, state: TaskState, clients: Clients) -> None:
        self.id = task.id
        self.plan = task
        self.task: StreamTask | None = None
        self.records = 0
        self.restored = 0
        self.restore_ns = 0
        """How long it took to bring the state up to date; 0: it was."""
        self.busy_ns = 0
        self.created = self.closed = 0
        """How often this process has made and given up the kernel's task."""
        self._run = plan.run
        self._exactly_once = plan.config["processing.guarantee"] == "exactly_once_v2"
        self._spec = plan.spec(task)
        self._topic_ids = plan.topic_ids
        self._state = state
        self._clients = clients
        self._sequence = -1
        self._changelogs: dict[str, tuple[str, int]] = {}
        self._sent: Counter[str] = Counter()
        self._committed: Mapping[TopicPartition, Position] = {}
        self._merge: InputMerge | None = None

    # A batch

    def open(
        self,
        positions: Mapping[TopicPartition, Position],
        global_stores: Mapping[str, Any],
        listener: Listener,
        lock_timeout_s: float,
    ) -> None:
        """Take the state directory, and bring state and kernel to what is committed."""
        self.records = self.restored = self._punctuated = 0
        self.restore_ns = self.busy_ns = 0
        self._committed = {part: positions[part] for part in self.plan.inputs}
        sequence = max(
            (position.metadata.get(SEQUENCE, 0) for position in self._committed.values()), default=0
        )
        self._state.acquire(lock_timeout_s)
        if self.task is None or sequence != self._sequence or self._state.checkpoint is None:
            self._sequence = sequence
            try:
                self._rebuild(global_stores, listener)
            except OffsetGone:
                # The changelog was cut off while it was read: begin anew.
                self._state.wipe()
                self._rebuild(global_stores, listener)
        assert self.task is not None
        if len(self.plan.inputs) > 1:
            idle_ms = self._spec.config["max.task.idle.ms"]
            self._merge = InputMerge(self.task, self.plan.inputs, self._clients, idle_ms)

    def process(self, partition: TopicPartition, chunk: Chunk) -> None:
        """Rows that are committed already are dropped."""
        task = self.task
        assert task is not None
        position = task.positions.get(partition, 0)
        if chunk.last < position:
            return
        if chunk.first < position:
            columns = chunk.load()
            chunk = Chunk.of(rows(columns, bisect_left(columns.offsets, position)))
        self.records += chunk.size
        if self._merge is None:
            task.process_columns(partition, chunk.load())
        else:
            self._merge.add(partition, chunk)

    def drain(self) -> Iterator[None]:
        """Process what waits for its turn, and stop now and then to have the outbox sent."""
        return iter(()) if self._merge is None else self._merge.drain()

    def punctuate(self) -> None:
        """Run what is due by the wall clock."""
        assert self.task is not None
        before = self.task.punctuated
        self.task.punctuate_wall_clock()
        self._punctuated += self.task.punctuated - before

    def flush(self) -> None:
        assert self.task is not None
        self.task.commit()

    def take_outbox(self) -> Sequence[Any]:
        assert self.task is not None
        outbox, counts = self.task.take_outbox()
        self._sent.update(counts)
        return outbox

    def sending_failed(self, record: Sequence[Any], error: StreamsError) -> None:
        """Ask the handler about a record that Kafka doesn't take; raises if it is to fail."""
        assert self.task is not None
        self._sent[record[0]] -= 1
        self.task.sending_failed(ProducerRecord(*record), error)

    @property
    def has_changed(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.records or self._sent or self._punctuated)

    def positions(self) -> dict[TopicPartition, Position]:
        """What is to be committed: of all inputs, so that their metadata agrees."""
        task = self.task
        assert task is not None
        ours = {SEQUENCE: self._sequence + 1}
        metadata = {**task.metadata, **ours}
        if len(encode(0, metadata)) > _MAX_METADATA:
            metadata = ours
        return {
            part: Position(
                task.positions.get(part, position.offset), task.partition_time(part), metadata
            )
            for part, position in self._committed.items()
        }

    def applied(self) -> None:
        """The batch is committed: bring the local state to it."""
        assert self.task is not None
        self._sequence += 1
        marker = int(self._exactly_once)
        for topic, (topic_id, offset) in self._changelogs.items():
            sent = self._sent[topic]
            if sent:
                self._changelogs[topic] = topic_id, offset + sent + marker
            elif (part := TopicPartition(topic, self.id.partition)) in self.task.positions:
                self._changelogs[topic] = topic_id, self.task.positions[part]
        self._sent.clear()
        self._save()

    def take_measurements(self) -> list[Measurement]:
        """What was measured since the last report. After an error there is none: the kernel's
        task is gone with what it has measured, and the next one does the work again."""
        task = self.task
        assert task is not None
        metrics = task.metrics
        for name, (entries, size) in self._state.sizes().items():
            if name in task.stores:
                tags = scope_of(task.stores[name].spec), name
                metrics.gauge(catalogue.ENTRIES, *tags).record(entries)
                metrics.gauge(catalogue.SIZE, *tags).record(size)
                if tags[0].startswith("in-memory"):
                    metrics.gauge(catalogue.KEYS, *tags).record(entries)
        file = self._state.file()
        if file is not None:
            metrics.gauge(catalogue.LMDB_USED).record(file.used)
            metrics.gauge(catalogue.LMDB_MAP_SIZE).record(file.map_size)
            metrics.gauge(catalogue.LMDB_READERS).record(file.readers)
        if self._merge is not None:
            metrics.counter(catalogue.ENFORCED_PROCESSING).record(self._merge.enforced)
        metrics.distribution(catalogue.ACTIVE_PROCESS).record(self.busy_ns)
        metrics.counter(catalogue.TASK_RESTORE).record(self.restored)
        return task.take_measurements()

    def abandon(self) -> None:
        """Forget the batch; the kernel's task with it, as nobody knows what state it is in."""
        self.forget()
        self._sent.clear()
        self._state.rollback()

    def distrust(self) -> None:
        """Throw away the local state: it can't be read, and will be restored."""
        self._state.wipe()

    def release(self) -> None:
        self._state.release()

    def forget(self) -> None:
        """Free the memory of the kernel's task. The next batch makes a new one."""
        task, self.task = self.task, None
        if task is not None:
            self.closed += 1
            try:
                task.close_processors()
            except StreamsError as error:
                log.warning("%s", error)

    def close(self) -> None:
        self.forget()
        self._state.close()

    # State

    def _rebuild(self, global_stores: Mapping[str, Any], listener: Listener) -> None:
        self.forget()
        self._sent.clear()
        self._state.rollback()
        restore = Restore(self.id, self._state, self._clients, self._topic_ids, listener)
        offsets = {part: position.offset for part, position in self._committed.items()}
        current = restore.is_current(str(self._run), self._sequence, offsets)
        if not current:
            restore.check(self._sequence)
        metadata: dict[str, int] = {}
        for position in self._committed.values():
            metadata.update(position.metadata)
        if current:
            metadata.update(self._state.facts(_METADATA))

        def bring_up(task: StreamTask) -> None:
            for part, position in self._committed.items():
                task.resume_at(part, position.offset, position.partition_time)
            self.task = task
            self.created += 1
            if current:
                assert self._state.checkpoint is not None
                self._changelogs = dict(self._state.checkpoint.changelogs)
                return
            topics = {
                name: topic
                for name in task.stores
                if (topic := task.changelog_topic(name)) is not None
            }
            began = perf_counter_ns()
            self._changelogs = restore.run(task.stores, topics, offsets, task.facts)
            self.restored = restore.restored
            self._save()
            self.restore_ns = perf_counter_ns() - began

        StreamTask(
            self._spec,
            SystemClock(),
            global_stores=global_stores,
            metadata={key: value for key, value in metadata.items() if key != SEQUENCE},
            storage=self._state,
            restore=bring_up,
        )

    def _save(self) -> None:
        assert self.task is not None
        task = self.task
        checkpoint = Checkpoint(
            str(self._run), self._sequence, dict(task.positions), self._changelogs
        )
        self._state.commit(checkpoint, {**task.facts(), _METADATA: task.metadata})
