"""An application without Kafka and Spark: its tasks run in a process of their own, and commit."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from headrace import StreamsConfig, Topology
from headrace.core.clock import ManualClock
from headrace.core.record import ConsumerRecord, TaskId, TopicPartition
from headrace.engine.identity import identity
from headrace.engine.plan import Plan, TaskPlan
from headrace.query.local_state import LocalState
from headrace.runtime.task import StreamTask
from headrace.serde.murmur2 import partition_for
from headrace.state.checkpoint import Checkpoint
from headrace.state.directory import StateDirectory
from headrace.state.task_state import TaskState

PARTITIONS = 2
Sent = tuple[str, Any, int]
"""Key, value and timestamp."""


class Application:
    """Reads topic `in`, whose keys are strings."""

    def __init__(self, topology: Topology, directory: Path) -> None:
        (sub,) = topology.subtopologies()
        source = sub.nodes[0]
        config = StreamsConfig(
            {
                "application.id": "app",
                "bootstrap.servers": "localhost:9092",
                "state.dir": str(directory),
            }
        )
        tasks = tuple(
            TaskPlan(TaskId(0, number), tuple(sub.nodes), {TopicPartition("in", number): source})
            for number in range(PARTITIONS)
        )
        self.plan = Plan(1, topology, config, tasks, None, {}, {}, 1)
        self.directory = StateDirectory.of(config)
        self.state = LocalState(self.plan)
        self._pipe, theirs = multiprocessing.Pipe()
        # LMDB can't be open twice in a process, nor be inherited.
        multiprocessing.get_context("fork").Process(
            target=self._run, args=(theirs,), daemon=True
        ).start()
        self._offsets = dict.fromkeys(range(PARTITIONS), 0)
        self._commits = 0

    def process(
        self,
        records: Iterable[Sent],
        *,
        sequence: int | None = None,
        changelogs: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        """All records, then a commit of each task."""
        self._commits += 1
        by_partition: dict[int, list[ConsumerRecord]] = {n: [] for n in range(PARTITIONS)}
        for key, value, timestamp in records:
            number = partition_for(key.encode(), PARTITIONS)
            offset = self._offsets[number]
            self._offsets[number] += 1
            by_partition[number].append(
                ConsumerRecord("in", number, offset, timestamp, key.encode(), value, ())
            )
        number = self._commits if sequence is None else sequence
        self._pipe.send((by_partition, number, changelogs or {}))
        assert self._pipe.recv() == "committed"

    def _run(self, pipe: Connection) -> None:
        # What else this process has open would stay open for as long as the child lives.
        os.closerange(3, pipe.fileno())
        os.closerange(pipe.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
        while True:
            self._commit(*pipe.recv())
            pipe.send("committed")

    def _commit(
        self,
        records: dict[int, list[ConsumerRecord]],
        sequence: int,
        changelogs: Mapping[str, tuple[str, int]],
    ) -> None:
        for plan in self.plan.tasks:
            number = plan.id.partition
            part = TopicPartition("in", number)
            state = TaskState(self.directory.task(str(plan.id)), identity(self.plan, plan))
            state.acquire(10)
            task = StreamTask(self.plan.spec(plan), ManualClock(0), storage=state)
            task.start()
            task.add_records(part, records[number])
            while task.has_records:
                task.process_next()
            task.commit()
            position = records[number][-1].offset + 1 if records[number] else 0
            checkpoint = Checkpoint("1", sequence, {part: position}, changelogs)
            state.commit(checkpoint, task.facts())
            state.close()
