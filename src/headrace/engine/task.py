"""A task in a worker process: the kernel's task, with its local state kept true to Kafka."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.core.clock import PacedClock
from headrace.core.errors import FencedError, StreamsError
from headrace.core.record import ProducerRecord, TopicPartition
from headrace.engine.chunk import Chunk, rows
from headrace.engine.merge import InputMerge
from headrace.engine.pace import Pace
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.restore import Restore, RestoreListener
from headrace.kafka.metadata import gathered, spread
from headrace.kafka.port import Kafka, OffsetGone, Position, SlotProducer
from headrace.metrics import catalogue
from headrace.metrics.recorder import Measurement
from headrace.runtime.punctuation import NEVER
from headrace.runtime.stores.metered import scope_of
from headrace.runtime.task import StreamTask
from headrace.state.checkpoint import Checkpoint
from headrace.state.port import LocalState

log = logging.getLogger("headrace")

SEQUENCE = "headrace.sequence"
"""Committed with the positions: how many commits of the task there were."""


class ActiveTask:
    """Made once in a process. `open` it, give it records, `drain` it, have its outbox sent. For a
    commit `flush_caches`, and `apply` when what was sent is committed; then go on, or `release` it.
    When something fails, `abandon` it.

    The kernel's task is kept for the next time it is opened, and used again if nobody else has
    committed the task since. `limit_s` is what one record may take at most.
    """

    def __init__(
        self,
        plan: Plan,
        task: TaskPlan,
        state: LocalState,
        kafka: Kafka,
        clock: PacedClock,
        limit_s: float,
    ) -> None:
        self.id = task.id
        self.plan = task
        self.kernel: StreamTask | None = None
        self.records = 0
        """Processed since it was opened."""
        self.restored = 0
        self.restore_ns = 0
        """How long it took to bring the state up to date; 0: it was."""
        self.busy_ns = 0
        self.created = self.closed = 0
        """How often this process has made and given up the kernel's task."""
        self._run = plan.run
        self._exactly_once = plan.exactly_once
        self._spec = plan.spec(task)
        self._topic_ids = plan.topic_ids
        self._state = state
        self._kafka = kafka
        self._clock = clock
        self._sequence = -1
        self._saved: Checkpoint | None = None
        """What the local state was when the kernel's task last saw it."""
        self._changelogs: dict[str, tuple[str, int]] = {}
        self._sent: Counter[str] = Counter()
        self._marked: set[str] = set()
        """Changelogs with a marker, after the offset they are known to be applied to."""
        self._marked_by: SlotProducer | None = None
        self.committed: Mapping[TopicPartition, Position] = {}
        """Its positions, when it has last read or committed them."""
        self._limit_s = limit_s
        self._pace: Pace | None = None
        self._merge: InputMerge | None = None
        self._uncommitted = 0
        self._punctuated = 0
        self.uncommitted_bytes = 0
        """About how much was read since the last commit."""

    # Work

    def open(
        self,
        positions: Mapping[TopicPartition, Position],
        global_stores: Mapping[str, Any],
        listener: RestoreListener,
        lock_timeout_s: float,
    ) -> None:
        """Take the state directory, and bring state and kernel to what is committed."""
        self.records = self.restored = 0
        self._uncommitted = self._punctuated = self.uncommitted_bytes = 0
        self.restore_ns = self.busy_ns = 0
        self.committed = {part: positions[part] for part in self.plan.inputs}
        sequence = max(
            (position.metadata.get(SEQUENCE, 0) for position in self.committed.values()), default=0
        )
        self._state.acquire(lock_timeout_s)
        self._check_positions(sequence)
        is_ours = self._saved is not None and self._state.checkpoint == self._saved
        if self.kernel is None or sequence != self._sequence or not is_ours:
            self._sequence = sequence
            try:
                self._rebuild(global_stores, listener)
            except OffsetGone:
                # The changelog was cut off while it was read: begin anew.
                self._state.wipe()
                self._rebuild(global_stores, listener)
        kernel, pace = self.kernel, self._pace
        assert kernel is not None
        assert pace is not None
        if len(self.plan.inputs) > 1:
            kernel.drop_queued()  # what the last merge has left
            idle_ms = self._spec.config["max.task.idle.ms"]
            self._merge = InputMerge(
                kernel, self.plan.inputs, self._kafka, self._clock, idle_ms, pace
            )

    def _check_positions(self, sequence: int) -> None:
        """Raises FencedError if the local state is of a later commit than the positions, as another
        attempt has committed since they were read."""
        checkpoint = self._state.checkpoint
        if checkpoint is None or checkpoint.run_id != str(self._run):
            return
        is_late = checkpoint.sequence > sequence
        if is_late and self._kafka.group.committed(self.plan.inputs) != self.committed:
            raise FencedError(f"Another attempt of task {self.id} has committed meanwhile.")

    def process(self, partition: TopicPartition, chunk: Chunk) -> Iterator[None]:
        """Process records, or have them wait for their turn, and pause now and then: in a pause,
        and at the end, the outbox may be sent and all be committed. Records that are committed
        already are dropped."""
        kernel, pace = self.kernel, self._pace
        assert kernel is not None
        assert pace is not None
        position = kernel.positions.get(partition, 0)
        if chunk.last < position:
            return
        chunk = chunk.after(position)
        if self._merge is not None:
            self._merge.add(partition, chunk)
            return
        pace.begin()
        for columns, size in chunk.load():
            self.uncommitted_bytes += size
            done = 0
            while done < len(columns.offsets):
                if pace.is_over():
                    yield
                    pace.begin()
                count = kernel.process_columns(partition, rows(columns, done), pace)
                done += count
                self._processed(count)

    def drain(self) -> Iterator[None]:
        """Process what waits for its turn, with pauses as in `process`."""
        merge = self._merge
        if merge is None:
            return
        for _ in merge.drain():
            self._note_merged(merge)
            yield
        self._note_merged(merge)

    def _note_merged(self, merge: InputMerge) -> None:
        count, size = merge.take_progress()
        self.uncommitted_bytes += size
        self._processed(count)

    def _processed(self, count: int) -> None:
        self.records += count
        self._uncommitted += count

    @property
    def wake_at_ms(self) -> int | None:
        """When something is due by the wall clock next; None if nothing is."""
        assert self.kernel is not None
        due = self.kernel.next_wall_clock_punctuation
        return None if due == NEVER else due

    def punctuate(self) -> None:
        """Run what is due by the wall clock."""
        assert self.kernel is not None
        before = self.kernel.punctuated
        self.kernel.punctuate_wall_clock()
        self._punctuated += self.kernel.punctuated - before

    def flush_caches(self) -> None:
        """Have the stores forward what they have held back."""
        assert self.kernel is not None
        self.kernel.commit()

    @property
    def commit_requested(self) -> bool:
        """Whether a processor has asked for a commit."""
        return self.kernel is not None and self.kernel.context.commit_requested

    def take_outbox(self) -> Sequence[Any]:
        assert self.kernel is not None
        outbox, counts = self.kernel.take_outbox()
        self._sent.update(counts)
        return outbox

    def sending_failed(self, record: Sequence[Any], error: StreamsError) -> None:
        """Ask the handler about a record that Kafka doesn't take; raises if it is to fail."""
        assert self.kernel is not None
        self._sent[record[0]] -= 1
        self.kernel.sending_failed(ProducerRecord(*record), error)

    @property
    def has_changed(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self._uncommitted or self._sent or self._punctuated)

    def positions(self) -> dict[TopicPartition, Position]:
        """What is to be committed: of all inputs, so that their metadata agrees."""
        kernel = self.kernel
        assert kernel is not None
        try:
            spreading = spread(kernel.metadata, len(self.committed))
        except ValueError as error:
            raise StreamsError(
                f"Task {self.id} has too many operators that remember a time: {error}, more than "
                "can be committed with its positions. Split the topology with repartition(), or "
                "into several applications."
            ) from None
        return {
            part: Position(
                kernel.positions.get(part, position.offset),
                kernel.partition_time(part),
                {**metadata, SEQUENCE: self._sequence + 1},
            )
            for (part, position), metadata in zip(self.committed.items(), spreading, strict=True)
        }

    def apply(self, committed: Mapping[TopicPartition, Position], producer: SlotProducer) -> None:
        """Bring the local state to what is committed now, by this producer.

        The marker of a transaction may come late, and after records of another producer that has
        the task next. So it is counted only when the same one has sent more, as that is after it.
        """
        assert self.kernel is not None
        self.committed = {part: committed[part] for part in self.plan.inputs}
        self._sequence += 1
        if producer is not self._marked_by:
            self._marked.clear()
            self._marked_by = producer
        for topic, (topic_id, offset) in self._changelogs.items():
            sent = self._sent[topic]
            if sent:
                self._changelogs[topic] = topic_id, offset + sent + (topic in self._marked)
                if self._exactly_once:
                    self._marked.add(topic)
            elif (part := TopicPartition(topic, self.id.partition)) in self.kernel.positions:
                self._changelogs[topic] = topic_id, self.kernel.positions[part]
        self._sent.clear()
        self._uncommitted = self._punctuated = self.uncommitted_bytes = 0
        self.kernel.measure()
        self._save()

    def take_measurements(self) -> list[Measurement]:
        """What was measured since the last report. After an error there is none: the kernel's
        task is gone with what it has measured, and the next one does the work again."""
        kernel = self.kernel
        assert kernel is not None
        metrics = kernel.metrics
        for name, (entries, size) in self._state.sizes().items():
            if name in kernel.stores:
                tags = scope_of(kernel.stores[name].spec), name
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
        return kernel.take_measurements()

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
        kernel, self.kernel = self.kernel, None
        if kernel is not None:
            self.closed += 1
            try:
                kernel.close_processors()
            except StreamsError as error:
                log.warning("%s", error)

    def close(self) -> None:
        self.forget()
        self._state.close()

    # State

    def _rebuild(self, global_stores: Mapping[str, Any], listener: RestoreListener) -> None:
        self.forget()
        self._sent.clear()
        self._marked.clear()
        self._state.rollback()
        restore = Restore(self.id, self._state, self._kafka, self._topic_ids, listener)
        offsets = {part: position.offset for part, position in self.committed.items()}
        current = restore.is_current(str(self._run), self._sequence, offsets)
        if not current:
            restore.check(self._sequence)
        metadata = gathered(position.metadata for position in self.committed.values())
        metadata.pop(SEQUENCE, None)
        kernel = StreamTask(
            self._spec,
            self._clock,
            global_stores=global_stores,
            metadata=metadata,
            storage=self._state,
        )
        for part, position in self.committed.items():
            kernel.resume_at(part, position.offset, position.partition_time)
        self.kernel = kernel
        self.created += 1
        self._pace = Pace(self._clock, kernel.context, self._limit_s)
        if current:
            assert self._state.checkpoint is not None
            self._saved = self._state.checkpoint
            self._changelogs = dict(self._state.checkpoint.changelogs)
        else:
            self._run_restore(restore, kernel, offsets)
        kernel.start()

    def _run_restore(
        self, restore: Restore, kernel: StreamTask, offsets: Mapping[TopicPartition, int]
    ) -> None:
        topics = {
            name: topic
            for name in kernel.stores
            if (topic := kernel.changelog_topic(name)) is not None
        }
        if not self._exactly_once:
            # The changelogs may have what was done after the last commit. It will be done again,
            # and must find the windows of then.
            for store in kernel.stores.values():
                store.latest_restored = kernel.context.stream_time
        began = self._clock.nanoseconds()
        self._changelogs = restore.run(kernel.stores, topics, offsets, kernel.facts)
        self.restored = restore.restored
        self._save()
        self.restore_ns = self._clock.nanoseconds() - began

    def _save(self) -> None:
        kernel = self.kernel
        assert kernel is not None
        checkpoint = Checkpoint(
            str(self._run), self._sequence, dict(kernel.positions), dict(self._changelogs)
        )
        self._state.commit(checkpoint, kernel.facts())
        self._saved = checkpoint
