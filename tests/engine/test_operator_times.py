"""The times of operators, which are committed with the positions however many there are (ADR 2)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from headrace import StreamsBuilder, TimeWindows, Topology, serdes
from headrace.engine.batch import Row

from .slots import Application

TEXT = serdes.string()
MINUTE = 60_000


def counting(operators: int) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    grouped = stream.group_by_key()
    windows = TimeWindows.of_size(timedelta(minutes=1))
    for number in range(operators):
        counts = grouped.windowed_by(windows).count(f"a-store-with-a-rather-long-name-{number}")
        if number == operators - 1:
            counts.to_stream().map(lambda window, count: (window.key, str(count))).to(
                "out", key=TEXT, value=TEXT
            )
    return builder.build()


@pytest.mark.parametrize("operators", [2, 100])
def test_a_late_record_stays_late_after_a_restart_without_local_state(
    tmp_path: Path, operators: int
) -> None:
    application = Application(counting(operators), tmp_path, "in", "out")
    application.write("in", ("k", "v", 0), ("k", "v", 10 * MINUTE))
    application.batch()
    assert application.read("out") == [("k", "1"), ("k", "1")]
    application.worker.close()
    shutil.rmtree(tmp_path / "app")
    application.restart()
    application.write("in", ("k", "late", 0), ("k", "v", 10 * MINUTE))
    (report,) = application.batch()
    assert report.failure is None
    assert application.read("out") == [("k", "1"), ("k", "1"), ("k", "2")]
    application.close()


def test_what_is_done_again_finds_the_windows_of_then(tmp_path: Path) -> None:
    application = Application(
        counting(1),
        tmp_path,
        "in",
        "out",
        processing__guarantee="at_least_once",
        statestore__cache__max__bytes=0,
    )
    application.write("in", ("k", "v", 0), ("k", "v", 1))
    application.batch()
    application.write("in", ("k", "v", 2), ("k", "v", 10 * MINUTE))

    def killed() -> Iterator[Row]:
        yield from application.rows()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        application.run(killed())
    before = [("k", "1"), ("k", "2"), ("k", "3"), ("k", "1")]
    assert application.read("out") == before
    application.restart()
    (report,) = application.batch()
    assert report.failure is None
    # Counted again, with what the changelog had of it: at least once.
    assert application.read("out") == [*before, ("k", "4"), ("k", "2")]
    application.close()


def test_more_than_can_be_committed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.kafka.metadata._PIECE", 50)
    application = Application(counting(100), tmp_path, "in", "out")
    application.write("in", ("k", "v", 0))
    (report,) = application.batch()
    assert report.failure is not None
    assert "Task 0_0 has too many operators" in report.failure.message
    application.close()
