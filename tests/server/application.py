"""An application for the server, without Kafka and Spark: real stores, and the rest made up."""

from __future__ import annotations

from datetime import timedelta
from math import nan
from pathlib import Path
from typing import Any

from headrace import (
    Materialized,
    NotStartedError,
    RebalancingError,
    SessionWindows,
    StateError,
    StoppedError,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    TopicPartition,
    Topology,
    serdes,
    stores,
)
from headrace.app.lifecycle import State
from headrace.app.metadata import HostInfo, KeyQueryMetadata, LagInfo, StreamsMetadata
from headrace.app.restoration import Restoring
from headrace.app.status import FailureSeen, Status
from headrace.core.record import ConsumerRecord
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport
from headrace.metrics.name import MetricName, MetricValue
from headrace.query.local_state import LocalState
from headrace.server.gate import Access
from headrace.server.web import web
from tests.query.application import Application
from tests.server.client import Client

TOKEN = "a token of 24 characters".replace(" ", "-")
HERE = HostInfo("localhost", 8080)
ORDERS = [("alice", b"a", 10), ("bob", b"b", 20), ("alice", b"c", 30), ("carol", b"d", 70_000)]


def topology() -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string(), value=serdes.bytes_())
    grouped = stream.group_by_key()
    grouped.count("counts")
    minutes = TimeWindows.of_size(timedelta(minutes=1), grace=timedelta(hours=1))
    grouped.windowed_by(minutes).count("windows")
    gap = SessionWindows.of_inactivity_gap(timedelta(seconds=30), grace=timedelta(hours=1))
    grouped.windowed_by(gap).count("sessions")
    numbered = stores.versioned("versions", history=timedelta(hours=1))
    stream.to_table(Materialized(supplier=numbered, key=serdes.string(), value=serdes.bytes_()))
    stream.to("out", key=serdes.string(), value=serdes.bytes_())
    return builder.build()


class FakeStreams:
    """What the server needs of KafkaStreams."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.inner = Application(topology(), directory)
        self.topology = self.inner.plan.topology
        self.config = StreamsConfig({**self.inner.plan.config.given(), **settings})
        self.plan: Plan | None = self.inner.plan
        self.state = State.RUNNING
        self.is_paused = False
        self.places = None
        self.topics: dict[str, list[ConsumerRecord]] = {}
        """What Kafka has."""
        self.inner.process(ORDERS)

    def status(self) -> Status:
        part = TopicPartition("in", 0)
        return Status(
            self.state,
            {"0_0": TaskReport("0_0", 0, "worker-1", 3, restored=7)},
            dropped={"0_0": 2},
            records_total=4,
            rate=1.25,
            lag=5,
            batches=2,
            batch_ms=12.5,
            restoring=(Restoring("counts", TopicPartition("app-counts-changelog", 1), 0, 9, 4),),
            last_error="It failed in /var/lib/private/state.mdb.",
            positions={part: 3},
            ends={part: 8},
            lags={part: 5},
            task_records={"0_0": 4},
            task_rates={"0_0": 1.25},
            failures=(
                FailureSeen(1000, "BrokerError", "Kafka is away"),
                FailureSeen(2000, "ProcessingError", "Boom in /home/me/x.py", "0_0", "worker-1"),
            ),
        )

    def metrics(self) -> dict[MetricName, MetricValue]:
        tags = (("thread-id", "app-0"), ("task-id", "0_0"))
        return {
            MetricName("dropped-records-total", "stream-task-metrics", tags, "Dropped."): 2.0,
            MetricName("dropped-records-rate", "stream-task-metrics", tags, "Lately."): nan,
        }

    def local_state(self) -> LocalState:
        match self.state:
            case State.RUNNING:
                return self.inner.state
            case State.CREATED:
                raise NotStartedError("It has not been started.")
            case State.REBALANCING:
                raise RebalancingError("It is starting.")
        raise StoppedError("It has ended.")

    def pause(self) -> None:
        if self.state is State.CREATED:
            raise StateError("The application has not been started.")
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False

    def metadata_for_all_streams_clients(self) -> tuple[StreamsMetadata, ...]:
        parts = frozenset(TopicPartition("in", number) for number in range(2))
        return (StreamsMetadata(HERE, frozenset(self.topology.stores), parts),)

    def query_metadata_for_key(self, store: str, key: Any) -> KeyQueryMetadata:
        return KeyQueryMetadata(HERE, frozenset(), len(key) % 2)

    def all_local_store_partition_lags(self) -> dict[str, dict[int, LagInfo]]:
        self.local_state()
        return {"counts": {0: LagInfo(3, 5, 2)}}


def client(streams: FakeStreams, access: Access | None = None, token: str | None = None) -> Client:
    """Asks the server of an application, in this process."""
    app = web(
        streams, access or Access(None), lambda topic, limit: streams.topics.get(topic, [])[:limit]
    )
    return Client(app, token)
