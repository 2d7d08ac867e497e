"""Functions that take long, with transactions that don't wait for them."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from headrace import KafkaStreams, ProcessingError, State, StreamsBuilder, Topology, serdes
from tests.integration.applications import Cluster, close, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = serdes.string()


def mapping(source: str, target: str, seconds: float) -> Topology:
    def slow(value: str) -> str:
        time.sleep(seconds)
        return value

    builder = StreamsBuilder()
    stream = builder.stream(source, key=TEXT, value=TEXT)
    stream.map_values(slow, name="ask-somebody").to(target, key=TEXT, value=TEXT)
    return builder.build()


def application(
    cluster: Cluster, name: str, seconds: float, records: int, **settings: object
) -> KafkaStreams:
    source, target = f"{name}.in", f"{name}.out"
    cluster.kafka.create_topic(source, 1)
    cluster.kafka.create_topic(target, 1)
    cluster.send(source, [(b"k", str(n).encode()) for n in range(records)])
    return cluster.application(mapping(source, target, seconds), name, **settings)


def committed(streams: KafkaStreams) -> int:
    return sum(streams.status().positions.values())


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_a_slow_function_makes_steady_progress(cluster: Cluster, name: str, guarantee: str) -> None:
    streams = application(
        cluster,
        name,
        0.02,
        5000,
        processing_guarantee=guarantee,
        **{"producer.transaction.timeout.ms": 5000},
    )
    with streams:
        lags: list[int] = []

        def falls() -> bool:
            lag = streams.status().lag
            if lag is not None and (not lags or lag < lags[-1]):
                lags.append(lag)
            return len(lags) >= 3

        wait_until(lambda: streams.state is State.RUNNING, "it to run", streams)
        wait_until(falls, "the lag to fall within the batch", streams)
        assert streams.status().batches == 0
        assert streams.status().failures == ()
    results = cluster.read(f"{name}.out", committed(streams))
    values = [int(message.value()) for message in results]
    assert values == list(range(len(values)))
    assert 0 < len(values) < 5000


def test_a_function_that_does_not_come_back_is_named(cluster: Cluster, name: str) -> None:
    streams = application(cluster, name, 600, 10, **{"producer.transaction.timeout.ms": 5000})
    streams.start()
    try:
        wait_until(lambda: streams.state is State.ERROR, "the error")
        assert isinstance(streams.error, ProcessingError)
        assert f"ask-somebody is too slow at {name}.in-0@0" in str(streams.error)
        assert "it took more than 5." in str(streams.error)
        assert "instance" not in str(streams.error)
        assert "in slow" in str(streams.error.__cause__)  # where it waited
    finally:
        streams.close(timedelta(seconds=30))


def test_closing_within_a_batch_commits_what_is_done(cluster: Cluster, name: str) -> None:
    streams = application(cluster, name, 0.001, 90_000)
    streams.start()
    wait_until(lambda: streams.state is State.RUNNING, "it to run", streams)
    time.sleep(3)
    assert streams.status().batches == 0
    close(streams)
    done = committed(streams)
    assert 0 < done < 90_000
    again = cluster.application(mapping(f"{name}.in", f"{name}.out", 0), name)
    with again:
        wait_until(lambda: again.status().lag == 0, "the rest", again)
    values = [int(message.value()) for message in cluster.read(f"{name}.out", 90_000)]
    assert values == list(range(90_000))
