"""State on the hosts of a Spark cluster: asked for from anywhere, and copied."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from pyspark.sql import SparkSession

from headrace import KafkaStreams, StateRestoreListener, StreamsBuilder, TopicPartition, serdes
from headrace.app.metadata import NO_HOST, HostInfo
from headrace.embedded import EmbeddedKafka
from tests.chaos.cluster import StandaloneCluster
from tests.integration.applications import PATIENCE_S, Cluster, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = serdes.string()
KEYS = [f"k{i}" for i in range(40)]
TIMES = 50
"""How often each key is counted."""


class Restores(StateRestoreListener):
    """Where restores began."""

    def __init__(self) -> None:
        self.starts: list[tuple[int, int]] = []

    def on_restore_start(self, partition: TopicPartition, store: str, start: int, end: int) -> None:
        self.starts.append((start, end))


@pytest.fixture
def spark_cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    if (spark := SparkSession.getActiveSession()) is not None:
        spark.stop()  # A process has one Spark: the application would take the other tests'.
    with StandaloneCluster(tmp_path / "cluster", tmp_path / "plan") as cluster:
        yield cluster
    for pid in node_processes(tmp_path):
        os.kill(pid, signal.SIGKILL)


def test_every_key_is_answered_from_every_node_and_by_a_copy_when_its_host_is_gone(
    embedded_kafka: EmbeddedKafka, spark_cluster: StandaloneCluster, tmp_path: Path, name: str
) -> None:
    source = f"{name}.in"
    embedded_kafka.create_topic(source, 4)
    clients = Cluster(embedded_kafka, None, tmp_path)  # type: ignore[arg-type]
    clients.send(source, [(key.encode(), b"x") for key in KEYS] * TIMES)
    builder = StreamsBuilder()
    builder.stream(source, key=TEXT, value=TEXT).group_by_key().count("counts")
    streams = KafkaStreams(
        builder.build(),
        {
            "application.id": name,
            "bootstrap.servers": embedded_kafka.bootstrap_servers,
            "application.server": "127.0.0.1:0",
            "num.standby.replicas": 1,
            "num.stream.threads": 2,
            "metrics.recording.level": "DEBUG",
            "state.dir": "~/state",
            "spark.master": spark_cluster.master,
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.executor.cores": 1,
        },
    )
    restores = Restores()
    streams.set_global_state_restore_listener(restores)
    with streams:
        total = len(KEYS) * TIMES
        wait_until(lambda: streams.status().records_total >= total, "the counts", streams)
        wait_until(lambda: _copied(streams) == 4, "the copies", streams)
        assert _added(streams, "standby-updating-tasks") == 4
        # A lag may be of a moment before the last commits: then the rest is still to come.
        every_key = len(KEYS)
        wait_until(lambda: _added(streams, "update-total") >= every_key, "the updates", streams)
        nodes = [client.host for client in streams.metadata_for_all_streams_clients()]
        assert len(nodes) == 2
        assert streams.server_address is not None
        for address in (streams.server_address, *map(_address, nodes)):
            found = {key: _value(address, key) for key in KEYS}
            assert found == dict.fromkeys(KEYS, TIMES)
            assert _all(address) == dict.fromkeys(KEYS, TIMES)
            assert _value(address, "nobody") == 404

        restores.starts.clear()
        lost = spark_cluster.home(0)
        for pid in node_processes(lost):
            os.kill(pid, signal.SIGKILL)
        spark_cluster.kill_worker(0)
        _ask_until_answered(streams.server_address, TIMES, stale=True)
        # Every task is on the other host now, which had the records already.
        clients.send(source, [(key.encode(), b"x") for key in KEYS])
        more = total + len(KEYS)
        wait_until(lambda: streams.status().records_total >= more, "the last counts", streams)
        _ask_until_answered(streams.server_address, TIMES + 1, stale=False)
        assert all(start > 0 for start, _ in restores.starts)


def test_the_node_of_each_host_removes_what_is_elsewhere(
    embedded_kafka: EmbeddedKafka, spark_cluster: StandaloneCluster, tmp_path: Path, name: str
) -> None:
    source = f"{name}.in"
    embedded_kafka.create_topic(source, 4)
    clients = Cluster(embedded_kafka, None, tmp_path)  # type: ignore[arg-type]
    clients.send(source, [(key.encode(), b"x") for key in KEYS])
    builder = StreamsBuilder()
    builder.stream(source, key=TEXT, value=TEXT).group_by_key().count("counts")
    homes = [spark_cluster.home(number) / "state" / name for number in range(2)]
    with KafkaStreams(
        builder.build(),
        {
            "application.id": name,
            "bootstrap.servers": embedded_kafka.bootstrap_servers,
            "num.stream.threads": 2,
            "state.dir": "~/state",
            "state.cleanup.delay.ms": 60_000,
            "spark.master": spark_cluster.master,
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.executor.cores": 1,
        },
    ) as streams:
        wait_until(lambda: streams.status().records_total >= len(KEYS), "the counts", streams)
        had = [_tasks(home) for home in homes]
        # As if the tasks of each had run on the other, long ago.
        for home, others in zip(homes, reversed(had), strict=True):
            for task in others:
                (home / task).mkdir(exist_ok=True)
                (home / task / ".lock").touch()
                os.utime(home / task / ".lock", (0, 0))
        wait_until(lambda: sum(len(_tasks(home)) for home in homes) == 4, "one of each", streams)
        assert sorted(_tasks(homes[0]) | _tasks(homes[1])) == ["0_0", "0_1", "0_2", "0_3"]
        # No node answers requests that nobody has asked for.
        hosts = {client.host for client in streams.metadata_for_all_streams_clients()}
        assert hosts == {NO_HOST}
        clients.send(source, [(key.encode(), b"x") for key in KEYS])
        more = 2 * len(KEYS)
        wait_until(lambda: streams.status().records_total >= more, "the last counts", streams)


def _tasks(home: Path) -> set[str]:
    return {entry.name for entry in home.iterdir() if entry.is_dir()} if home.is_dir() else set()


def _ask_until_answered(address: str, right: int, *, stale: bool) -> None:
    """Until then, some keys may have no answer, but none a wrong one."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = {_value(address, key, stale=stale) for key in KEYS}
        assert found <= {right, 503}
        if found == {right}:
            return
        time.sleep(0.2)
    raise AssertionError("Not all keys are answered again")


def _copied(streams: KafkaStreams) -> int:
    """How many tasks have a copy that has everything."""
    assert streams._supervisor is not None
    nodes = streams._supervisor.nodes
    tasks = (f"0_{number}" for number in range(4))
    return sum(any(copy.lag == 0 for copy in nodes.copies(task)) for task in tasks)


def _added(streams: KafkaStreams, name: str) -> float:
    """The sum of a metric over all that has it."""
    metrics = streams.metrics().items()
    return sum(float(value) for metric, value in metrics if metric.name == name)


def _address(host: HostInfo) -> str:
    return f"http://{host.host}:{host.port}"


def _value(address: str, key: str, *, stale: bool = False) -> int:
    """The count of a key, or the status of the problem."""
    option = "&stale=true" if stale else ""
    try:
        with urlopen(f"{address}/v1/stores/counts/value?key={key}{option}", timeout=20) as response:
            return int(json.load(response)["value"])
    except HTTPError as problem:
        with problem:
            status, headers = problem.code, problem.headers
    assert ("Retry-After" in headers) == (status == 503)
    return status


def _all(address: str) -> dict[str, int]:
    """All counts, in small pages."""
    found: dict[str, int] = {}
    cursor = ""
    while True:
        with urlopen(f"{address}/v1/stores/counts/entries?limit=7{cursor}", timeout=20) as response:
            page = json.load(response)
        found.update({item["key"]: item["value"] for item in page["items"]})
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def node_processes(home: Path) -> list[int]:
    """The processes that serve state directories below a path."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            environment = (process / "environ").read_bytes()
        except OSError:
            continue
        if b"headrace.server.node" in command and f"HOME={home}".encode() in environment:
            found.append(int(process.name))
    return found
