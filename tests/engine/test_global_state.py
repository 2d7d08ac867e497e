"""Global stores, without a Kafka: what is read when, and who hears of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace import Processor, Record, StreamsConfig, Topology, serdes, stores
from headrace.core.clock import SystemClock
from headrace.core.record import TopicPartition
from headrace.engine.global_state import GlobalState
from headrace.engine.plan import GLOBAL, Plan, TaskPlan
from headrace.state.directory import StateDirectory
from tests.engine.logs import Logs

TEXT = serdes.string()
PART = TopicPartition("names", 0)


class NotesOffsets(Processor[str, str, None, None]):
    """Keeps with each value where it came from."""

    def process(self, record: Record[str, str]) -> None:
        if record.value == "bad":
            raise ValueError("no good")
        at = self.context.record_metadata
        assert at is not None
        note = None if record.value is None else f"{record.value}@{at.offset}"
        self.context.get_state_store("all-names").put(record.key, note)


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def alive(self) -> None:
        pass

    def stop_asked(self) -> bool:
        return False

    def restore_started(self, *event: Any) -> None:
        self.events.append(("started", *event))

    def batch_restored(self, *event: Any) -> None:
        self.events.append(("batch", *event))

    def restore_ended(self, *event: Any) -> None:
        self.events.append(("ended", *event))

    def take(self) -> list[tuple[Any, ...]]:
        events, self.events = self.events, []
        return events


@pytest.fixture
def logs() -> Logs:
    return Logs()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    topology = Topology()
    spec = stores.key_value("all-names", key=TEXT, value=TEXT, logging=False)
    topology.add_global_store(spec, "source", "names", "notes", NotesOffsets, key=TEXT, value=TEXT)
    task = TaskPlan(GLOBAL, ("source", "notes"), {PART: "source"})
    config = StreamsConfig({"application.id": "app", "state.dir": str(tmp_path)})
    return Plan(1, topology, config, (), task, {"names": 1}, {"names": "id"}, 1)


@contextmanager
def opened(plan: Plan, logs: Logs, heard: Heard) -> Iterator[GlobalState]:
    assert plan.global_task is not None
    directory = StateDirectory.of(plan.config)
    state = GlobalState(plan, plan.global_task, directory, logs.kafka, heard, SystemClock())
    try:
        yield state
    finally:
        state.close()


def names(found: Mapping[str, Any]) -> dict[str, str]:
    return dict(found["all-names"].all())


def test_each_record_has_its_own_offset(plan: Plan, logs: Logs, heard: Heard) -> None:
    for key in (b"a", b"b", b"c"):
        logs.write(PART, key, b"x")
    with opened(plan, logs, heard) as state:
        assert names(state.catch_up()) == {"a": "x@0", "b": "x@1", "c": "x@2"}


def test_a_log_that_was_cut_off_is_read_anew(plan: Plan, logs: Logs, heard: Heard) -> None:
    logs.write(PART, b"old", b"x")
    with opened(plan, logs, heard) as state:
        state.catch_up()
    for key in (b"a", b"b", b"c"):
        logs.write(PART, key, b"x")
    logs.begins_at = 2
    with opened(replace(plan, run=2), logs, heard) as state:
        assert names(state.catch_up()) == {"b": "x@2", "c": "x@3"}
        logs.write(PART, b"d", b"x")
        assert names(state.catch_up()) == {"b": "x@2", "c": "x@3", "d": "x@4"}


def test_a_log_that_was_cut_off_while_it_runs_is_read_anew(
    plan: Plan, logs: Logs, heard: Heard
) -> None:
    logs.write(PART, b"old", b"x")
    with opened(plan, logs, heard) as state:
        state.catch_up()
        heard.take()
        for key in (b"a", b"b"):
            logs.write(PART, key, b"x")
        logs.begins_at = 2
        assert names(state.catch_up()) == {"b": "x@2"}
    assert heard.take()[0] == ("started", "all-names", PART, 0, 3)


def test_a_log_that_lost_its_end_is_read_anew(plan: Plan, logs: Logs, heard: Heard) -> None:
    for key in (b"a", b"b", b"c"):
        logs.write(PART, key, b"x")
    with opened(plan, logs, heard) as state:
        state.catch_up()
        del logs.log(PART)[1:]
        assert names(state.catch_up()) == {"a": "x@0"}


def test_an_end_that_another_process_has_passed_loses_nothing(
    plan: Plan, logs: Logs, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.write(PART, b"a", b"x")
    logs.write(PART, b"b", b"x")
    with opened(plan, logs, heard) as other:
        other.catch_up()
    heard.take()
    with opened(plan, logs, heard) as state:
        ends = [{PART: 1}, {PART: 2}]  # the first was asked for before the other read on
        monkeypatch.setattr(logs, "end_offsets", lambda parts: ends.pop(0))
        assert names(state.catch_up()) == {"a": "x@0", "b": "x@1"}
    assert heard.take() == []


def test_the_listener_hears_of_restores_only(plan: Plan, logs: Logs, heard: Heard) -> None:
    for key in (b"a", b"b", b"c"):
        logs.write(PART, key, b"x")
    with opened(plan, logs, heard) as state:
        state.catch_up()
        assert heard.take() == [
            ("started", "all-names", PART, 0, 3),
            ("batch", "all-names", PART, 2, 2),
            ("batch", "all-names", PART, 3, 1),
            ("ended", "all-names", PART, 3),
        ]
        logs.write(PART, b"d", b"x")
        state.catch_up()
        state.catch_up()
    logs.write(PART, b"e", b"x")
    with opened(plan, logs, heard) as another_process:
        another_process.catch_up()
    assert heard.take() == []
    logs.write(PART, b"f", b"x")
    with opened(replace(plan, run=2), logs, heard) as next_run:
        next_run.catch_up()
    assert heard.take() == [
        ("started", "all-names", PART, 5, 6),
        ("batch", "all-names", PART, 6, 1),
        ("ended", "all-names", PART, 1),
    ]


def test_the_rest_of_a_restore_that_was_cut_short_is_one_too(
    plan: Plan, logs: Logs, heard: Heard
) -> None:
    for value in (b"x", b"x", b"bad"):
        logs.write(PART, b"a", value)
    with opened(plan, logs, heard) as state, pytest.raises(ValueError, match="no good"):
        state.catch_up()
    heard.take()
    logs.log(PART)[2] = (b"a", b"good", 5, ())
    with opened(plan, logs, heard) as state:
        assert names(state.catch_up()) == {"a": "good@2"}
    assert heard.take()[0] == ("started", "all-names", PART, 2, 3)


def test_after_an_error_the_record_is_not_passed_over(plan: Plan, logs: Logs, heard: Heard) -> None:
    logs.write(PART, b"a", b"x")
    with opened(plan, logs, heard) as state:
        state.catch_up()
        logs.write(PART, b"b", b"bad")
        for _ in range(2):
            with pytest.raises(ValueError, match="no good"):
                state.catch_up()
        logs.log(PART)[1] = (b"b", b"good", 5, ())
        assert names(state.catch_up()) == {"a": "x@0", "b": "good@1"}
