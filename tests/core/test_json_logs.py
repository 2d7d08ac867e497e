"""Logs as JSON."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from headrace import JsonFormatter, StreamsBuilder, handlers, serdes
from headrace.core.json_logs import log_as_json
from headrace.core.record import ConsumerRecord
from headrace.testing import TopologyTestDriver

TEXT = serdes.string()


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("headrace")
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_dropped_record_is_named(logged: io.StringIO) -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).group_by_key().count("counts")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe_key_values([("k", "v"), (None, "v")])
    (line,) = lines(logged)
    where = {"task_id": "0_0", "topic": "in", "partition": 0, "offset": 1}
    assert where.items() <= line.items()
    assert line["level"] == "WARNING"
    assert line["logger"] == "headrace.task"
    assert line["message"].startswith("Skipping record at in-0@1")
    assert line["time"].endswith("Z")


@pytest.mark.parametrize("wrong", ["no JSON", "-1"])
def test_a_record_that_is_not_let_in_is_named_and_not_the_one_before(
    logged: io.StringIO, wrong: str
) -> None:
    """It can't be read, or its timestamp is negative."""
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=serdes.json(), timestamp_extractor=value_of).to("out")
    config = {"deserialization.exception.handler": handlers.log_and_continue}
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe_key_values([("k", "5"), ("k", wrong)])
    *_, dropped = lines(logged)
    assert dropped["message"].startswith("Skipping record at in-0@1: ")
    assert (dropped["topic"], dropped["partition"], dropped["offset"]) == ("in", 0, 1)


def value_of(record: ConsumerRecord, partition_time: int) -> int:
    return int(record.value)


def test_a_failure_names_its_node(logged: io.StringIO) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.map_values(int, name="numbers").foreach(lambda key, number: None)
    config = {"processing.exception.handler": handlers.log_and_continue}
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "no number")
    failed, dropped = lines(logged)
    assert (failed["node"], failed["stage"], failed["offset"]) == ("numbers", "process", 0)
    assert dropped["task_id"] == failed["task_id"] == "0_0"


def test_an_error_and_odd_values() -> None:
    try:
        raise ValueError("line 1\nline 2")
    except ValueError as error:
        exc_info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("headrace", logging.ERROR, "f.py", 1, "é %s", ("ü",), exc_info)
    record.extra_thing = {1, 2}.__class__
    text = JsonFormatter().format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert line["message"] == "é ü"
    assert line["error"]["kind"] == "ValueError"
    assert "test_json_logs.py" in line["error"]["trace"]
    assert line["extra_thing"] == "<class 'set'>"
    assert "exc_info" not in line


def test_a_process_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("headrace")
    before, propagate = logger.handlers[:], logger.propagate
    try:
        log_as_json()
        log_as_json()
        logger.warning("once", extra={"task_id": "0_0"})
        (line,) = capsys.readouterr().err.splitlines()
        assert json.loads(line)["task_id"] == "0_0"
    finally:
        logger.handlers[:], logger.propagate = before, propagate
