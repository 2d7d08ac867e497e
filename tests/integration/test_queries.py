"""Queries to applications on a real Kafka and a real Spark."""

from __future__ import annotations

import time

import pytest

from headrace import (
    NotStartedError,
    StoppedError,
    StreamsBuilder,
    TopicPartition,
    Topology,
    UnknownStoreError,
    serdes,
)
from headrace.query import (
    FailureReason,
    KeyQuery,
    ReadOnlyKeyValueStore,
    ReadOnlyTimestampedKeyValueStore,
    ReadOnlyWindowStore,
    StateQueryRequest,
)
from tests.integration.applications import Cluster, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = serdes.string()


def counts_and_names(source: str, names: str, target: str) -> Topology:
    builder = StreamsBuilder()
    known = builder.global_table(names, "names", key=TEXT, value=TEXT)
    stream = builder.stream(source, key=TEXT, value=TEXT)
    stream.group_by_key().count("counts")
    named = stream.join(known, lambda _, name: name, key_selector=lambda key, _: key)
    named.to(target, key=TEXT, value=TEXT)
    return builder.build()


def test_stores_of_a_running_application_are_read(cluster: Cluster, name: str) -> None:
    source, names, target = f"{name}.in", f"{name}.names", f"{name}.out"
    cluster.kafka.create_topic(source, 3)
    for topic in (names, target):
        cluster.kafka.create_topic(topic, 1)
    cluster.send(names, [(b"k1", b"one")])
    cluster.send(source, [(b"k%d" % (i % 7), b"x") for i in range(700)])
    streams = cluster.application(counts_and_names(source, names, target), name)
    with pytest.raises(NotStartedError):
        streams.store("counts")
    with streams:
        wait_until(lambda: streams.status().records_total >= 700, "all to be counted", streams)
        counts = streams.store("counts", ReadOnlyKeyValueStore)
        assert dict(counts.all()) == {f"k{i}": 100 for i in range(7)}
        assert counts.get("k3") == 100
        assert counts.get("nobody") is None
        timed = streams.store("counts", ReadOnlyTimestampedKeyValueStore).get("k3")
        assert timed is not None
        assert timed.value == 100
        assert streams.store("names").get("k1") == "one"
        with pytest.raises(UnknownStoreError, match="Did you mean 'counts'"):
            streams.store("count")
        with pytest.raises(UnknownStoreError, match="can't be read as ReadOnlyWindowStore"):
            streams.store("counts", ReadOnlyWindowStore)
        global_result = streams.query(StateQueryRequest("names", KeyQuery("k1"))).global_result
        assert global_result is not None
        assert global_result.get() == "one"
    with pytest.raises(StoppedError):
        streams.store("counts")


def test_who_knows_an_offset_sees_its_effect(cluster: Cluster, name: str) -> None:
    source, names, target = f"{name}.in", f"{name}.names", f"{name}.out"
    for topic in (source, names, target):
        cluster.kafka.create_topic(topic, 1)
    cluster.send(source, [(b"k", b"x")])
    with cluster.application(counts_and_names(source, names, target), name) as streams:
        wait_until(lambda: streams.status().records_total >= 1, "the first record", streams)
        for offset in range(1, 6):
            cluster.send(source, [(b"k", b"x")])
            bound = {TopicPartition(source, 0): offset}
            request = StateQueryRequest("counts", KeyQuery("k"), position_bound=bound)
            result = streams.query(request).partition_results[0]
            deadline = time.monotonic() + 60
            while not result.is_success and time.monotonic() < deadline:
                assert result.failure_reason is FailureReason.NOT_UP_TO_BOUND
                time.sleep(0.01)
                result = streams.query(request).partition_results[0]
            assert result.get() == offset + 1
