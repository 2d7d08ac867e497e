"""Local state, when it isn't what the worker that opens it has left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from headrace import Materialized, StreamsBuilder, StreamsConfig, serdes
from headrace.core.errors import StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.batch import Batch, RetryLater, Row
from headrace.engine.chunk import Chunk
from headrace.engine.launch import Launch
from headrace.engine.report import TaskReport, error_in
from headrace.engine.worker import Worker
from headrace.kafka.port import TopicSpec
from headrace.runtime.columns import Columns
from tests.simulation.broker import Broker
from tests.simulation.clients import ModelKafka
from tests.simulation.clock import VirtualClock
from tests.simulation.disk import Host, ModelDisk
from tests.simulation.network import GoodNetwork
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.spark import Listener

IN = TopicPartition("in", 0)
UNLUCKY = "unlucky"


class Owner:
    """A process that can't write its state, if its name says so."""

    def __init__(self, name: str, clock: VirtualClock) -> None:
        self.name = name
        self.clock = clock

    def step(self, what: str) -> None:
        if self.name == UNLUCKY and what.startswith("disk: commit"):
            raise StreamsError("No space left")


class Application:
    """Counts."""

    def __init__(self, guarantee: str = "exactly_once_v2") -> None:
        self.clock = VirtualClock()
        self._exactly_once = guarantee == "exactly_once_v2"
        self.marker_delay_s = 0.0
        self.broker = Broker(self.clock, lambda: self.marker_delay_s)
        self.broker.create([TopicSpec("in", 1), TopicSpec("out", 1)])
        self.host = Host("host")
        builder = StreamsBuilder()
        text, number = serdes.string(), serdes.long()
        stream = builder.stream("in", key=text, value=text)
        counts = stream.group_by_key(key=text, value=text).count(Materialized("counts"))
        counts.to_stream().to("out", key=text, value=number)
        config = StreamsConfig(
            {
                "application.id": "app",
                "bootstrap.servers": "model:1",
                "processing.guarantee": guarantee,
                "consumer.auto.offset.reset": "earliest",
                "statestore.cache.max.bytes": 0,
            }
        )
        launch = Launch(builder.build(), config, self._kafka(), "host/1")
        self._plan = launch.plan(1)
        launch.claim(self._plan)

    def worker(self, name: str, host: Host | None = None) -> Worker:
        disk = ModelDisk(host or self.host, Owner(name, self.clock))
        listener = Listener(Process(Scheduler(0), "driver"), lambda event, send: None)
        return Worker(self._plan, self._kafka(), disk, listener, self.clock)

    def batch(self, worker: Worker, offsets: Iterable[int], slot: int = 0) -> list[TaskReport]:
        # The one task is in the slot that is run.
        vars(self._plan)["slot_of"] = {task.id: slot for task in self._plan.tasks}
        return Batch(worker, slot).run([rows(offsets)])

    @property
    def counts(self) -> list[int]:
        log = self.broker.log(TopicPartition("out", 0))
        return [int.from_bytes(entry.value or b"", "big") for entry in log.committed()]

    def _kafka(self) -> ModelKafka:
        network = GoodNetwork(self.broker, self.clock)
        return ModelKafka(self.broker, network, "app", exactly_once=self._exactly_once)


def rows(offsets: Iterable[int]) -> Row:
    found = list(offsets)
    columns = Columns(found, found, [b"k"] * len(found), [b"v"] * len(found), None)
    return IN, Chunk.of(columns)


def test_an_older_copy_is_noticed() -> None:
    application = Application()
    worker = application.worker("worker")
    application.batch(worker, range(5))
    place = application.host.place("0_0")
    copy = place.content
    application.batch(worker, range(5, 10))
    place.content = copy
    application.batch(worker, range(10, 15))
    assert application.counts == list(range(1, 16))


def test_another_slot_may_write_before_the_marker_of_the_last_transaction() -> None:
    application = Application()
    application.marker_delay_s = 0.5
    application.batch(application.worker("first"), [0], slot=0)
    assert application.broker.group("app").pending, "the markers should be on their way"
    # Positions are stable a little earlier than the changelog.
    application.broker.group("app").mark(producer_of(application), committed=True)
    application.marker_delay_s = 0.0
    failed = application.batch(application.worker(UNLUCKY), [1], slot=1)
    assert error_in(failed) is not None  # what it has committed is not in its state
    application.clock.sleep(1.0)
    application.batch(application.worker("third"), [2], slot=0)
    assert application.counts == [1, 2, 3]


def test_an_attempt_that_was_overtaken_does_not_set_positions_back() -> None:
    application = Application("at_least_once")
    late = application.worker("late")

    def stalling() -> Iterator[Row]:
        yield rows([0, 1])
        application.batch(application.worker("next", Host("elsewhere")), [0, 1, 2, 3])

    with pytest.raises(RetryLater, match="Another attempt of slot 0 has committed"):
        Batch(late, 0).run(stalling())
    committed = application.broker.group("app").offsets[IN]
    assert committed.offset == 4


def test_an_attempt_that_waited_for_the_state_reads_its_positions_again() -> None:
    application = Application("at_least_once")
    late = application.worker("late")

    def waiting() -> Iterator[Row]:
        application.batch(application.worker("next"), [0, 1, 2, 3])
        yield rows([0, 1])

    with pytest.raises(RetryLater, match="Another attempt of task 0_0 has committed"):
        Batch(late, 0).run(waiting())
    assert application.counts == [1, 2, 3, 4]


def producer_of(application: Application) -> int:
    return next(iter(application.broker.group("app").pending))
