"""Exactly once, when a broker is away or a worker sleeps; and how that is found out."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Partition

from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.embedded import EmbeddedKafka
from tests.chaos.checker import Checker
from tests.chaos.evidence import gather
from tests.chaos.faults import Act, Fault
from tests.chaos.load import Feed
from tests.chaos.runner import Run, fresh_load
from tests.chaos.simulation import Simulation


def test_what_is_gathered_is_what_was_committed(embedded_kafka: EmbeddedKafka) -> None:
    """An exact run, by an engine in memory, written to a real broker: with a transaction that was
    aborted between any two that weren't."""
    given = fresh_load(seed=1).upto(300)
    servers, pipeline = embedded_kafka.bootstrap_servers, given.pipeline
    simulation = Simulation(given, seed=1, cached=False)
    exact = simulation.run()
    topics = [*pipeline.outputs, *pipeline.repartitions, *pipeline.changelogs.values()]
    for topic in (*pipeline.inputs, *topics):
        embedded_kafka.create_topic(topic, pipeline.partitions)
    feed = Feed(given, servers)
    feed.more(given.clicks)
    assert feed.end() == given
    written = [
        record for log in simulation.log.values() for record in log if record.topic in topics
    ]
    ends = write_in_transactions(servers, written)
    positions = {one: ends.get(one, offset) for one, offset in exact.positions.items()}
    commit(servers, pipeline.application_id, positions)

    gathered = gather(servers, pipeline)
    assert Checker(given).check(gathered) == []
    assert {one: list(map(content, log)) for one, log in gathered.logs.items() if log} == {
        one: list(map(content, log)) for one, log in exact.logs.items() if log
    }
    # A position one too low, in a topic whose end is a mark and not a record.
    [partition] = [one for one in positions if one == TopicPartition(pipeline.repartitions[0], 0)]
    commit(servers, pipeline.application_id, {partition: positions[partition] - 3})
    [difference] = Checker(given).check(gather(servers, pipeline))
    assert difference.startswith(f"{partition}@")


def content(record: ConsumerRecord) -> object:
    return record.key, record.value, record.timestamp


def write_in_transactions(
    servers: str, records: Iterable[ConsumerRecord]
) -> dict[TopicPartition, int]:
    """Gives the offset after the last committed record of each partition."""
    ends: dict[TopicPartition, int] = {}
    producer = Producer({"bootstrap.servers": servers, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions()
    waiting = list(records)
    size = len(waiting) // 5 + 1

    def note(error: object, message: object) -> None:
        assert error is None
        partition = TopicPartition(message.topic(), message.partition())  # type: ignore[attr-defined]
        ends[partition] = message.offset() + 1  # type: ignore[attr-defined]

    for start in range(0, len(waiting), size):
        for committed in (False, True):
            producer.begin_transaction()
            for one in waiting[start : start + size]:
                producer.produce(
                    one.topic,
                    one.value,
                    one.key,
                    one.partition,
                    timestamp=one.timestamp,
                    on_delivery=note if committed else None,
                )
                producer.poll(0)
            producer.flush()
            if committed:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    return ends


def commit(servers: str, group: str, positions: dict[TopicPartition, int]) -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    offsets = [Partition(*one, offset) for one, offset in positions.items()]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


def test_the_broker_away_for_half_a_minute(tmp_path: Path) -> None:
    with (
        EmbeddedKafka(tmp_path / "kafka") as kafka,
        Run(kafka, tmp_path, fresh_load(seed=14)) as run,
    ):
        run.plan.add([Fault("processed", Act.STOP, skip=4)])
        run.start()
        run.wait(lambda: bool(run.plan.stopped()), "a batch to interrupt")
        kafka.stop_broker(1)
        for pid in run.plan.stopped():
            run.plan.go_on(pid)
        time.sleep(30)
        kafka.start_broker(1)
        run.finish()
        assert run.driver.starts == 1


def test_a_worker_stopped_past_the_timeout(embedded_kafka: EmbeddedKafka, tmp_path: Path) -> None:
    """Its transaction is aborted meanwhile, and nobody took its place."""
    settings = {"producer.transaction.timeout.ms": 5000}
    with Run(embedded_kafka, tmp_path, fresh_load(seed=15), settings=settings) as run:
        run.plan.add([Fault("processed", Act.STOP, skip=4)])
        run.start()
        run.wait(lambda: bool(run.plan.stopped()), "a worker to stop")
        time.sleep(20)
        for pid in run.plan.stopped():
            run.plan.go_on(pid)
        run.wait_for_clicks(300)
        run.finish()
