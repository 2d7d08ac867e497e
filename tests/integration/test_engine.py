"""Applications on a real Kafka and a real Spark."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import Counter
from datetime import timedelta
from typing import Any

import orjson
import pytest

from headrace import (
    JoinWindows,
    KafkaStreams,
    MissingTopicError,
    ProcessingError,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    State,
    StateRestoreListener,
    StreamsBuilder,
    StreamThreadExceptionResponse,
    Topology,
    TopologyError,
    handlers,
    serdes,
)
from headrace.core.record import TopicPartition
from headrace.spark import slot_rows
from tests.integration.applications import Cluster, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = serdes.string()
NUMBER = serdes.long()


def number(message: Any) -> int:
    return int.from_bytes(message.value(), "big")


def word_count(source: str, target: str) -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream(source, key=TEXT, value=TEXT)
        .flat_map_values(str.split)
        .group_by(lambda _, word: word, key=TEXT, value=TEXT)
        .count("words")
        .to_stream()
        .to(target, key=TEXT, value=NUMBER)
    )
    return builder.build()


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_words_are_counted_through_a_repartition_topic(
    cluster: Cluster, name: str, guarantee: str
) -> None:
    lines, counts = f"{name}.lines", f"{name}.counts"
    cluster.kafka.create_topic(lines, 3)
    cluster.kafka.create_topic(counts, 2)
    cluster.send(lines, [(str(i).encode(), b"a b c" if i % 2 else b"a b") for i in range(100)])
    streams = cluster.application(word_count(lines, counts), name, processing_guarantee=guarantee)
    with streams:
        wait_until(lambda: total(cluster, counts) == {b"a": 100, b"b": 100, b"c": 50}, "counts")
        wait_until(lambda: streams.status().lag == 0, "all to be read")
    assert streams.state is State.NOT_RUNNING


def total(cluster: Cluster, topic: str) -> dict[bytes, int]:
    return {message.key(): number(message) for message in cluster.read(topic, 1, 5)}


def test_it_goes_on_where_it_stopped_with_or_without_its_state(cluster: Cluster, name: str) -> None:
    lines, counts = f"{name}.lines", f"{name}.counts"
    for topic in (lines, counts):
        cluster.kafka.create_topic(topic, 2)
    listener = Restored()
    for expected in (1, 2, 3):
        cluster.send(lines, [(b"k", b"x y")])
        if expected == 3:
            shutil.rmtree(cluster.state_dir)
        streams = cluster.application(word_count(lines, counts), name)
        streams.set_global_state_restore_listener(listener)
        with streams:
            wait_for_count(cluster, counts, expected, streams)
    # Only without a local state is a store read back from its changelog.
    assert listener.restored["words"] == 4
    assert [number(m) for m in cluster.read(counts, 6) if m.key() == b"x"] == [1, 2, 3]


def test_state_is_on_the_disk_after_a_clean_stop(cluster: Cluster, name: str) -> None:
    lines, counts = f"{name}.lines", f"{name}.counts"
    for topic in (lines, counts):
        cluster.kafka.create_topic(topic, 2)
    cluster.send(lines, [(b"k", b"x y")])
    with cluster.application(word_count(lines, counts), name) as streams:
        wait_for_count(cluster, counts, 1, streams)
    locks = sorted((cluster.state_dir / name).glob("*/.lock"))
    assert len(locks) >= 2
    for lock in locks:
        left = orjson.loads(lock.read_bytes())
        assert left["busy"] is False
        assert left["unsynced_boot"] is None, lock


def test_processes_are_kept_while_nothing_comes(cluster: Cluster, name: str) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic, 1)
    builder = StreamsBuilder()
    processes = builder.stream(source, key=TEXT, value=TEXT).map_values(lambda _: str(os.getpid()))
    processes.to(target, key=TEXT, value=TEXT)
    with cluster.application(builder.build(), name):
        cluster.send(source, [(b"k", b"v")])
        (first,) = cluster.read(target, 1)
        time.sleep(75)  # Spark ends what was idle for 60
        cluster.send(source, [(b"k", b"v")])
        later = cluster.read(target, 2)[1]
    assert later.value() == first.value()


def wait_for_count(cluster: Cluster, topic: str, expected: int, streams: KafkaStreams) -> None:
    wait_until(lambda: total(cluster, topic).get(b"x") == expected, "the count", streams)


class Restored(StateRestoreListener):
    def __init__(self) -> None:
        self.restored: Counter[str] = Counter()

    def on_restore_end(self, partition: TopicPartition, store: str, records: int) -> None:
        self.restored[store] += records


def test_keys_timestamps_and_headers_pass_through(cluster: Cluster, name: str) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic, 1)
    cluster.send(source, [(None, b"v", 1_000_000, [("h", b"1"), ("h", None)]), (b"k", None, 5)])
    builder = StreamsBuilder()
    builder.stream(source, key=serdes.bytes_(), value=serdes.bytes_()).to(target)
    with cluster.application(builder.build(), name):
        messages = cluster.read(target, 2)
    assert [(m.key(), m.value(), m.timestamp()[1], m.headers()) for m in messages] == [
        (None, b"v", 1_000_000, [("h", b"1"), ("h", None)]),
        (b"k", None, 5, None),
    ]


def explode(value: str) -> str:
    if value == "poison":
        raise ValueError("this can't be eaten")
    return value


def eater(source: str, target: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(source, key=TEXT, value=TEXT).map_values(explode, name="eat").to(
        target, value=TEXT
    )
    return builder.build()


def test_a_function_that_raises_ends_it_and_nothing_is_lost(cluster: Cluster, name: str) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic, 1)
    cluster.send(source, [(b"k", b"1"), (b"k", b"poison"), (b"k", b"2")])
    streams = cluster.application(eater(source, target), name)
    with pytest.raises(ProcessingError, match=rf"eat failed at {source}-0@1, key 'k'") as error:
        streams.run()
    assert "this can't be eaten" in str(error.value.__cause__)
    assert 'raise ValueError("this can' in str(error.value.__cause__)
    assert streams.state is State.ERROR
    assert cluster.read(target, 0, 1) == []

    again = cluster.application(
        eater(source, target),
        name,
        processing_exception_handler=handlers.log_and_continue,
        errors_dead_letter_queue_topic_name=f"{name}.dead",
    )
    cluster.kafka.create_topic(f"{name}.dead", 1)
    with again:
        assert [m.value() for m in cluster.read(target, 2)] == [b"1", b"2"]
        assert [m.value() for m in cluster.read(f"{name}.dead", 1)] == [b"poison"]


def test_a_thread_can_be_replaced_after_an_error(cluster: Cluster, name: str) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic, 1)
    cluster.send(source, [(b"k", b"poison")])
    seen: list[Exception] = []

    def decide(error: Exception) -> StreamThreadExceptionResponse:
        seen.append(error)
        if len(seen) < 3:
            return StreamThreadExceptionResponse.REPLACE_THREAD
        return StreamThreadExceptionResponse.SHUTDOWN_CLIENT

    streams = cluster.application(eater(source, target), name)
    streams.set_uncaught_exception_handler(decide)
    with pytest.raises(ProcessingError):
        streams.run()
    assert len(seen) == 3


def test_a_global_table_is_there_before_the_first_record(cluster: Cluster, name: str) -> None:
    orders, users, target = (f"{name}.{role}" for role in ("orders", "users", "out"))
    cluster.kafka.create_topic(orders, 2)
    cluster.kafka.create_topic(users, 3)
    cluster.kafka.create_topic(target, 1)
    cluster.send(users, [(str(i).encode(), f"user {i}".encode()) for i in range(20)])
    cluster.send(orders, [(f"order {i}".encode(), str(i).encode()) for i in range(20)])
    builder = StreamsBuilder()
    names = builder.global_table(users, key=TEXT, value=TEXT)
    (
        builder.stream(orders, key=TEXT, value=TEXT)
        .join(names, lambda user, title: f"{user}={title}", key_selector=lambda _, user: user)
        .to(target, value=TEXT)
    )
    with cluster.application(builder.build(), name) as streams:
        found = {message.value() for message in cluster.read(target, 20)}
        assert found == {f"{i}=user {i}".encode() for i in range(20)}
        cluster.send(users, [(b"7", b"somebody else")])
        cluster.send(orders, [(b"order", b"7")])
        wait_until(
            lambda: b"7=somebody else" in {m.value() for m in cluster.read(target, 21, 5)},
            "the new name",
            streams,
        )


class Ticker(Processor[str, str, str, str]):
    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        context.schedule(timedelta(seconds=1), PunctuationType.WALL_CLOCK_TIME, self.tick)

    def tick(self, timestamp: int) -> None:
        self.context.forward(Record("tick", "tock", timestamp))

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)


class Idler(Ticker):
    """Might schedule something, but doesn't."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        Processor.init(self, context)


@pytest.mark.parametrize("most_sources", [16, 0])
def test_the_wall_clock_ticks_without_input(
    cluster: Cluster, name: str, monkeypatch: pytest.MonkeyPatch, most_sources: int
) -> None:
    # Without sources of their own, slots have their rows by an exchange.
    monkeypatch.setattr(slot_rows, "_MOST_SOURCES", most_sources)
    source, target = f"{name}.in", f"{name}.out"
    cluster.kafka.create_topic(source, 2)
    cluster.kafka.create_topic(target, 1)
    topology = Topology()
    topology.add_source("source", source, key=TEXT, value=TEXT)
    topology.add_processor("ticker", Ticker, "source")
    topology.add_sink("sink", target, "ticker", key=TEXT, value=TEXT)
    with cluster.application(topology, name):
        # Two tasks, a tick of each every second.
        messages = cluster.read(target, 6)
        cluster.send(source, [(b"a", b"in"), (b"b", b"in")])
        assert (b"a", b"in") in {(m.key(), m.value()) for m in cluster.read(target, 10)}
    assert {(m.key(), m.value()) for m in messages} == {(b"tick", b"tock")}


def test_an_application_that_schedules_nothing_rests(cluster: Cluster, name: str) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic, 1)
    topology = Topology()
    topology.add_source("source", source, key=TEXT, value=TEXT)
    topology.add_processor("idler", Idler, "source")
    topology.add_sink("sink", target, "idler", key=TEXT, value=TEXT)
    with cluster.application(topology, name) as streams:
        before = streams.status().batches
        time.sleep(3)
        # Ticks would have come every second.
        assert streams.status().batches <= before + 1
        cluster.send(source, [(b"k", b"v")])
        assert [m.value() for m in cluster.read(target, 1)] == [b"v"]


def test_a_pattern_reads_topics_that_come_later(cluster: Cluster, name: str) -> None:
    target = f"out.{name}"
    cluster.kafka.create_topic(target, 1)
    cluster.kafka.create_topic(f"{name}.a", 1)
    cluster.send(f"{name}.a", [(b"k", b"1")])
    builder = StreamsBuilder()
    builder.stream(re.compile(rf"{name}\..*"), key=TEXT, value=TEXT).to(target)
    with cluster.application(builder.build(), name) as streams:
        assert [m.value() for m in cluster.read(target, 1)] == [b"1"]
        cluster.kafka.create_topic(f"{name}.b", 2)
        cluster.send(f"{name}.b", [(b"k", b"2")])
        wait_until(lambda: len(cluster.read(target, 2, 2)) == 2, "the new topic", streams)


def test_pause_and_resume(cluster: Cluster, name: str) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic, 1)
    with cluster.application(eater(source, target), name) as streams:
        cluster.send(source, [(b"k", b"1")])
        assert len(cluster.read(target, 1)) == 1
        streams.pause()
        assert streams.is_paused
        time.sleep(1)
        cluster.send(source, [(b"k", b"2")])
        assert len(cluster.read(target, 2, 2)) == 1
        streams.resume()
        assert len(cluster.read(target, 2)) == 2


def test_a_join_takes_records_in_the_order_of_time(cluster: Cluster, name: str) -> None:
    left, right, target = (f"{name}.{role}" for role in ("left", "right", "out"))
    for topic in (left, right, target):
        cluster.kafka.create_topic(topic, 2)
    keys = [str(i).encode() for i in range(10)]
    cluster.send(left, [(key, b"l", 1_000 + 10 * t) for t in range(50) for key in keys])
    cluster.send(right, [(key, b"r", 1_005 + 10 * t) for t in range(50) for key in keys])
    builder = StreamsBuilder()
    stream = builder.stream(left, key=TEXT, value=TEXT)
    other = builder.stream(right, key=TEXT, value=TEXT)
    windows = JoinWindows.of(timedelta(milliseconds=5), grace=timedelta(0))
    stream.join(other, lambda a, b: a + b, windows, key=TEXT, value=TEXT, other_value=TEXT).to(
        target, value=TEXT
    )
    # Small batches: what is left of one topic must wait for the other.
    streams = cluster.application(builder.build(), name, max_batch_records=100)
    with streams:
        found = cluster.read(target, 990)
    # Each right record joins the left ones 5 ms before and after it; nothing came too late.
    assert Counter(m.key() for m in found) == dict.fromkeys(keys, 99)


def test_topics_that_are_missing_or_do_not_fit(cluster: Cluster, name: str) -> None:
    with pytest.raises(MissingTopicError, match=f"{name}.nowhere"):
        cluster.application(word_count(f"{name}.nowhere", "x"), name).start()
    cluster.kafka.create_topic(f"{name}.two", 2)
    cluster.kafka.create_topic(f"{name}.three", 3)
    builder = StreamsBuilder()
    table = builder.table(f"{name}.three", key=TEXT, value=TEXT)
    builder.stream(f"{name}.two", key=TEXT, value=TEXT).join(table, max)
    with pytest.raises(TopologyError, match=f"{name}.three has 3, {name}.two has 2"):
        cluster.application(builder.build(), name).start()
