"""Logins that fail too often."""

from __future__ import annotations

from headrace.http import logins
from headrace.http.logins import FailedLogins


def test_ten_failures_in_a_minute() -> None:
    now = 100.0
    failed = FailedLogins(lambda: now)
    for _ in range(9):
        failed.failed("a")
        now += 1
    assert failed.wait_s("a") == 0
    failed.failed("a")
    assert failed.wait_s("a") == 51
    assert failed.wait_s("b") == 0
    now = 159.5
    assert failed.wait_s("a") == 1
    now = 160.0
    assert failed.wait_s("a") == 0
    failed.failed("a")
    assert failed.wait_s("a") == 1


def test_not_all_clients_are_kept() -> None:
    failed = FailedLogins()
    for number in range(3 * logins._CLIENTS):
        failed.failed(str(number))
    assert len(failed._failures) == logins._CLIENTS
