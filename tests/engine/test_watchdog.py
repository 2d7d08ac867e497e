"""The watchdog for functions that don't come back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from headrace import StreamsBuilder, StreamsConfig, serdes
from headrace.core.clock import SystemClock
from headrace.core.errors import ProcessingError
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.watchdog import Watchdog
from headrace.runtime.columns import Columns
from headrace.runtime.task import StreamTask, TaskSpec

IN = TopicPartition("in", 0)
TEXT = serdes.string()


@pytest.fixture
def watchdog() -> Iterator[Watchdog]:
    watchdog = Watchdog(0.3)
    yield watchdog
    watchdog.close()


def task_of(function: Callable[[str], str]) -> StreamTask:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.map_values(function, name="ask-somebody").to("out", key=TEXT, value=TEXT)
    topology = builder.build()
    nodes = tuple(topology.nodes)
    config = StreamsConfig(
        {
            "application.id": "app",
            "processing.exception.handler": "headrace.core.handlers:log_and_continue",
        }
    )
    task = StreamTask(
        TaskSpec(TaskId(0, 0), topology, nodes, {IN: nodes[0]}, config), SystemClock()
    )
    task.start()
    return task


def wait_for_ever(value: str) -> str:
    if value == "b":
        time.sleep(600)
    return value


def loop_for_ever(value: str) -> str:
    while value == "b":
        pass
    return value


@pytest.mark.parametrize("function", [wait_for_ever, loop_for_ever])
def test_a_function_that_does_not_come_back_is_interrupted_and_named(
    watchdog: Watchdog, function: Callable[[str], str]
) -> None:
    task = task_of(function)
    rows = Columns([7, 8, 9], [1, 2, 3], [b"k"] * 3, [b"a", b"b", b"c"])
    with (
        pytest.raises(
            ProcessingError, match=r"ask-somebody is too slow at in-0@8, key 'k'"
        ) as seen,
        watchdog.watching(task.context),
    ):
        task.process_columns(IN, rows)
    assert "transaction.timeout.ms" in str(seen.value)
    assert seen.value.__cause__ is not None
    assert seen.value.__cause__.__traceback__ is not None
    assert "for_ever" in seen.value.__cause__.__traceback__.tb_frame.f_code.co_name


def test_many_records_may_take_long_together(watchdog: Watchdog) -> None:
    def short(value: str) -> str:
        time.sleep(0.05)
        return value

    task = task_of(short)
    rows = Columns(range(12), range(12), [b"k"] * 12, [b"v"] * 12)
    with watchdog.watching(task.context):
        task.process_columns(IN, rows)
    assert task.positions == {IN: 12}


def test_nothing_is_interrupted_but_functions(watchdog: Watchdog) -> None:
    with watchdog.watching(task_of(wait_for_ever).context):
        time.sleep(0.6)
    time.sleep(0.6)
