"""Several instances of an application: one runs, others stand by or take over."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from headrace import FencedError, StreamsBuilder, Topology, serdes
from headrace.app.lifecycle import State
from tests.integration.applications import Cluster, close, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = serdes.string()
PATIENCE = timedelta(seconds=120)


def passing(*sources: str, target: str) -> Topology:
    builder = StreamsBuilder()
    for source in sources:
        builder.stream(source, key=TEXT, value=TEXT).to(target)
    return builder.build()


@pytest.fixture
def topics(cluster: Cluster, name: str) -> tuple[str, str, str]:
    """Two to read, of which the second comes first by its name, and one to write."""
    names = f"{name}.in", f"{name}.first", f"{name}.out"
    for topic in names:
        cluster.kafka.create_topic(topic, 1)
    return names


def test_a_second_instance_stands_by_and_takes_over(
    cluster: Cluster, name: str, topics: tuple[str, str, str]
) -> None:
    source, _, target = topics
    topology = passing(source, target=target)
    first, second = (cluster.application(topology, name) for _ in range(2))
    first.start()
    cluster.send(source, [(b"k", b"1")])
    assert len(cluster.read(target, 1)) == 1
    second.start()
    wait_until(lambda: "runs the application" in (second.status().reason or ""), "waiting", second)
    assert second.state is State.REBALANCING
    cluster.send(source, [(b"k", b"2")])
    assert len(cluster.read(target, 2)) == 2
    close(first)
    assert second.wait_for(State.RUNNING, timeout=PATIENCE)
    cluster.send(source, [(b"k", b"3")])
    assert [m.value() for m in cluster.read(target, 3)] == [b"1", b"2", b"3"]
    close(second)


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_an_instance_with_another_first_source_takes_over_and_the_older_ends(
    cluster: Cluster, name: str, topics: tuple[str, str, str], tmp_path: Path, guarantee: str
) -> None:
    source, before, target = topics
    settings = {"processing_guarantee": guarantee}
    old = cluster.application(passing(source, target=target), name, **settings)
    new = cluster.application(
        passing(before, source, target=target),
        name,
        instance_takeover=True,
        state_dir=str(tmp_path / "other"),
        **settings,
    )
    old.start()
    cluster.send(source, [(b"k", b"%d" % number) for number in range(100)])
    assert len(cluster.read(target, 100)) == 100
    new.start()
    assert new.wait_for(State.RUNNING, timeout=PATIENCE)
    # Nothing comes in: it must notice by itself.
    assert old.wait_for(State.ERROR, timeout=timedelta(seconds=30))
    assert isinstance(old.error, FencedError)
    cluster.send(source, [(b"k", b"%d" % number) for number in range(100, 200)])
    found = [int(message.value()) for message in cluster.read(target, 200)]
    assert found == list(range(200))
    close(new)


APPLICATION = """
from headrace import StreamsBuilder, serdes

def topology(*sources):
    builder = StreamsBuilder()
    for source in sources:
        builder.stream(source, key=serdes.string(), value=serdes.string()).to({target!r})
    return builder

old, new = topology({source!r}), topology({before!r}, {source!r})
"""


@contextmanager
def deployed(
    cluster: Cluster, name: str, version: str, directory: Path
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process of its own that runs the application, and its log."""
    command = [
        *(sys.executable, "-m", "headrace", "run", f"shop:{version}", "-a", name),
        *("-b", cluster.kafka.bootstrap_servers, "-s", "processing.guarantee=exactly_once_v2"),
        *("-s", f"state.dir={directory / version}", "-s", "spark.master=local[2]"),
    ]
    path = directory / f"{version}.log"
    with (
        path.open("w") as log,
        subprocess.Popen(command, cwd=directory, stderr=log, text=True) as process,
    ):
        try:
            yield process, path
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)


def test_a_rolling_redeploy_with_a_changed_topology(
    cluster: Cluster, name: str, topics: tuple[str, str, str], tmp_path: Path
) -> None:
    source, before, target = topics
    application = APPLICATION.format(source=source, before=before, target=target)
    (tmp_path / "shop.py").write_text(application)
    enough = threading.Event()
    sent = 0

    def send() -> None:
        nonlocal sent
        while not enough.wait(0.1):
            cluster.send(source, [(b"k", b"%d" % number) for number in range(sent, sent + 20)])
            sent += 20

    feeding = threading.Thread(target=send)
    with deployed(cluster, name, "old", tmp_path) as (old, old_log):
        wait_until(lambda: "RUNNING" in old_log.read_text(), old_log.read_text())
        feeding.start()
        with deployed(cluster, name, "new", tmp_path) as (_, new_log):
            wait_until(lambda: "Standing by: " in new_log.read_text(), "the new one to stand by")
            began = time.monotonic()
            old.send_signal(signal.SIGTERM)
            wait_until(lambda: "RUNNING" in new_log.read_text(), "the new one to take over")
            gap_s = time.monotonic() - began
            assert old.wait(60) == 0
            time.sleep(1)
            enough.set()
            feeding.join()
            found = [int(message.value()) for message in cluster.read(target, sent)]
    print(f"{gap_s:.1f} s from SIGTERM to RUNNING")
    assert [number for number, times in Counter(found).items() if times > 1] == []
    assert sorted(found) == list(range(sent))
