"""KafkaStreams from start to close, with a model of Kafka and slots that do as they are told."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import (
    KafkaStreams,
    NotStartedError,
    ProcessingError,
    StateError,
    StoppedError,
    StoreNotAvailableError,
    StreamsBuilder,
    TopicPartition,
    serdes,
)
from headrace.app import streams as streams_module
from headrace.app.lifecycle import State
from headrace.app.metadata import NO_HOST, HostInfo
from headrace.app.restoration import Restoring
from headrace.core.clock import SystemClock
from headrace.kafka.port import TopicSpec
from headrace.metrics.registry import Registry
from headrace.spark import cluster as cluster_module
from tests.app.test_supervisor import DONE, Cluster, batch, fails
from tests.simulation.broker import Broker
from tests.simulation.clients import ModelKafka
from tests.simulation.clock import VirtualClock
from tests.simulation.network import GoodNetwork

SOON = timedelta(seconds=60)
NODE = HostInfo("10.0.0.7", 8080)


class Counting:
    """Makes an application that counts, of which nothing is real but itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        clock = VirtualClock()
        broker = Broker(clock)
        broker.create([TopicSpec("in", 2)])
        self.cluster = Cluster(SystemClock())
        self.tell: Callable[[list[Any], Callable[[Any], None]], None]
        self._directory = directory

        def kafka(settings: object) -> ModelKafka:
            return ModelKafka(broker, GoodNetwork(broker, clock), "app")

        def cluster(config: object, session: object, on_event: Any, program: object) -> Cluster:
            self.tell = on_event
            return self.cluster

        monkeypatch.setattr(streams_module, "Clients", kafka)
        monkeypatch.setattr(cluster_module, "SparkCluster", cluster)

    def __call__(self, **settings: Any) -> KafkaStreams:
        builder = StreamsBuilder()
        builder.stream("in", key=serdes.string()).group_by_key().count("counts")
        return KafkaStreams(
            builder.build(),
            {"application.id": "app", "bootstrap.servers": "none:1", **settings},
            state_dir=str(self._directory),
        )


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON.total_seconds()
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counting:
    return Counting(monkeypatch, tmp_path)


def test_what_is_known_of_it_from_start_to_close(counting: Counting) -> None:
    counting.cluster.script = [batch(DONE)]
    streams = counting()
    states: list[State] = []
    streams.set_state_listener(lambda new, old: states.append(new))
    assert streams.status().state is State.CREATED
    assert streams.plan is None
    assert streams.metadata_for_local_threads() == ()
    assert streams.metadata_for_all_streams_clients() == ()
    with pytest.raises(NotStartedError):
        streams.local_state()
    with pytest.raises(StateError, match="start"):
        streams.pause()

    with streams:
        assert streams.wait_for(State.RUNNING, timeout=SOON)
        wait_until(lambda: streams.status().records_total == 5)
        threads = streams.metadata_for_local_threads()
        (client,) = streams.metadata_for_all_streams_clients()
        assert streams.query_metadata_for_key("counts", "k").active_host == NO_HOST
        assert streams.server_address is None
        assert not streams.is_paused
        with pytest.raises(StateError, match="clean_up"):
            streams.clean_up()
        with pytest.raises(StateError):
            streams.set_uncaught_exception_handler(lambda error: pytest.fail("too late"))
        with pytest.raises(StateError):
            streams.start()

    inputs = {TopicPartition("in", 0), TopicPartition("in", 1)}
    assert {part for thread in threads for task in thread.tasks for part in task.partitions} == (
        inputs
    )
    assert client.stores == {"counts"}
    assert client.partitions == inputs
    assert states == [
        State.REBALANCING,
        State.RUNNING,
        State.PENDING_SHUTDOWN,
        State.NOT_RUNNING,
    ]
    assert counting.cluster.is_closed
    with pytest.raises(StoppedError):
        streams.local_state()
    streams.clean_up()


def test_tasks_may_come_while_the_status_is_read(
    counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = counting()
    streams._progress.add([DONE], 1.0)

    def total(registry: object, *names: str) -> float:
        streams._progress.add([replace(DONE, task="0_1")], 1.0)
        return 0.0

    monkeypatch.setattr(Registry, "total", total)
    assert list(streams.status().tasks) == ["0_0"]


def test_a_pause_ends_the_slots_until_it_is_over(counting: Counting) -> None:
    with counting() as streams:
        assert streams.wait_for(State.RUNNING, timeout=SOON)
        streams.pause()
        assert streams.is_paused
        wait_until(lambda: counting.cluster.runners[-1].stopped)
        assert counting.cluster.started == 1
        streams.resume()
        wait_until(lambda: counting.cluster.started == 2)
    assert streams.error is None


def test_one_that_was_never_started_can_be_closed(counting: Counting) -> None:
    streams = counting()

    assert streams.close()
    assert streams.state is State.NOT_RUNNING
    with pytest.raises(StateError):
        streams.start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_run(counting: Counting, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    counting.cluster.script = [lambda runner: os.kill(os.getpid(), number)]
    streams = counting()

    streams.run()

    assert streams.state is State.NOT_RUNNING
    assert streams.error is None
    assert signal.getsignal(number) is before


def test_run_raises_what_it_ended_with(counting: Counting) -> None:
    counting.cluster.script = [fails(ProcessingError("bad"))]
    streams = counting()

    with pytest.raises(ProcessingError, match="bad"):
        streams.run()

    assert streams.state is State.ERROR
    assert streams.status().last_error == "bad"


def test_who_can_not_be_closed_in_time_is_left_alone(
    counting: Counting, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(streams_module, "_CLOSE_PATIENCE", timedelta(seconds=1))

    def signalled(runner: Any) -> None:
        runner.is_idle = False
        os.kill(os.getpid(), signal.SIGTERM)

    counting.cluster.script = [signalled]
    streams = counting()

    streams.run()

    assert "could not be closed within 1 s" in caplog.text
    assert streams.close(SOON)


def test_on_a_cluster_it_is_told_where_the_state_is(counting: Counting) -> None:
    def send(message: Any) -> None: ...

    counting.cluster.warms_up = lambda: [replace(DONE, node="node-1")]
    with counting(**{"spark.master": "spark://somewhere:7077"}) as streams:
        assert streams.wait_for(State.RUNNING, timeout=SOON)
        places = streams.places
        assert places is not None
        assert places.partitions("counts") == [0, 1]
        with pytest.raises(StoreNotAvailableError, match="its task is being moved"):
            places.place("counts", 0, stale=True)

        counting.tell(["node", "node-1", *NODE], send)
        counting.tell(["followed", "node-1", {"0_1": 3}, {}, []], send)
        assert places.place("counts", 0, stale=False) == NODE
        of_key = streams.query_metadata_for_key("counts", "k")
        assert of_key.partition == places.partition_of("counts", "k")
        (client,) = streams.metadata_for_all_streams_clients()
        assert client.host == NODE
        assert client.partitions == {TopicPartition("in", 0)}

        counting.tell(["gone"], send)
        with pytest.raises(StoreNotAvailableError):
            places.place("counts", 0, stale=True)


def test_what_workers_tell_is_in_the_status(counting: Counting) -> None:
    def send(message: Any) -> None: ...

    with counting() as streams:
        assert streams.wait_for(State.RUNNING, timeout=SOON)
        counting.tell(["attempt_failed", 0, "0_0", "BrokerError", "away for now"], send)
        counting.tell(["restore_started", "counts", "changelog", 1, 0, 10], send)
        counting.tell(["batch_restored", "counts", "changelog", 1, 4, 4], send)
        status = streams.status()

    (failure,) = status.failures
    assert "away for now" in str(failure)
    changelog = TopicPartition("changelog", 1)
    assert status.restoring == (Restoring("counts", changelog, 0, 10, 4),)
