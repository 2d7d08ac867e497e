"""Measuring changes no result: cases of the corpus, with everything measured."""

from __future__ import annotations

import pytest

from headrace.core.settings import SETTINGS
from tests.conformance.cases import group_files
from tests.conformance.cli import check_group

LEVEL = "metrics.recording.level"


@pytest.mark.parametrize(
    "group", ["caching", "emit-on-close", "store-window", "stream-stream-left", "suppress"]
)
def test_results_are_the_same_with_everything_measured(
    group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SETTINGS, LEVEL, SETTINGS[LEVEL]._replace(default="TRACE"))
    verdicts = check_group(group_files()[group])
    assert verdicts
    assert [str(verdict) for verdict in verdicts if not verdict.passed] == []
