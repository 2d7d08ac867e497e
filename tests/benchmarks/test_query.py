"""The parts of the benchmark of queries that need no application."""

from __future__ import annotations

import multiprocessing
from contextlib import closing
from pathlib import Path

from benchmarks import query
from benchmarks.asking import Latencies
from headrace import StreamsConfig
from headrace.server.service import Service
from tests.server.application import FakeStreams


def test_percentiles() -> None:
    found = Latencies.of([n / 1000 for n in range(1, 101)], 3, 2.0)
    assert (found.lookups, found.failed, found.per_second) == (100, 3, 50.0)
    assert (found.p50, found.p99, found.max) == (51.0, 100.0, 100.0)


def test_a_server_is_asked_at_the_rate(tmp_path: Path) -> None:
    streams = FakeStreams(tmp_path)
    streams.config = StreamsConfig({**streams.config.given(), "application.server": ":0"})
    ours, theirs = multiprocessing.Pipe()
    with closing(Service(streams)) as service, closing(ours), closing(theirs):
        took, failed, spent = query._lookups(theirs, service.address, 100, 5, 0.5)
        polled = query._polled(service.address, 0.3)
    assert failed == 0
    assert spent >= 0.5
    assert 1 <= len(took) <= 100 * spent + 1
    assert polled > 0
