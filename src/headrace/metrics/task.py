"""What every task records."""

from __future__ import annotations

from headrace.metrics import catalogue
from headrace.metrics.level import RecordingLevel
from headrace.metrics.recorder import Recorder


class TaskMetrics(Recorder):
    """The instruments of one task."""

    def __init__(self, level: RecordingLevel = RecordingLevel.INFO) -> None:
        super().__init__(level)
        self.processed = self.counter(catalogue.TASK_PROCESSED)
        self.dropped_records = self.counter(catalogue.DROPPED_RECORDS)
