"""Settings of all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.tools import closing_line

# How long an example takes says more about the machine than about the code. In CI the examples are
# the same every time, so that a change is judged by itself.
settings.register_profile(
    "headrace",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("headrace")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says in one line which tests were skipped for want of a tool."""
    skipped = terminalreporter.getreports("skipped")
    # (file, line, "Skipped: …")
    reasons = [report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)]
    line = closing_line(reason.removeprefix("Skipped: ") for reason in reasons)
    if line is not None:
        terminalreporter.write_line(line, yellow=True)
