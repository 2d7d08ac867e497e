"""Metrics of an application on a real Kafka and a real Spark."""

from __future__ import annotations

import shutil

import pytest

from headrace import KafkaStreams, StreamsBuilder, StreamThreadExceptionResponse, serdes
from headrace.metrics.prometheus import exposition
from tests.integration.applications import Cluster, wait_until
from tests.integration.test_engine import total, word_count

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def added(streams: KafkaStreams, name: str, group: str | None = None, **tags: str) -> float:
    """The sum of a metric over everything that has these tags."""
    wanted = {(key.replace("_", "-"), value) for key, value in tags.items()}
    return sum(
        value
        for metric, value in streams.metrics().items()
        if metric.name == name and group in (None, metric.group)
        if wanted <= {*metric.tags} and not isinstance(value, str)
    )


def test_totals_are_exact_and_go_on_from_process_to_process(cluster: Cluster, name: str) -> None:
    lines, counts = f"{name}.lines", f"{name}.counts"
    cluster.kafka.create_topic(lines, 3)
    cluster.kafka.create_topic(counts, 2)
    level = {"metrics_recording_level": "DEBUG"}
    streams = cluster.application(word_count(lines, counts), name, **level)
    with streams:
        for sent in (40, 80, 120):
            cluster.send(lines, [(str(i).encode(), b"a b") for i in range(40)])
            expected = {b"a": sent, b"b": sent}
            wait_until(lambda: total(cluster, counts) == expected, "counts", streams)  # noqa: B023
        wait_until(lambda: streams.status().lag == 0, "all to be read", streams)
        repartition = f"{name}-words-repartition"
        assert added(streams, "records-consumed-total", topic=lines) == 120
        assert added(streams, "records-produced-total", topic=repartition) == 240
        assert added(streams, "records-consumed-total", topic=repartition) == 240
        assert added(streams, "process-total", group="stream-thread-metrics") == 120 + 240
        assert added(streams, "process-total", group="stream-task-metrics") == 120 + 240
        assert added(streams, "commit-total") >= 3
        assert added(streams, "estimate-num-keys") == 2
        assert added(streams, "total-sst-files-size") > 0
        assert added(streams, "lmdb-used-bytes") > 0
        assert added(streams, "lmdb-map-size") >= added(streams, "lmdb-used-bytes")
        assert added(streams, "records-lag") == 0
        assert added(streams, "failed-stream-threads") == 0
        threads = streams.metadata_for_local_threads()
        assert added(streams, "alive-stream-threads") == len(threads)
        assert added(streams, "thread-state") == 4 * len(threads)
        assert added(streams, "put-rate", rocksdb_state_id="words") > 0
        text = exposition(streams.metrics()).decode()
        assert 'headrace_state{headrace_state="RUNNING"} 1.0' in text
        assert "headrace_processor_node_record_e2e_latency_max" in text
    shutil.rmtree(cluster.state_dir)
    streams = cluster.application(word_count(lines, counts), name)
    with streams:
        wait_until(lambda: added(streams, "restore-records-total") > 0, "the restore", streams)
        assert added(streams, "restore-time-ns-total") > 0


def fail_on_x(value: str) -> str:
    if value == "x":
        raise ValueError("x")
    return value


def test_failed_threads_are_counted(cluster: Cluster, name: str) -> None:
    source = f"{name}.in"
    cluster.kafka.create_topic(source, 1)
    cluster.send(source, [(b"k", b"x")])
    builder = StreamsBuilder()
    stream = builder.stream(source, key=serdes.string(), value=serdes.string())
    stream.map_values(fail_on_x).foreach(print)
    streams = cluster.application(builder.build(), name)
    streams.set_uncaught_exception_handler(
        lambda error: StreamThreadExceptionResponse.REPLACE_THREAD
    )
    with streams:
        wait_until(lambda: added(streams, "failed-stream-threads") >= 2, "two failures", streams)
        # What was rolled back was never counted.
        assert added(streams, "records-consumed-total") == 0
    assert added(streams, "alive-stream-threads") == 0
