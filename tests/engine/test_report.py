"""Reports, and errors on their way from a worker to the driver."""

from __future__ import annotations

import pytest

from headrace import ProcessingError, StreamsError
from headrace.engine.report import Failure, TaskReport


def test_a_report_goes_there_and_back() -> None:
    measured = ("processor_node.record-e2e-latency", ("source",), (3, 12, 1, 9.5))
    report = TaskReport(
        "0_1",
        1,
        "host:7",
        3,
        {"in": {"1": 9}},
        [measured],
        [("thread.poll-records", (), (1, 5, 5, 5))],
        [("task.dropped-records", (), (2,))],
        2,
        {"x": 1.5},
    )
    assert TaskReport.from_json(report.to_json()) == report


def raised(error: Exception, cause: Exception | None = None) -> Failure:
    try:
        raise error from cause
    except Exception as caught:
        return Failure.of(caught)


def test_an_error_keeps_its_kind_and_shows_the_users_traceback() -> None:
    try:
        [].pop()
    except IndexError as caught:
        failure = raised(ProcessingError("mask failed at in-0@3"), caught)
    report = TaskReport("0_0", 0, "host:7", failure=failure)
    arrived = TaskReport.from_json(report.to_json()).failure
    assert arrived is not None
    error = arrived.error()
    assert type(error) is ProcessingError
    assert str(error) == "mask failed at in-0@3"
    assert "[].pop()" in str(error.__cause__)


@pytest.mark.parametrize("error", [KeyError("x"), OSError("disk")])
def test_an_error_of_another_kind_is_named(error: Exception) -> None:
    told = raised(error).error()
    assert type(told) is StreamsError
    assert str(told).startswith(type(error).__name__)
