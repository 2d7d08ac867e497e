"""What an application tells about itself while it runs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headrace.app.lifecycle import State
from headrace.app.restoration import Restoring
from headrace.core.record import TopicPartition
from headrace.engine.report import TaskReport

_RATE_WINDOW_S = 10.0


@dataclass(frozen=True)
class Status:
    """A moment of an application. `lag` is how many records were there and not yet processed when
    it was last looked; None: nobody has looked."""

    state: State
    tasks: Mapping[str, TaskReport] = field(default_factory=dict)
    records_total: int = 0
    rate: float = 0.0
    lag: int | None = None
    batches: int = 0
    batch_ms: float = 0.0
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Dropped records, by task."""
    restoring: tuple[Restoring, ...] = ()
    last_error: str | None = None


class Progress:
    """Counts what the reports of the batches say."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskReport] = {}
        self.positions: dict[TopicPartition, int] = {}
        self.records = 0
        self.batches = 0
        self.batch_ms = 0.0
        self.lag: int | None = None
        self._recent: deque[tuple[float, int]] = deque()

    def add(self, reports: Iterable[TaskReport], milliseconds: float) -> None:
        now = time.monotonic()
        count = 0
        for report in reports:
            self.tasks[report.task] = report
            count += report.records
            for topic, offsets in report.positions.items():
                for partition, offset in offsets.items():
                    self.positions[TopicPartition(topic, int(partition))] = offset
        self.records += count
        self.batches += 1
        self.batch_ms = milliseconds
        self._recent.append((now, count))

    def rate(self) -> float:
        """Records a second, lately."""
        now = time.monotonic()
        while self._recent and self._recent[0][0] < now - _RATE_WINDOW_S:
            self._recent.popleft()
        return sum(count for _, count in self._recent) / _RATE_WINDOW_S if self._recent else 0.0
