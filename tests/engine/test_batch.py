"""Batches: when a slot commits, how it stops, and what becomes of its errors."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import Processor, ProcessorContext, Record, StreamsBuilder, Topology, serdes
from headrace.core.record import ConsumerRecord, TaskId, TopicPartition
from headrace.engine.batch import RetryLater, Row
from headrace.engine.chunk import Chunk
from headrace.engine.report import TaskReport
from headrace.runtime.columns import Columns

from .slots import Application

TEXT = serdes.string()
JSON = serdes.json()
IN = TopicPartition("in", 0)

Make = Callable[..., Application]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Application] = []

    def start(topology: Topology, *topics: str, **config: Any) -> Application:
        made.append(Application(topology, tmp_path, *(topics or ("in", "out")), **config))
        return made[-1]

    yield start
    for application in made:
        application.close()


class Slow:
    """A function that takes so many seconds, by the clock of whoever runs it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.application: Application | None = None
        self.calls = 0

    def __call__(self, value: str) -> str:
        self.calls += 1
        if self.application is not None:
            self.application.clock.sleep(self.seconds)
        return value


def mapping(function: Callable[[str], str], **source: Any) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT, **source)
    stream.map_values(function, name="slow").to("out", key=TEXT, value=TEXT)
    return builder.build()


def slow_application(make: Make, slow: Slow, records: int, **config: Any) -> Application:
    application = slow.application = make(mapping(slow), **config)
    application.write("in", *(("k", f"v{n}", n) for n in range(records)))
    return application


def complete(reports: list[TaskReport]) -> list[TaskReport]:
    assert [report.failure for report in reports if report.failure is not None] == []
    assert all(report.is_complete for report in reports)
    return reports


def test_a_slow_function_commits_well_before_its_transaction_times_out(make: Make) -> None:
    slow = Slow(0.02)
    application = slow_application(make, slow, 1000, producer__transaction__timeout__ms=5000)
    (report,) = complete(application.batch())
    assert report.records == slow.calls == 1000
    assert application.positions() == {IN: 1000}
    assert application.read("out") == [("k", f"v{n}") for n in range(1000)]
    offsets = [progress[IN] for progress in application.driver.progress]
    assert offsets == sorted(offsets)
    assert len(offsets) >= 12


def test_a_slow_function_says_it_is_alive_all_the_time(make: Make) -> None:
    application = slow_application(make, Slow(0.02), 1000, processing__guarantee="at_least_once")
    complete(application.batch())
    assert application.driver.signs_of_life >= 200
    assert application.driver.progress


def test_a_fast_function_commits_once(make: Make) -> None:
    application = slow_application(make, Slow(0.0), 10_000)
    complete(application.batch())
    assert application.driver.progress == []
    assert application.positions() == {IN: 10_000}


def test_a_function_that_becomes_slow_is_noticed_within_a_chunk(make: Make) -> None:
    slow = Slow(0.000001)

    def later(value: str) -> str:
        if value == "v2000":
            slow.seconds = 0.05
        return slow(value)

    application = slow.application = make(mapping(later), producer__transaction__timeout__ms=10_000)
    application.write("in", *(("k", f"v{n}", n) for n in range(4000)))
    complete(application.batch())
    assert len(application.driver.progress) >= 30


def test_one_record_that_takes_longer_than_a_transaction_may_is_named(make: Make) -> None:
    slow = Slow(0.01)

    def once(value: str) -> str:
        slow.seconds = 7.0 if value == "v700" else 0.01
        return slow(value)

    application = slow.application = make(mapping(once), producer__transaction__timeout__ms=5000)
    application.write("in", *(("k", f"v{n}", n) for n in range(1000)))
    (report,) = application.batch()
    assert report.failure is not None
    assert report.failure.kind == "ProcessingError"
    assert "in-0@700" in report.failure.message
    assert "it took more than 7.0 s" in report.failure.message
    assert "transaction.timeout.ms" in report.failure.message
    assert "instance" not in report.failure.message
    assert application.positions()[IN] > 500


def test_a_transaction_that_was_open_for_too_long_is_no_other_instances_fault(
    make: Make,
) -> None:
    slow = Slow(0.0)
    application = slow_application(make, slow, 2, producer__transaction__timeout__ms=5000)

    def rows() -> Iterator[Any]:
        yield from application.rows(upto=1)
        application.clock.sleep(7)  # Spark takes its time

    with pytest.raises(RetryLater, match=r"open for 7\.0 s, longer than transaction.timeout.ms"):
        application.run(rows())
    complete(application.batch())
    assert application.read("out") == [("k", "v0"), ("k", "v1")]


def test_what_is_flushed_in_a_commit_must_fit_in_a_transaction_too(make: Make) -> None:
    slow = Slow(0.0)
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.to("out", key=TEXT, value=TEXT)  # the transaction begins with the first record
    counts = stream.group_by_key().count("counts")
    counts.to_stream().map_values(lambda count: slow(str(count))).to("out", key=TEXT, value=TEXT)
    application = slow.application = make(builder.build(), producer__transaction__timeout__ms=5000)
    slow.seconds = 0.1
    application.write("in", *((f"k{n}", "v", n) for n in range(100)))
    (report,) = application.batch()
    assert report.failure is not None
    assert "It took 10.0 s to forward the updates" in report.failure.message
    assert "statestore.cache.max.bytes" in report.failure.message


def test_much_data_is_committed_in_parts(make: Make) -> None:
    application = make(mapping(str))
    application.write("in", *(("k", "x" * 500_000, n) for n in range(200)))
    complete(application.batch(chunk=10))
    assert [progress[IN] for progress in application.driver.progress] == [70, 140]
    assert application.positions() == {IN: 200}


def test_a_processor_can_ask_for_a_commit(make: Make) -> None:
    class Asks(Processor[str, str, str, str]):
        def init(self, context: ProcessorContext[str, str]) -> None:
            self.context = context

        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record)
            if record.value == "v5":
                self.context.commit()

    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.process(Asks).to("out", key=TEXT, value=TEXT)
    application = make(builder.build())
    application.write("in", *(("k", f"v{n}", n) for n in range(100)))
    complete(application.batch())
    (asked,) = application.driver.progress
    assert 6 <= asked[IN] < 10
    assert application.positions() == {IN: 100}


def test_a_slot_that_is_asked_to_stop_commits_what_is_done_and_drops_the_rest(make: Make) -> None:
    slow = Slow(0.001)
    application = slow_application(make, slow, 10_000)
    application.driver.stops_after = 3
    (report,) = application.batch()
    assert not report.is_complete
    assert slow.calls < 500
    assert report.positions == {"in": {"0": slow.calls}}
    assert application.positions() == {IN: slow.calls}
    application.restart()
    complete(application.batch())
    assert application.read("out") == [("k", f"v{n}") for n in range(10_000)]
    assert slow.calls == 10_000


def test_a_slot_that_stops_before_its_first_task_says_so(make: Make) -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).group_by_key().count("counts")
    application = make(builder.build())
    application.write("in", *((f"k{n}", "v", n) for n in range(5000)))
    complete(application.batch())
    application.worker.close()
    state = Path(application.config["state.dir"]) / "app"
    for file in (state / "0_0").iterdir():
        file.unlink()
    application.restart()
    application.driver.stops_after = application.driver.signs_of_life + 1
    application.write("in", ("k", "v", 1))
    (report,) = application.batch()
    assert (report.task, report.is_complete, report.failure) == ("", False, None)
    assert application.positions() == {IN: 5000}
    application.restart()
    (report,) = complete(application.batch())
    assert 0 < report.restored < 5000


def by_value(record: ConsumerRecord, partition_time: int) -> int:
    return int(str(record.value))


def joined(function: Callable[[Any], Any], extractor: Any = None) -> Topology:
    """A task that reads two partitions."""
    builder = StreamsBuilder()
    left = builder.stream("a", key=TEXT, value=JSON, timestamp_extractor=extractor)
    right = builder.stream("b", key=TEXT, value=JSON, timestamp_extractor=extractor)
    left.merge(right).map_values(function).to("out", key=TEXT, value=JSON)
    return builder.build()


@pytest.mark.parametrize("extractor", [None, by_value])
def test_a_task_of_several_partitions_commits_and_stops_in_order(
    make: Make, extractor: Any
) -> None:
    slow = Slow(0.02)
    application = slow.application = make(
        joined(slow, extractor), "a", "b", "out", producer__transaction__timeout__ms=5000
    )
    application.write("a", *(("k", str(2 * n), 2 * n) for n in range(500)))
    application.write("b", *(("k", str(2 * n + 1), 2 * n + 1) for n in range(500)))
    application.driver.stops_after = 100
    (report,) = application.batch()
    assert not report.is_complete
    assert 200 < slow.calls < 600
    assert sum(application.positions().values()) == slow.calls
    assert len(application.driver.progress) >= 3
    application.restart()
    complete(application.batch())
    assert application.read("out") == [("k", str(n)) for n in range(1000)]
    assert slow.calls == 1000


def test_dead_letters_of_records_that_wait_are_sent_once(make: Make) -> None:
    """The next record of each partition is read to know its timestamp, and those before it that
    can't be read are dead letters by then."""
    slow = Slow(0.02)
    application = slow.application = make(
        joined(slow, by_value),
        "a",
        "b",
        "out",
        "dead",
        errors__dead__letter__queue__topic__name="dead",
        deserialization__exception__handler="headrace.core.handlers:log_and_continue",
        producer__transaction__timeout__ms=5000,
    )
    application.write("a", *(("k", str(n), n) for n in range(200)))
    application.write("b", ("k", b"\xff", 1), ("k", b"\xff", 2), ("k", "1000", 1000))
    application.driver.stops_after = 20
    application.batch()
    assert application.positions() == {
        TopicPartition("a", 0): slow.calls,
        TopicPartition("b", 0): 2,
    }
    application.restart()
    complete(application.batch())
    assert len(application.read("dead")) == 2


def test_rows_of_an_earlier_attempt_are_dropped(make: Make) -> None:
    slow = Slow(0.0)
    application = slow_application(make, slow, 100)
    rows = list(application.rows())
    complete(application.run(rows))
    complete(application.run(rows))
    assert slow.calls == 100


def test_tasks_are_woken_after_the_rows(make: Make) -> None:
    application = slow_application(make, Slow(0.0), 3)
    (report,) = complete(application.run([TaskId(0, 0), *application.rows()]))
    assert report.records == 3


def test_waiting_for_rows_is_measured(make: Make) -> None:
    application = slow_application(make, Slow(0.0), 8)

    def rows() -> Iterator[Any]:
        for row in application.rows(chunk=4):
            application.clock.sleep(0.5)
            yield row

    (report,) = complete(application.run(rows()))
    found = {key: values for key, _, values in report.slot_metrics}
    assert found["thread.poll-records"] == (2, 8, 4, 4)
    assert found["thread.poll"][:2] == (2, 1e9)


def test_a_marker_that_comes_late_is_not_counted(make: Make) -> None:
    """The marker of a transaction may be written after the records of the next one, if that is
    another slot's: local state that counts on it would lack a record."""
    builder = StreamsBuilder()
    counts = builder.stream("in", key=TEXT, value=TEXT).group_by_key().count("counts")
    counts.to_stream().map_values(str).to("out", key=TEXT, value=TEXT)
    application = make(builder.build(), marker_delays=(5.0, 5.0, 0.0))
    application.write("in", ("k", "v", 1))
    complete(application.batch(slot=0))
    state = Path(application.config["state.dir"]) / "app" / "0_0"
    shutil.copytree(state, state.with_name("copy"))
    application.write("in", ("k", "v", 2))
    complete(application.batch(slot=1))
    application.worker.close()
    shutil.rmtree(state)
    state.with_name("copy").rename(state)
    application.restart()
    application.write("in", ("k", "v", 3))
    complete(application.batch(slot=0))
    application.clock.sleep(60)
    application.broker.settle()
    assert [value for _, value in application.read("out")] == ["1", "2", "3"]


class Offsets(list[int]):
    """A column that can be referred to weakly."""


def test_what_is_committed_is_not_kept_to_be_measured(make: Make) -> None:
    """Records are looked at in samples, later: those must not outlive the commit."""
    application = make(mapping(str))
    value = b"x" * 500_000
    application.write("in", *(("k", value, n) for n in range(300)))
    columns: list[weakref.ref[Offsets]] = []
    kept = []

    def rows() -> Iterator[Row]:
        for first in range(0, 300, 10):
            offsets = Offsets(range(first, first + 10))
            columns.append(weakref.ref(offsets))
            yield IN, Chunk.of(Columns(offsets, offsets, [b"k"] * 10, [value] * 10))
            del offsets
            kept.append(sum(one() is not None for one in columns))

    complete(application.run(rows()))
    assert len(kept) == 30
    assert max(kept) < 15


def test_a_group_that_somebody_deleted_is_named(make: Make) -> None:
    application = make(mapping(str))
    application.write("in", ("k", "v", 1))
    rows = [*application.rows()]
    application.broker.delete_group("app")
    (report,) = application.run(rows)
    assert report.failure is not None
    assert "in-0 has no position any more" in report.failure.message
    assert "headrace reset" in report.failure.message
