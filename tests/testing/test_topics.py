"""Typed topics of the test driver."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from headrace import ArgumentError, Headers, Record, StateError, StreamsBuilder, serdes
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver

TEXT = serdes.string()
SECOND = timedelta(seconds=1)


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).to("out")
    with TopologyTestDriver(builder.build(), wall_clock_start_ms=5_000) as driver:
        yield driver


@pytest.fixture
def into(driver: TopologyTestDriver) -> TestInputTopic[str, str]:
    return driver.input_topic("in", TEXT, TEXT)


@pytest.fixture
def out(driver: TopologyTestDriver) -> TestOutputTopic[str, str]:
    return driver.output_topic("out", TEXT, TEXT)


def times(out: TestOutputTopic[str, str]) -> list[int]:
    return [record.timestamp for record in out.read_records()]


def test_a_record_without_a_timestamp_gets_the_time_of_the_clock(
    into: TestInputTopic[str, str], out: TestOutputTopic[str, str]
) -> None:
    into.pipe("a", "1")
    into.advance_time(SECOND)
    into.pipe_value("2")
    assert out.read_records() == [Record("a", "1", 5_000), Record(None, "2", 6_000)]
    with pytest.raises(ArgumentError, match="backwards"):
        into.advance_time(-SECOND)


def test_the_time_of_a_topic_begins_and_moves_as_given(
    driver: TopologyTestDriver, out: TestOutputTopic[str, str]
) -> None:
    start = datetime(1970, 1, 1, 0, 0, 7, tzinfo=UTC)
    into = driver.input_topic("in", TEXT, TEXT, start=start, advance=SECOND)
    into.pipe_values(["a", "b"])
    into.pipe("k", "c", start)
    assert times(out) == [7_000, 8_000, 7_000]
    driver.input_topic("in", TEXT, TEXT, start=3).pipe("k", "d")
    assert times(out) == [3]


def test_records_keep_their_headers(
    into: TestInputTopic[str, str], out: TestOutputTopic[str, str]
) -> None:
    records = [Record("a", "1", 1, Headers([("h", b"x")])), Record("b", "2", 2)]
    into.pipe_records(records)
    assert out.read_records() == records


def test_pairs_with_given_times(
    into: TestInputTopic[str, str], out: TestOutputTopic[str, str]
) -> None:
    into.pipe_key_values([("a", "1"), ("b", None)], start=10, advance=SECOND)
    assert out.read_key_values() == [("a", "1"), ("b", None)]
    into.pipe_key_values({"a": "1", "b": "2"}, start=20)
    assert times(out) == [20, 20]


def test_reading_one_by_one_and_all(
    into: TestInputTopic[str, str], out: TestOutputTopic[str, str]
) -> None:
    assert out.is_empty
    into.pipe_key_values([("a", "1"), ("b", "2"), ("a", "3"), ("a", "4"), ("b", "5")])
    assert len(out) == 5
    assert out.read_value() == "1"
    assert out.read_key_value() == ("b", "2")
    assert out.read_map() == {"a": "4", "b": "5"}
    assert out.read_values() == []
    with pytest.raises(StateError, match="Topics written to so far: out"):
        out.read_record()
