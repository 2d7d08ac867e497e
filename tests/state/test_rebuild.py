"""Recorded cases with all state on disk, and the tasks made anew from it again and again: a change
of process in mid-stream changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.core.record import Record
from headrace.runtime.stores.cached import CachedStore
from headrace.testing import TopologyTestDriver
from tests.conformance import processors
from tests.conformance.cases import CORPUS, group_files, known_differences, read
from tests.conformance.compare import compare
from tests.conformance.run import run

from .rebuilding import RebuildingDriver

GROUPS = (
    "caching",
    "cogroup",
    "emit-on-close",
    "foreign-key-inner",
    "foreign-key-left",
    "processor-api",
    "punctuation",
    "random-programs",
    "store-kv",
    "store-session",
    "store-versioned",
    "store-window",
    "stream-stream-left",
    "stream-stream-outer",
    "stream-stream-self",
    "stream-table",
    "stream-table-versioned",
    "suppress",
    "table-table-outer",
    "window-hopping",
    "window-session",
    "window-sliding",
)

READS_EXPIRED_CACHE = frozenset({"cogroup/068", "store-window/023", "window-session/024"})
"""They see rows past their retention, as long as the record cache happens to have them: the cache
of a new process is empty."""


class UncachedReads(TopologyTestDriver):
    """Shows in the end what the stores have, without what only their caches still have."""

    def stores(self, partition: int = 0) -> dict[str, Any]:
        stores = super().stores(partition)
        for store in stores.values():
            if isinstance(store, CachedStore) and store._cache is not None:
                store.flush()
                store._cache.clear()
        return stores


class CountingPunctuator(processors.Punctuator):
    """Its counts outlive it: how often a schedule fired is not state of the task."""

    def _scheduled(self, schedule: dict[str, Any]) -> Any:
        def fire(time: int) -> None:
            schedule["fired"] = schedule.get("fired", 0) + 1
            text = (
                f"{schedule['fired']}@{time} stream={self.context.current_stream_time_ms} "
                f"meta={str(self.context.record_metadata is not None).lower()}"
            )
            self.context.forward(Record(schedule["label"], text, time), schedule.get("child"))
            if schedule["fired"] == schedule.get("cancel_after"):
                cancellable.cancel()

        cancellable = self.schedule(schedule["kind"], schedule["interval"], fire)
        return cancellable


@pytest.mark.parametrize("group", GROUPS)
def test_a_change_of_process_changes_nothing(group: str, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setitem(processors._BEHAVIOURS, "punctuator", CountingPunctuator)
    skipped = READS_EXPIRED_CACHE | known_differences().keys()
    for case in read(group_files(CORPUS)[group])[::3]:
        if case["id"] in skipped:
            continue
        monkeypatch.setattr("tests.conformance.run.TopologyTestDriver", UncachedReads)
        undisturbed = run(case)
        expected = {**case, "stores": undisturbed["stores"]} if "stores" in case else case
        _forget_counts(case)
        monkeypatch.setattr("tests.conformance.run.TopologyTestDriver", RebuildingDriver)
        monkeypatch.setattr(RebuildingDriver, "directory", tmp_path / case["id"], raising=False)
        monkeypatch.setattr(RebuildingDriver, "every", 1, raising=False)
        assert compare(expected, run(case)) == [], case["id"]


def _forget_counts(case: dict[str, Any]) -> None:
    for operation in case["topology"]:
        for schedule in operation.get("processor", {}).get("schedules", ()):
            schedule.pop("fired", None)
