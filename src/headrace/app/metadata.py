"""What an application tells of its parts."""

from __future__ import annotations

from typing import NamedTuple

from headrace.app.lifecycle import State
from headrace.core.record import TopicPartition


class TaskMetadata(NamedTuple):
    """A task and the partitions that it reads."""

    task_id: str
    partitions: tuple[TopicPartition, ...]


class ThreadMetadata(NamedTuple):
    """A slot, which is what Kafka Streams calls a thread."""

    name: str
    state: State
    tasks: tuple[TaskMetadata, ...]
