"""An engine in memory: batches of any size, crashes, and commits that can be torn.

It shows which results are not determined, so that the checker can be held to accept them; and what
a broken engine would leave behind, so that it can be held to notice.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import ConsumerRecord, ProducerRecord, TaskId, TopicPartition
from headrace.runtime.task import StreamTask, TaskSpec
from headrace.testing.layout import Layout

from .evidence import Evidence
from .load import Load

Log = defaultdict[TopicPartition, list[ConsumerRecord]]


@dataclass
class Commit:
    """What a task commits at once. A test may take some of it away."""

    task: TaskId
    sent: list[ProducerRecord]
    positions: dict[TopicPartition, int]


Tamper = Callable[[Commit], Commit]


class Simulation:
    """Runs a load to its end in random batches. After a batch, a task is sometimes lost, and made
    anew from what was committed; it always is after a commit that `tamper` changed."""

    def __init__(self, load: Load, seed: int, *, cached: bool, tamper: Tamper | None = None):
        self._load = load
        self._random = random.Random(seed)
        self._tamper = tamper
        pipeline = load.pipeline
        settings = {"application.id": pipeline.application_id}
        cache = {} if cached else {"statestore.cache.max.bytes": 0}
        self._layout = Layout(
            pipeline.topology(), StreamsConfig({**settings, **cache}), pipeline.partitions
        )
        self.log: Log = defaultdict(list)
        self.positions: dict[TopicPartition, int] = {}
        self._times: dict[TopicPartition, int] = {}
        self._metadata: dict[TaskId, dict[str, int]] = {}
        for given in load.records:
            self._append(ProducerRecord(*given))
        self._tasks = {spec.id: self._start(spec) for spec in self._layout.tasks()}

    def run(self) -> Evidence:
        while waiting := [task for task in self._tasks if self._waiting(task)]:
            self._batch(self._random.choice(waiting))
        pipeline = self._load.pipeline
        written = {*pipeline.outputs, *pipeline.changelogs.values()}
        logs = {one: records for one, records in self.log.items() if one.topic in written}
        return Evidence(logs, self.positions)

    def _waiting(self, task: TaskId) -> bool:
        return any(
            self.positions.get(one, 0) < len(self.log[one]) for one in self._layout.inputs(task)
        )

    def _batch(self, task_id: TaskId) -> None:
        task = self._tasks[task_id]
        for one in self._layout.inputs(task_id):
            start = self.positions.get(one, 0)
            stop = start + self._random.choice([0, 1, 5, 50, 500])
            task.add_records(one, self.log[one][start:stop])
        while task.has_records:
            task.process_next()
        task.commit()
        sent = [ProducerRecord(*fields) for fields in task.outbox]
        task.outbox.clear()
        intended = Commit(task_id, sent, dict(task.positions))
        commit = intended
        if self._tamper is not None:
            commit = self._tamper(Commit(task_id, list(sent), dict(task.positions)))
        self._commit(task, commit)
        if commit != intended or self._random.random() < 0.05:
            self._tasks[task_id] = self._start(
                next(spec for spec in self._layout.tasks() if spec.id == task_id)
            )

    def _commit(self, task: StreamTask, commit: Commit) -> None:
        for record in commit.sent:
            self._append(record)
        for one, position in commit.positions.items():
            self.positions[one] = position
            self._times[one] = task.partition_time(one)
        self._metadata[task.id] = task.metadata

    def _append(self, record: ProducerRecord) -> None:
        partition = record.partition
        if partition is None:
            partition = self._layout.partition_of(record)
        log = self.log[TopicPartition(record.topic, partition)]
        timestamp = record.timestamp or 0
        log.append(
            ConsumerRecord(record.topic, partition, len(log), timestamp, record.key, record.value)
        )

    def _start(self, spec: TaskSpec) -> StreamTask:
        task = StreamTask(spec, ManualClock(0), metadata=self._metadata.get(spec.id))
        for one in spec.inputs:
            if one in self.positions:
                task.resume_at(one, self.positions[one], self._times[one])
        for name, store in task.stores.items():
            topic = task.changelog_topic(name)
            assert topic is not None
            store.restore(_logged(self.log[TopicPartition(topic, spec.id.partition)]))
        task.start()
        return task


def _logged(
    records: Iterable[ConsumerRecord],
) -> Iterable[tuple[bytes, bytes | None, int, tuple[()]]]:
    return ((record.key, record.value, record.timestamp, ()) for record in records)
