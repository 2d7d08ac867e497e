"""How far stores are behind their changelogs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from headrace import StreamsBuilder, TopicPartition, serdes
from headrace.app.metadata import LagInfo
from headrace.app.restoration import Restoring
from headrace.app.store_lags import store_lags
from tests.query.application import Application


def test_lag_is_what_is_not_applied(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string(), value=serdes.bytes_()).group_by_key().count("counts")
    application = Application(builder.build(), tmp_path)
    changelog = "app-counts-changelog"
    application.process([("a", b"x", 0)], changelogs={changelog: ("id", 7)})
    application.directory.task("0_1").joinpath("data.mdb").unlink()

    def ends(partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(partitions, 10)

    part = TopicPartition(changelog, 1)
    restoring = [Restoring("counts", part, 0, 10, 4)]
    next_run = replace(application.plan, run=2)
    assert store_lags(next_run, application.state, restoring, ends) == {
        "counts": {0: LagInfo(7, 10, 3), 1: LagInfo(4, 10, 6)}
    }
    # What lies behind the last commit of the run itself is the mark of its transaction.
    assert store_lags(application.plan, application.state, [], ends) == {
        "counts": {0: LagInfo(10, 10, 0), 1: LagInfo(0, 10, 10)}
    }
