"""Brings a task's local state to what its changelogs say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from headrace.core.record import TaskId, TopicPartition
from headrace.engine.clients import Clients
from headrace.state.checkpoint import Checkpoint
from headrace.state.task_state import TaskState

_RECORDS_PER_COMMIT = 100_000
"""So many restored records are kept in memory before they are written."""

Facts = Callable[[], dict[str, dict[str, int]]]


class Listener(Protocol):
    """Is told that a slot is still at work, and how far the restore of a store has come; offsets
    are those of the changelog."""

    def alive(self) -> None: ...

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
        state: TaskState,
        clients: Clients,
        topic_ids: Mapping[str, str],
        listener: Listener,
    ) -> None:
        self._task = task
        self._state = state
        self._clients = clients
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
        """Empty the state if its checkpoint can't be one of this application's past."""
        checkpoint = self._state.checkpoint
        if checkpoint is None:
            return
        foreign = any(
            self._topic_ids.get(topic) != topic_id
            for topic, (topic_id, _) in checkpoint.changelogs.items()
        )
        if foreign or checkpoint.sequence > sequence or self._is_out_of_range(checkpoint):
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
        ends = self._clients.changelogs.ends(
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
        count = unsaved = 0
        if start < end:
            self._listener.restore_started(name, part, start, end)
            for records, offset in self._clients.changelogs.read(part, start, end):
                store.restore(records)
                count += len(records)
                unsaved += len(records)
                self._listener.batch_restored(name, part, offset, len(records))
                if unsaved >= _RECORDS_PER_COMMIT:
                    reached[part.topic] = topic_id, offset
                    self._state.commit(Checkpoint("", -1, {}, dict(reached)), facts())
                    unsaved = 0
            self._listener.restore_ended(name, part, count)
        reached[part.topic] = topic_id, end
        self.restored += count

    def _is_out_of_range(self, checkpoint: Checkpoint) -> bool:
        """Whether the changelog no longer has what comes next, or never had it."""
        offsets = {self._partition(topic): at for topic, (_, at) in checkpoint.changelogs.items()}
        first = self._clients.group.first_offsets(list(offsets))
        ends = self._clients.changelogs.ends(list(offsets))
        # The marker of the last transaction is counted, but may not be in the log yet.
        return any(not first[part] <= at <= ends[part] + 1 for part, at in offsets.items())

    def _partition(self, topic: str) -> TopicPartition:
        return TopicPartition(topic, self._task.partition)
