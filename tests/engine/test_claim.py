"""The claim: of all runs of an application, the last to start counts, and only it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from headrace import StreamsBuilder, Topology, serdes
from headrace.core.config import StreamsConfig
from headrace.core.errors import BrokerError, FencedError, StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.batch import Batch
from headrace.engine.chunk import Chunk
from headrace.engine.launch import Launch
from headrace.engine.plan import Plan
from headrace.engine.worker import Worker
from headrace.kafka.port import Position, SlotProducer, TopicSpec
from headrace.runtime.columns import Columns
from headrace.state.directory import StateDirectory
from tests.engine.slots import Driver
from tests.simulation.broker import Broker
from tests.simulation.clients import ModelKafka
from tests.simulation.clock import VirtualClock
from tests.simulation.network import GoodNetwork

T = TypeVar("T")
TEXT = serdes.string()

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
HOUR_S = 3600.0
GUARANTEES = ("exactly_once_v2", "at_least_once")


class Crash(Exception):
    """A process ends."""


class Disturbed(GoodNetwork):
    """Does something before, or after, the request of a number."""

    def __init__(self, broker: Broker, clock: VirtualClock) -> None:
        super().__init__(broker, clock)
        self.requests = 0
        self.before: tuple[int, Callable[[], None]] | None = None
        self.after: tuple[int, Callable[[], None]] | None = None

    def call(self, what: str, request: Callable[[], T]) -> T:
        self.requests += 1
        if self.before is not None and self.before[0] == self.requests:
            self.before[1]()
        answer = super().call(what, request)
        if self.after is not None and self.after[0] == self.requests:
            self.after[1]()
        return answer


class Cluster:
    """A broker with two topics of ten records, and instances of one application."""

    def __init__(self, marker_delay_s: float = 0.0) -> None:
        self.clock = VirtualClock()
        self.broker = Broker(self.clock, lambda: marker_delay_s)
        self.broker.create([TopicSpec("a", 1), TopicSpec("b", 1), TopicSpec("out", 1)])
        for part in (A, B):
            self.broker.append(part, [(b"k", b"v", 1, ())] * 10)

    def instance(self, topology: Topology, *, threads: int = 1, **settings: Any) -> Instance:
        return Instance(self, topology, {"num.stream.threads": threads, **_dotted(settings)})

    def positions(self) -> dict[TopicPartition, int]:
        self.clock.sleep(1)
        self.broker.settle()
        found = self.broker.committed("app", [A, B])
        return {part: one.offset for part, one in found.items()}


class Instance:
    """A driver."""

    def __init__(self, cluster: Cluster, topology: Topology, settings: dict[str, Any]) -> None:
        config = StreamsConfig(
            {
                "application.id": "app",
                "bootstrap.servers": "a:1",
                "processing.guarantee": "exactly_once_v2",
                **settings,
            }
        )
        self.network = Disturbed(cluster.broker, cluster.clock)
        once = config["processing.guarantee"] == "exactly_once_v2"
        self.kafka = ModelKafka(cluster.broker, self.network, "app", exactly_once=once)
        self.launch = Launch(topology, config, self.kafka, f"host/{id(self)}")
        self.plan: Plan | None = None

    def start(self) -> dict[TopicPartition, int]:
        """A query begins."""
        self.plan = self.launch.plan(cores=8)
        return self.launch.claim(self.plan)

    def worker(self, slot: int = 0) -> SlotProducer:
        """Takes a slot as workers do: the producer first, then the claim is looked at."""
        producer = self.kafka.producer(slot)
        producer.open()
        self.launch.check_claim()
        return producer

    def process(self, producer: SlotProducer, **positions: int) -> None:
        """Commits a batch that has brought it to these positions of the topics."""
        found = {TopicPartition(topic, 0): Position(at) for topic, at in positions.items()}
        producer.commit(self.kafka.group.group_metadata(), found)


def _dotted(settings: dict[str, Any]) -> dict[str, Any]:
    return {key.replace("_", "."): value for key, value in settings.items()}


def reading(*topics: str) -> Topology:
    builder = StreamsBuilder()
    for topic in topics:
        builder.stream(topic, key=TEXT, value=TEXT).to("out")
    return builder.build()


def counting(topic: str = "a") -> Topology:
    builder = StreamsBuilder()
    builder.stream(topic, key=TEXT, value=TEXT).group_by_key().count("counts")
    return builder.build()


@pytest.fixture(params=[0.0, 0.3], ids=["markers at once", "markers late"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    return Cluster(request.param)


@contextmanager
def fenced(who: str | None = None) -> Iterator[None]:
    with pytest.raises(FencedError, match=who):
        yield


# One after the other


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_redeploy_with_another_first_source_shuts_the_earlier_run_out(
    cluster: Cluster, guarantee: str
) -> None:
    old = cluster.instance(reading("b"), processing_guarantee=guarantee)
    old.start()
    old.launch.check_claim()
    new = cluster.instance(reading("a", "b"), processing_guarantee=guarantee)
    new.start()
    with fenced("has started and took over"):
        old.launch.check_claim()
    new.launch.check_claim()


def test_a_worker_of_the_earlier_run_can_neither_commit_nor_take_its_slot_back(
    cluster: Cluster,
) -> None:
    old = cluster.instance(reading("b"))
    old.start()
    at_work = old.worker()
    new = cluster.instance(reading("a", "b"))
    assert new.start() == {A: 0, B: 0}
    with fenced():
        old.process(at_work, b=5)
    with fenced("has started and took over"):
        old.worker()
    new.process(new.worker(), a=1, b=1)
    assert cluster.positions() == {A: 1, B: 1}


def test_an_older_run_does_not_take_the_application_back_when_its_query_begins_anew(
    cluster: Cluster,
) -> None:
    old = cluster.instance(reading("a"))
    old.start()
    new = cluster.instance(reading("a"))
    new.start()
    new.process(new.worker(), a=7)
    cluster.broker.grow("a", 2)
    with fenced("has started and took over"):
        old.start()
    new.launch.check_claim()
    assert new.start() == {A: 7, TopicPartition("a", 1): 0}


def test_a_run_renews_its_own_claim(cluster: Cluster) -> None:
    one = cluster.instance(reading("a"))
    one.start()
    one.process(one.worker(), a=3)
    assert one.start() == {A: 3}
    one.launch.check_claim()


@pytest.mark.parametrize("dies", [False, True], ids=["", "one that died in between"])
def test_all_slots_that_any_earlier_run_had_are_fenced(cluster: Cluster, dies: bool) -> None:
    cluster.broker.grow("a", 4)
    wide = cluster.instance(reading("a"), threads=4)
    wide.start()
    workers = [wide.worker(slot) for slot in range(4)]
    if dies:
        between = cluster.instance(reading("b"))
        with pytest.raises(Crash):
            _crash_after_claiming(cluster, between)
    cluster.instance(reading("b")).start()
    for producer in workers:
        with fenced():
            wide.process(producer, a=5)


def test_slots_of_exactly_once_are_fenced_by_at_least_once(cluster: Cluster) -> None:
    old = cluster.instance(reading("a"))
    old.start()
    at_work = old.worker()
    cluster.instance(reading("a"), processing_guarantee="at_least_once").start()
    with fenced():
        old.process(at_work, a=5)


def test_a_claim_that_was_deleted_is_nobodys(cluster: Cluster) -> None:
    one = cluster.instance(reading("a"))
    one.start()
    cluster.broker.delete("app-headrace")
    cluster.broker.create([TopicSpec("app-headrace", 1)])
    with fenced("topic app-headrace was deleted"):
        one.launch.check_claim()


# At the same time


def _requests_of_a_start(topology: Topology) -> int:
    one = Cluster().instance(topology)
    one.start()
    return one.network.requests


@pytest.mark.parametrize("number", range(1, _requests_of_a_start(reading("a")) + 1))
@pytest.mark.parametrize("topics", ["a", "ab"])
def test_a_starter_that_stalls_anywhere_rewinds_nobody(
    cluster: Cluster, topics: str, number: int
) -> None:
    first = cluster.instance(reading("a"))
    first.start()
    first.process(first.worker(), a=1)
    slow, fast = cluster.instance(reading("a")), cluster.instance(reading(*topics))

    def overtake() -> None:
        fast.start()
        fast.process(fast.worker(), a=8)

    slow.network.before = (number, overtake)
    try:
        slow.start()
        slow.launch.check_claim()
        slow_counts = True
    except FencedError:
        slow_counts = False
    assert cluster.positions()[A] == 8
    # One of them has it, and only one.
    with fenced():
        (fast if slow_counts else slow).launch.check_claim()
    (slow if slow_counts else fast).launch.check_claim()


@pytest.mark.parametrize("number", range(1, _requests_of_a_start(reading("a")) + 1))
def test_a_starter_that_dies_anywhere_leaves_nothing_in_the_way(
    cluster: Cluster, number: int
) -> None:
    dying = cluster.instance(counting("b"))
    with pytest.raises(Crash):
        _crash(dying, number)
    one = cluster.instance(counting("b"))
    assert one.start() == {B: 0}
    one.launch.check_claim()


@pytest.mark.parametrize("number", range(1, _requests_of_a_start(reading("a")) + 1))
def test_a_start_whose_outcome_is_not_known_is_tried_again(cluster: Cluster, number: int) -> None:
    cluster.instance(reading("a")).start()
    one = cluster.instance(reading("a"))

    def lose_the_answer() -> None:
        raise BrokerError("no answer", retriable=True)

    one.network.after = (number, lose_the_answer)
    with pytest.raises(BrokerError):
        one.start()
    assert one.start() == {A: 0}
    one.launch.check_claim()


def test_a_second_try_does_not_take_it_from_who_came_in_between(cluster: Cluster) -> None:
    one, other = cluster.instance(reading("a")), cluster.instance(reading("a"))
    with pytest.raises(Crash):
        _crash_after_claiming(cluster, one)
    other.start()
    with fenced("has started and took over"):
        one.start()
    other.launch.check_claim()


def _crash(instance: Instance, number: int) -> None:
    def crash() -> None:
        raise Crash

    instance.network.before = (number, crash)
    instance.start()


def _crash_after_claiming(cluster: Cluster, instance: Instance) -> None:
    """When the claim is written, and nobody fenced yet."""
    at = TopicPartition("app-headrace", 0)
    log = cluster.broker.log(at) if "app-headrace" in cluster.broker.topics() else None
    before = 0 if log is None else log.stable_end
    call = instance.network.call

    def watched(what: str, request: Callable[[], T]) -> T:
        if what == "fence" and before < cluster.broker.log(at).stable_end:
            raise Crash
        return call(what, request)

    instance.network.call = watched  # type: ignore[method-assign]
    try:
        instance.start()
    finally:
        instance.network.call = call  # type: ignore[method-assign]


# Positions that are lost


@pytest.mark.parametrize("topology", [reading("a", "b"), counting()], ids=["stateless", "stateful"])
def test_positions_that_kafka_forgot_are_an_error(cluster: Cluster, topology: Topology) -> None:
    one = cluster.instance(topology)
    one.start()
    one.process(one.worker(), a=7)
    assert cluster.positions()[A] == 7
    cluster.clock.sleep(8 * 24 * HOUR_S)
    cluster.broker.expire_offsets(7 * 24 * HOUR_S)
    with pytest.raises(
        StreamsError, match=r"a-0 has no position.*`headrace reset`.*lost\.positions"
    ):
        cluster.instance(topology).start()
    begun = cluster.instance(topology, lost_positions="reset").start()
    assert begun[A] == 0


def test_an_error_over_positions_ends_nobody(cluster: Cluster) -> None:
    one = cluster.instance(reading("a"))
    one.start()
    at_work = one.worker()
    cluster.broker.delete_group("app")
    with pytest.raises(StreamsError, match="a-0 has no position any more"):
        cluster.instance(reading("a")).start()
    one.launch.check_claim()
    one.process(at_work, a=3)


def test_a_partition_that_is_new_begins_by_the_policy(cluster: Cluster) -> None:
    one = cluster.instance(reading("a"))
    one.start()
    one.process(one.worker(), a=7)
    cluster.broker.grow("a", 2)
    assert cluster.instance(reading("a", "b")).start() == {A: 7, TopicPartition("a", 1): 0, B: 0}


def test_a_topic_that_was_created_again_is_new(cluster: Cluster) -> None:
    one = cluster.instance(reading("a"))
    one.start()
    one.process(one.worker(), a=7)
    cluster.broker.delete("a")
    cluster.broker.create([TopicSpec("a", 1)])
    assert cluster.instance(reading("a")).start() == {A: 0}


def test_records_deleted_before_they_were_read_are_an_error(cluster: Cluster) -> None:
    one = cluster.instance(reading("a"))
    one.start()
    one.process(one.worker(), a=3)
    cluster.broker.delete_records({A: 3})
    assert cluster.instance(reading("a")).start() == {A: 3}
    cluster.broker.delete_records({A: 5})
    with pytest.raises(StreamsError, match=r"a-0@3 was deleted before it was read"):
        cluster.instance(reading("a")).start()
    assert cluster.instance(reading("a"), lost_positions="reset").start() == {A: 5}


def test_a_late_commit_to_before_what_was_purged_loses_nothing(cluster: Cluster) -> None:
    builder = StreamsBuilder()
    builder.stream("a", key=TEXT, value=TEXT).repartition(name="r", partitions=1).to("out")
    given: dict[str, Any] = {"processing_guarantee": "at_least_once"}
    one = cluster.instance(builder.build(), **given)
    one.start()
    between = TopicPartition("app-r-repartition", 0)
    cluster.broker.append(between, [(b"k", b"v", 1, ())] * 5)
    late = one.worker()
    at = Position(4, metadata={"k": 1})
    one.worker().commit(one.kafka.group.group_metadata(), {between: at})
    cluster.broker.delete_records({between: 4})
    late.commit(one.kafka.group.group_metadata(), {between: Position(2)})
    assert cluster.instance(builder.build(), **given).start() == {A: 0, between: 4}


def test_a_position_within_an_open_transaction_is_not_lost(cluster: Cluster) -> None:
    given: dict[str, Any] = {"processing_guarantee": "at_least_once"}
    one = cluster.instance(reading("a"), **given)
    one.start()
    upstream = ModelKafka(cluster.broker, GoodNetwork(cluster.broker, cluster.clock), "upstream")
    writer = upstream.producer(0)
    writer.open()
    writer.send([("a", 0, b"k", b"open", 1, ())])
    one.process(one.worker(), a=11)
    assert cluster.instance(reading("a"), **given).start() == {A: 11}


def test_a_position_beyond_the_end_is_an_error(cluster: Cluster) -> None:
    one = cluster.instance(reading("a"))
    one.start()
    one.process(one.worker(), a=11)
    with pytest.raises(StreamsError, match=r"a-0@11 is not there, its log ends at 10"):
        cluster.instance(reading("a")).start()


def test_state_without_claim_and_positions_is_an_error(cluster: Cluster) -> None:
    """As an application of Kafka Streams leaves it that was stopped for long."""
    one = cluster.instance(counting())
    one.start()
    changelog = TopicPartition("app-counts-changelog", 0)
    cluster.broker.append(changelog, [(b"k", b"v", 1, ())])
    cluster.broker.delete_group("app")
    cluster.broker.delete("app-headrace")
    with pytest.raises(StreamsError, match="a-0 has no position any more"):
        cluster.instance(counting()).start()


def test_a_global_store_is_no_state_of_an_earlier_run(cluster: Cluster) -> None:
    builder = StreamsBuilder()
    table = builder.global_table("b", key=TEXT, value=TEXT)
    builder.stream("a", key=TEXT, value=TEXT).join(
        table, lambda value, other: value, key_selector=lambda key, value: key
    ).to("out")
    assert cluster.instance(builder.build()).start() == {A: 0}


# Workers


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_batch_that_was_under_way_is_not_committed(
    cluster: Cluster, tmp_path: Path, guarantee: str
) -> None:
    """Also without transactions, though no broker would refuse it then."""
    old = cluster.instance(counting(), processing_guarantee=guarantee)
    old.start()
    assert old.plan is not None
    disk = StateDirectory(tmp_path, "app")
    worker = Worker(old.plan, old.kafka, disk, Driver(), cluster.clock)
    columns = Columns([0, 1], [1, 1], [b"k", b"k"], [b"v", b"v"], None)

    def rows() -> Iterator[tuple[TopicPartition, Chunk]]:
        yield A, Chunk.of(columns)
        cluster.instance(counting(), processing_guarantee=guarantee).start()

    (report,) = Batch(worker, 0).run(rows())
    worker.close()
    assert report.failure is not None
    assert report.failure.kind == "FencedError"
    assert cluster.positions() == {A: 0}
