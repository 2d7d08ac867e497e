"""What an application counts and remembers while it runs."""

from __future__ import annotations

import pytest

from headrace.app.status import Progress
from headrace.core.record import TopicPartition
from headrace.engine.report import Failure, TaskReport


def report(task: str, records: int, failure: Failure | None = None) -> TaskReport:
    return TaskReport(task, 0, "w", records, {"in": {"0": records}}, failure=failure)


def test_records_are_counted_by_task(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("headrace.app.status.time.monotonic", lambda: now)
    progress = Progress()
    progress.add([report("0_0", 10), report("0_1", 5)], 20)
    progress.add([report("0_0", 30)], 25)
    assert progress.records == 45
    assert progress.task_records == {"0_0": 40, "0_1": 5}
    assert progress.rates() == {"0_0": 4.0, "0_1": 0.5}
    assert progress.positions[TopicPartition("in", 0)] == 30
    now = 111.0
    assert progress.rates() == {}
    assert progress.task_records["0_0"] == 40


def test_the_latest_errors_are_remembered() -> None:
    progress = Progress()
    progress.failed([report("0_0", 0), report("0_1", 0, Failure("ProcessingError", "boom", "…"))])
    progress.failed_with(ValueError("odd"))
    first, second = progress.failures
    assert (first.kind, first.message, first.task, first.worker) == (
        "ProcessingError",
        "boom",
        "0_1",
        "w",
    )
    assert (second.kind, second.message, second.task) == ("ValueError", "odd", None)
    for number in range(500):
        progress.failed_with(ValueError(str(number)))
    assert len(progress.failures) == 100
    assert progress.failures[-1].message == "499"
