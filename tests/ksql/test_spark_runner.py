"""What becomes of queries on Spark, with applications that only seem to run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from headrace.app.lifecycle import State
from headrace.core.errors import ProcessingError, StateError
from headrace.ksql import spark
from headrace.ksql.running import QueryState
from headrace.ksql.spark import SparkRunner
from headrace.sql.engine import Engine
from headrace.sql.queries import PersistentQuery
from headrace.sql.syntax.parser import parse

from .servers import CLICKS, COUNTS

SETTINGS = {
    "bootstrap.servers": "localhost:1",
    "ksql.streams.state.dir": "/nowhere",
    "listeners": "http://127.0.0.1:0",
    "ksql.query.retry.backoff.initial.ms": "10",
}


class Application:
    """Stands for KafkaStreams."""

    made: ClassVar[list[Application]] = []
    places = None
    failures: ClassVar[list[Exception]] = []

    def __init__(self, topology: Any, config: Any, *, spark: Any = None) -> None:
        self.config, self.spark = config, spark
        self.state = State.CREATED
        self.error: Exception | None = None
        self.is_paused = False
        self.cleaned = False
        self._ended = threading.Event()
        Application.made.append(self)

    def start(self) -> None:
        if Application.failures:
            raise Application.failures.pop()
        self.state = State.RUNNING

    def wait_for(self, *states: State, timeout: timedelta) -> bool:
        return self._ended.wait(min(timeout.total_seconds(), 0.01))

    def fail(self, error: Exception) -> None:
        self.state, self.error = State.ERROR, error
        self._ended.set()

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False

    def close(self) -> None:
        if self.state is not State.ERROR:
            self.state = State.NOT_RUNNING

    def clean_up(self) -> None:
        self.cleaned = True

    def local_state(self) -> Any:
        return self

    def partition_of(self, store: str, key: Any) -> int:
        return 1

    def partitions(self, store: str) -> dict[int, Any]:
        return {number: Partition(f"{store}-{number}") for number in range(2)}


class Partition:
    def __init__(self, store: str) -> None:
        self._store = store

    def read(self, ask: Callable[[Any], Any]) -> Any:
        return ask(self._store)


class Kafka:
    """Stands for Admin."""

    deleted: ClassVar[list[str]] = []

    def __init__(self, settings: Any) -> None:
        pass

    def list_topics(self) -> dict[str, int]:
        prefix = "_confluent-ksql-default_query_CTAS_COUNTS_0"
        return {f"{prefix}-x-changelog": 1, f"{prefix}1-x-changelog": 1, "clicks": 1}

    def delete(self, topics: Any) -> None:
        Kafka.deleted += topics

    def delete_group(self, group: str) -> None:
        Kafka.deleted.append(group)

    def close(self) -> None:
        pass


@pytest.fixture
def query() -> PersistentQuery:
    engine = Engine()
    for parsed in parse(CLICKS + COUNTS):
        made = engine.execute(parsed)
    assert isinstance(made, PersistentQuery)
    return made


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkRunner]:
    Application.made, Application.failures, Kafka.deleted = [], [], []
    monkeypatch.setattr(spark, "KafkaStreams", Application)
    monkeypatch.setattr(spark, "Admin", Kafka)
    runner = SparkRunner(SETTINGS, session="the session")  # type: ignore[arg-type]
    yield runner
    runner.close()


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not is_so():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)


def running() -> list[Application]:
    return [each for each in Application.made if each.state is State.RUNNING]


def test_each_query_is_an_application_on_the_one_session(
    runner: SparkRunner, query: PersistentQuery
) -> None:
    runner.start(query)
    until(lambda: len(running()) == 1)
    (application,) = running()
    assert application.spark == "the session"
    assert application.config.application_id == "_confluent-ksql-default_query_CTAS_COUNTS_0"
    assert application.config["state.dir"] == "/nowhere"
    assert runner.state(query.id) is QueryState.RUNNING


def test_stores_of_all_partitions_are_looked_up(
    runner: SparkRunner, query: PersistentQuery
) -> None:
    with pytest.raises(StateError, match="isn't running here"):
        runner.look_up(query.id, "s", lambda store: [store])
    runner.start(query)
    until(lambda: len(running()) == 1)
    until(lambda: runner._queries[query.id]._streams is not None)
    assert runner.look_up(query.id, "s", lambda store: [store]) == ["s-0", "s-1"]
    two = runner.look_up(query.id, "s", lambda store: [store], [("a",), ("b",)])
    assert two == ["s-0", "s-1"]


def test_a_key_is_looked_up_where_it_belongs_and_else_wherever_it_is(
    runner: SparkRunner, query: PersistentQuery
) -> None:
    runner.start(query)
    until(lambda: len(running()) == 1)
    until(lambda: runner._queries[query.id]._streams is not None)
    asked: list[str] = []

    def find(where: str) -> list[str]:
        def found(store: str) -> list[str]:
            asked.append(store)
            return [store] if store == where else []

        return runner.look_up(query.id, "s", found, [("a",)])

    assert find("s-1") == ["s-1"]
    assert asked == ["s-1"]
    assert find("s-0") == ["s-0"]
    assert asked == ["s-1", "s-1", "s-0"]


def test_a_query_that_fails_is_started_again(runner: SparkRunner, query: PersistentQuery) -> None:
    runner.start(query)
    until(lambda: len(running()) == 1)
    running()[0].fail(ProcessingError("a user's mistake"))
    until(lambda: len(Application.made) == 2)
    until(lambda: runner.state(query.id) is QueryState.RUNNING)
    (error,) = runner.errors(query.id)
    assert (error.message, error.kind) == ("a user's mistake", "USER")


def test_a_query_that_can_not_start_is_in_error(
    runner: SparkRunner, query: PersistentQuery
) -> None:
    Application.failures = [OSError("no"), OSError("no")]
    runner.start(query)
    until(lambda: runner.state(query.id) is QueryState.ERROR)
    until(lambda: runner.state(query.id) is QueryState.RUNNING)
    assert [error.kind for error in runner.errors(query.id)] == ["UNKNOWN", "UNKNOWN"]


def test_a_paused_query_is_paused_from_its_start(
    runner: SparkRunner, query: PersistentQuery
) -> None:
    runner.start(query)
    runner.pause(query.id)
    until(lambda: [each.is_paused for each in running()] == [True])
    assert runner.state(query.id) is QueryState.PAUSED
    running()[0].fail(OSError("gone"))
    until(lambda: [each.is_paused for each in running()] == [True])
    runner.resume(query.id)
    assert not running()[0].is_paused


def test_a_query_takes_the_place_of_another(runner: SparkRunner, query: PersistentQuery) -> None:
    runner.start(query)
    until(lambda: len(running()) == 1)
    runner.start(query)
    until(lambda: len(Application.made) == 2 and len(running()) == 1)
    assert Application.made[0].state is State.NOT_RUNNING
    assert Kafka.deleted == []


def test_what_a_terminated_query_had_is_deleted(
    runner: SparkRunner, query: PersistentQuery
) -> None:
    runner.start(query)
    until(lambda: len(running()) == 1)
    runner.stop(query.id, forget=True)
    assert running() == []
    assert Application.made[-1].cleaned
    group = "_confluent-ksql-default_query_CTAS_COUNTS_0"
    assert Kafka.deleted == [f"{group}-x-changelog", group]


def test_a_server_that_stops_keeps_everything(runner: SparkRunner, query: PersistentQuery) -> None:
    runner.start(query)
    until(lambda: len(running()) == 1)
    runner.close()
    assert running() == []
    assert Kafka.deleted == []


def test_a_query_of_the_same_name_begins_after_all_of_the_last_one_is_deleted(
    runner: SparkRunner, query: PersistentQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what is deleted in the background would be that of the new one."""
    monkeypatch.setattr(spark, "_STOP_S", 0.01)
    cleaning, cleaned = threading.Event(), threading.Event()

    def slowly(application: Application) -> None:
        cleaning.set()
        assert cleaned.wait(10)

    monkeypatch.setattr(Application, "clean_up", slowly)
    runner.start(query)
    until(lambda: len(running()) == 1)
    runner.stop(query.id, forget=True)
    assert cleaning.wait(10)
    runner.start(query)
    time.sleep(0.05)
    assert running() == []
    cleaned.set()
    until(lambda: len(running()) == 1)
    group = "_confluent-ksql-default_query_CTAS_COUNTS_0"
    assert Kafka.deleted == [f"{group}-x-changelog", group]
