"""What an application tells about itself while it runs."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from headrace.app.lifecycle import State
from headrace.app.restoration import Restoring
from headrace.core.record import TopicPartition
from headrace.engine.report import TaskReport

_RATE_WINDOW_S = 10.0
_FAILURES = 100


@dataclass(frozen=True)
class FailureSeen:
    """An error that a task, or the application as a whole, has reported at a time."""

    at_ms: int
    kind: str
    message: str
    task: str | None = None
    worker: str | None = None


@dataclass(frozen=True)
class Status:
    """A moment of an application. `lag` is how many records were there and not yet processed when
    it was last looked; None: nobody has looked. `positions` and `ends` are those of the input, and
    `lags` what `lag` is made of: the positions go on until it is looked again."""

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
    reason: str | None = None
    """Why it doesn't get on: what it waits for, or tries again; None if nothing keeps it."""
    last_error: str | None = None
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    lags: Mapping[TopicPartition, int] = field(default_factory=dict)
    task_records: Mapping[str, int] = field(default_factory=dict)
    task_rates: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[FailureSeen, ...] = ()


class Progress:
    """Counts what the reports of the batches say."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskReport] = {}
        self.positions: dict[TopicPartition, int] = {}
        self.records = 0
        self.batches = 0
        self.batch_ms = 0.0
        self.reason: str | None = None
        """As in Status. Whoever waits sets it; what gets on clears it."""
        self.lag: int | None = None
        self.ends: dict[TopicPartition, int] = {}
        self.lags: dict[TopicPartition, int] = {}
        self.task_records: Counter[str] = Counter()
        self.failures: deque[FailureSeen] = deque(maxlen=_FAILURES)
        self._recent: deque[tuple[float, dict[str, int]]] = deque()

    def add(self, reports: Iterable[TaskReport], milliseconds: float) -> None:
        counts: dict[str, int] = {}
        for report in reports:
            self.tasks[report.task] = report
            counts[report.task] = report.records
            for topic, offsets in report.positions.items():
                for partition, offset in offsets.items():
                    self.positions[TopicPartition(topic, int(partition))] = offset
        self.records += sum(counts.values())
        self.task_records.update(counts)
        self.batches += 1
        self.batch_ms = milliseconds
        self.reason = None
        now = time.monotonic()
        self._recent.append((now, counts))
        self._forget_before(now - _RATE_WINDOW_S)

    def reached(self, positions: Iterable[tuple[str, int, int]]) -> None:
        """What was committed before the end of a batch: topic, partition, offset."""
        for topic, partition, offset in positions:
            self.positions[TopicPartition(topic, partition)] = offset

    def failed(self, reports: Iterable[TaskReport]) -> None:
        """Remember the errors of a batch."""
        for report in reports:
            if (failure := report.failure) is not None:
                self._remember(failure.kind, failure.message, report.task, report.worker)

    def failed_with(self, error: Exception) -> None:
        """Remember an error that isn't of a batch."""
        self._remember(type(error).__name__, str(error))

    def attempt_failed(self, kind: str, message: str, task: str | None) -> None:
        """Remember an attempt at a batch that is tried again."""
        self.reason = f"Trying again: {message}"
        self._remember(kind, message, task)

    def rates(self) -> dict[str, float]:
        """Records a second of each task, lately."""
        self._forget_before(time.monotonic() - _RATE_WINDOW_S)
        recent: Counter[str] = Counter()
        for _, counts in [*self._recent]:
            recent.update(counts)
        return {task: count / _RATE_WINDOW_S for task, count in recent.items()}

    def _forget_before(self, moment: float) -> None:
        # Both whoever adds and whoever asks forgets: there may be nobody who asks.
        while self._recent and self._recent[0][0] < moment:
            with suppress(IndexError):
                self._recent.popleft()

    def _remember(
        self, kind: str, message: str, task: str | None = None, worker: str | None = None
    ) -> None:
        at_ms = time.time_ns() // 1_000_000
        self.failures.append(FailureSeen(at_ms, kind, message, task, worker))
