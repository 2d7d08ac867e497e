"""The query validation cases: those that fail are listed, and only those."""

from __future__ import annotations

import pytest

from tests.tools import QUERY_CASES

from .cases import default_directory, read_cases
from .judge import judged
from .report import known_failures

_DIRECTORY = default_directory()


@pytest.mark.parametrize("suite", ["qtt", "rest"])
def test_cases_that_fail_are_listed_and_only_those(suite: str) -> None:
    if not _DIRECTORY.is_dir():
        QUERY_CASES.is_missing()
    known = known_failures()
    wrong = []
    for case in read_cases(_DIRECTORY, suite=suite):
        failure = judged(case)
        if failure is not None and case.id not in known:
            wrong.append(f"{case.id} fails: {failure}")
        elif failure is None and case.id in known:
            wrong.append(f"{case.id} passes, but is listed in known_failures.txt")
    assert not wrong, "\n".join(wrong)


def test_listed_failures_have_a_reason() -> None:
    assert all(reason.strip(" ?") for reason in known_failures().values())
