"""From what is seen to figures."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from benchmarks.engine import expected, latency, load, memory
from benchmarks.engine.measurements import best
from benchmarks.engine.progress import Rates, Sample, rates, watch
from benchmarks.engine.topologies import TOPOLOGIES
from headrace.testing import TopologyTestDriver


def test_the_second_half_begins_when_half_of_the_records_are_seen() -> None:
    samples = [Sample(3.0, 100), Sample(5.0, 400), Sample(6.0, 600), Sample(10.0, 1000)]
    assert rates(samples, 1000) == Rates(3.0, 900 / 7, 100.0)


def test_an_engine_that_does_all_at_once_has_no_rate() -> None:
    assert rates([Sample(2.0, 10)], 10) == Rates(2.0, None, None)
    assert rates([Sample(2.0, 1), Sample(4.0, 10)], 10) == Rates(2.0, 4.5, None)


def test_watching_keeps_what_has_changed() -> None:
    positions = iter([0, 0, 3, 3, 10])
    samples = watch(lambda: next(positions), 10, began=0.0, interval_s=0)
    assert [sample.records for sample in samples] == [3, 10]


def test_latencies_leave_out_the_first_fifth() -> None:
    measured = latency.summary(10, [900.0, 900.0, *map(float, range(8, 0, -1))])
    assert measured == latency.Latency(10, 10, 5.0, 8.0, 8.0, 8.0)
    with pytest.raises(RuntimeError, match="10 records were sent, and none came out"):
        latency.summary(10, [])


@pytest.mark.parametrize("mode", TOPOLOGIES)
def test_what_the_topologies_give_is_what_is_expected(mode: str) -> None:
    driver = TopologyTestDriver(TOPOLOGIES[mode]("in", "out"))
    if mode == "join":
        for record in load.profiles(50):
            driver.pipe(load.users_topic("in"), *record)
    for record in load.purchases(2_000, 50):
        driver.pipe("in", *record)
    came = [record for record in driver.take_output() if record.topic == "out"]
    output = expected.Output(
        len(came), {record.key: record.value for record in came if record.key and record.value}
    )
    expected.check(mode, 2_000, 50, output)
    with pytest.raises(AssertionError, match=mode):
        expected.check(mode, 2_001, 50, output)


def test_a_wrong_count_is_noticed() -> None:
    keys = {purchase.key for purchase in load.purchases(100, 3)}
    wrong = dict.fromkeys(keys, struct.pack(">q", 1))
    with pytest.raises(AssertionError, match="count: 3 of 3 counts are wrong"):
        expected.check("count", 100, 3, expected.Output(3, wrong))


def test_workers_are_what_the_daemon_has_forked(tmp_path: Path) -> None:
    def process(pid: int, parent: int, name: str, peak_kb: int) -> None:
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "status").write_text(
            f"Name:\t{name}\nPPid:\t{parent}\nVmHWM:\t{peak_kb} kB\nVmRSS:\t2048 kB\n"
            "RssAnon:\t1024 kB\n"
        )

    (tmp_path / "uptime").touch()
    process(10, 1, "python", 1)
    process(11, 10, "java", 2)
    process(12, 11, "python3", 3)
    process(13, 12, "python3", 4096)
    process(20, 1, "java", 2)
    process(21, 20, "python3", 3)
    process(22, 21, "python3", 4)
    assert memory.workers(10, tmp_path) == [memory.WorkerMemory(4.0, 2.0, 1.0)]


def test_the_fastest_run_counts_and_one_without_a_rate_is_no_error() -> None:
    runs = [{"rate_second_half": rate} for rate in (None, 2.0, 3.0, None)]
    assert best(runs) == {"rate_second_half": 3.0}
    assert best(runs[:1]) == {"rate_second_half": None}
