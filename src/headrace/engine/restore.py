"""Brings a task's local state to what its changelogs say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from headrace.core.record import TaskId, TopicPartition
from headrace.engine.staleness import Following
from headrace.kafka.port import Kafka
from headrace.state.checkpoint import Checkpoint
from headrace.state.port import LocalState

_RECORDS_PER_COMMIT = 100_000
_BYTES_PER_COMMIT = 64 * 1024 * 1024
"""So many restored records are kept in memory before they are written, and of so many bytes."""

Facts = Callable[[], dict[str, dict[str, int]]]


class StopAsked(Exception):
    """Ends what takes long, as the application is to stop."""


class RestoreListener(Protocol):
    """Is told that somebody is at work, and how far the restore of a store has come; offsets are
    those of the changelog."""

    def alive(self) -> None: ...
    def stop_asked(self) -> bool:
        """Whether to end soon: to keep what is done, and leave the rest."""
        ...

    def restore_started(
        self, store: str, partition: TopicPartition, start: int, end: int
    ) -> None: ...
    def batch_restored(
        self, store: str, partition: TopicPartition, offset: int, records: int
    ) -> None: ...
    def restore_ended(self, store: str, partition: TopicPartition, records: int) -> None: ...


class Restore:
    """One restore of one task. `check` first, as it may empty the state; then make the stores and
    `run`.

    Applying records again that are in the state already does no harm, as long as all that follow
    are applied too. So the offsets of a checkpoint may be too low, but never too high.
    """

    def __init__(
        self,
        task: TaskId,
        state: LocalState,
        kafka: Kafka,
        topic_ids: Mapping[str, str],
        listener: RestoreListener,
    ) -> None:
        self._task = task
        self._state = state
        self._kafka = kafka
        self._topic_ids = topic_ids
        self._listener = listener
        self.restored = 0

    def is_current(self, run: str, sequence: int, positions: Mapping[TopicPartition, int]) -> bool:
        """Whether the state is that of the last commit.

        Only a state of this run is believed: in between, somebody may have committed who doesn't
        know of sequence numbers.
        """
        checkpoint = self._state.checkpoint
        return (
            checkpoint is not None
            and (checkpoint.run_id, checkpoint.sequence) == (run, sequence)
            and checkpoint.positions == positions
        )

    def check(self, sequence: int) -> None:
        """Empty the state if its checkpoint can't be one of this application's past, or is so old
        that the changelogs may have forgotten what they deleted since."""
        checkpoint = self._state.checkpoint
        if checkpoint is None:
            return
        foreign = any(
            self._topic_ids.get(topic) != topic_id
            for topic, (topic_id, _) in checkpoint.changelogs.items()
        )
        if foreign or checkpoint.sequence > sequence or self._is_out_of_date(checkpoint):
            self._state.wipe()

    def run(
        self,
        stores: Mapping[str, Any],
        topics: Mapping[str, str],
        positions: Mapping[TopicPartition, int],
        facts: Facts,
    ) -> dict[str, tuple[str, int]]:
        """Apply what the checkpoint lacks; gives where each changelog (`topics`, by store) ended.

        A source topic that serves as changelog is read up to the committed position.
        """
        checkpoint = self._state.checkpoint
        known = {} if checkpoint is None else checkpoint.changelogs
        parts = {topic: self._partition(topic) for topic in topics.values()}
        ends = self._kafka.changelogs.ends(
            [part for part in parts.values() if part not in positions]
        )
        reached = dict(known)
        for store, topic in topics.items():
            part = parts[topic]
            end = positions.get(part, ends.get(part, 0))
            start = known[topic][1] if topic in known else 0
            self._restore(store, stores[store], part, start, end, reached, facts)
        return {topic: reached[topic] for topic in parts}

    def _restore(
        self,
        name: str,
        store: Any,
        part: TopicPartition,
        start: int,
        end: int,
        reached: dict[str, tuple[str, int]],
        facts: Facts,
    ) -> None:
        topic_id = self._topic_ids[part.topic]
        count = unsaved = unsaved_bytes = 0
        if start < end:
            self._listener.restore_started(name, part, start, end)
            for records, offset in self._kafka.changelogs.read(part, start, end):
                store.restore(records)
                count += len(records)
                unsaved += len(records)
                unsaved_bytes += sum(len(record[1] or b"") for record in records)
                self._listener.batch_restored(name, part, offset, len(records))
                stops = self._listener.stop_asked()
                is_much = unsaved >= _RECORDS_PER_COMMIT or unsaved_bytes >= _BYTES_PER_COMMIT
                if is_much or stops:
                    reached[part.topic] = topic_id, offset
                    self._state.commit(Checkpoint("", -1, {}, dict(reached)), facts())
                    unsaved = unsaved_bytes = 0
                if stops and offset < end:
                    raise StopAsked
            self._listener.restore_ended(name, part, count)
        reached[part.topic] = topic_id, end
        self.restored += count

    def _is_out_of_date(self, checkpoint: Checkpoint) -> bool:
        """Whether a changelog no longer has all that comes next, or never had it."""
        offsets = {self._partition(topic): at for topic, (_, at) in checkpoint.changelogs.items()}
        first = self._kafka.group.first_offsets(list(offsets))
        ends = self._kafka.changelogs.ends(list(offsets))
        # The marker of the last transaction is counted, but may not be in the log yet.
        if any(not first[part] <= at <= ends[part] + 1 for part, at in offsets.items()):
            return True
        behind = {part.topic for part, at in offsets.items() if at < ends[part]}
        following = Following(f"task {self._task}", self._state, self._kafka)
        return following.has_missed_deletions(behind)

    def _partition(self, topic: str) -> TopicPartition:
        return TopicPartition(topic, self._task.partition)
