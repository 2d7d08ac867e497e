"""The query validation cases: those that fail are listed, and only those."""

from __future__ import annotations

import pytest

from .cases import default_directory, read_cases
from .report import known_failures
from .run import run

_DIRECTORY = default_directory()


@pytest.mark.skipif(
    not _DIRECTORY.is_dir(),
    reason=f"there are no query validation cases in {_DIRECTORY}; HEADRACE_QTT_DIR says where",
)
def test_cases_that_fail_are_listed_and_only_those() -> None:
    known = known_failures()
    wrong = []
    for case in read_cases(_DIRECTORY):
        failure = run(case)
        if failure is not None and case.id not in known:
            wrong.append(f"{case.id} fails: {failure}")
        elif failure is None and case.id in known:
            wrong.append(f"{case.id} passes, but is listed in known_failures.txt")
    assert not wrong, "\n".join(wrong)


def test_listed_failures_have_a_reason() -> None:
    assert all(reason.strip(" ?") for reason in known_failures().values())
