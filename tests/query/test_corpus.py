"""The stores of recorded cases, read through the query API from state on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsConfig
from headrace.engine.identity import identity
from headrace.engine.plan import Plan, TaskPlan
from headrace.query import (
    KeyQuery,
    ReadOnlyTimestampedKeyValueStore,
    ReadOnlyTimestampedWindowStore,
    StateQueryRequest,
    TimestampedKeyQuery,
    VersionedKeyQuery,
    WindowKeyQuery,
)
from headrace.query.local_state import LocalState
from headrace.query.request import answer
from headrace.query.stores import type_of
from headrace.runtime import global_task
from headrace.runtime.task import StreamTask, TaskSpec
from headrace.state.checkpoint import Checkpoint
from headrace.state.directory import StateDirectory
from headrace.state.task_state import TaskState
from headrace.testing import TopologyTestDriver, driver
from headrace.topology.stores import (
    KeyValueStoreSpec,
    SessionStoreSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)
from tests.conformance.cases import Case, group_files, read
from tests.conformance.compare import compare_stores
from tests.conformance.run import Form, Run

GROUPS = (
    "store-kv",
    "store-window",
    "store-session",
    "store-versioned",
    "stream-aggregate",
    "stream-globaltable",
    "table-source",
    "table-ops",
    "window-tumbling",
    "window-session",
)


class Kept:
    """Keeps the state of the test driver's tasks on disk."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._tasks: list[tuple[TaskSpec, TaskState, StreamTask]] = []

    def task(self, spec: TaskSpec, *arguments: Any, **options: Any) -> StreamTask:
        """Instead of a StreamTask."""
        plan = _plan([spec], self._directory)
        (task,) = (*plan.tasks, *filter(None, [plan.global_task]))
        name = str(task.id) if task is not plan.global_task else "global"
        state = TaskState(StateDirectory.of(plan.config).task(name), identity(plan, task))
        state.acquire(10)
        made = StreamTask(spec, *arguments, **{**options, "storage": state})
        self._tasks.append((spec, state, made))
        return made

    def committed(self) -> LocalState:
        for _, state, task in self._tasks:
            state.commit(Checkpoint("1", 1, dict(task.positions)), task.facts())
            state.close()
        return LocalState(_plan([spec for spec, _, _ in self._tasks], self._directory))


def _plan(specs: list[TaskSpec], directory: Path) -> Plan:
    given = {key: specs[0].config[key] for key in specs[0].config.given()}
    config = StreamsConfig(
        {**given, "bootstrap.servers": "localhost:9092", "state.dir": str(directory)}
    )
    tasks = [TaskPlan(spec.id, spec.nodes, spec.inputs) for spec in specs]
    return Plan(
        1,
        specs[0].topology,
        config,
        tuple(task for task in tasks if task.id.partition >= 0),
        next((task for task in tasks if task.id.partition < 0), None),
        {},
        {},
        1,
    )


class QueriedRun(Run):
    """A run whose stores are read as an application's are."""

    def __init__(self, case: Case, kept: Kept) -> None:
        super().__init__(case)
        self._kept = kept
        self.expired: dict[str, int] = {}
        """Up to what time the rows of a store have expired."""

    def _stores(self, driver: TopologyTestDriver) -> Form:
        state = self._kept.committed()
        forms = {}
        for name, store in driver.stores().items():
            view = _View(state, name) if _can_be_read(store.spec) else store
            forms[name] = self._store_form(view)
            if isinstance(store.spec, WindowStoreSpec | SessionStoreSpec):
                self.expired[name] = store.observed_time - store.spec.retention_ms
        state.close()
        return forms


class _View:
    """What is read of a store: as a whole through `streams.store`, by key through a query as
    well, which must agree."""

    def __init__(self, state: LocalState, name: str) -> None:
        self.spec = state.spec(name)
        self._state = state
        kind = type_of(self.spec)
        if getattr(self.spec, "timestamped", False):
            kind = (
                ReadOnlyTimestampedKeyValueStore
                if isinstance(self.spec, KeyValueStoreSpec)
                else ReadOnlyTimestampedWindowStore
            )
        self._store: Any = kind(name, state.partitions(name))

    def all(self) -> Iterator[tuple[Any, Any]]:
        for key, value in self._store.all():
            if not getattr(self.spec, "retain_duplicates", False):
                assert self._found(key) == value
            yield key, value

    def _found(self, key: Any) -> Any:
        if isinstance(self.spec, WindowStoreSpec):
            start = key.window.start
            return next(value for _, value in self._ask(WindowKeyQuery(key.key, start, start)))
        timestamped = getattr(self.spec, "timestamped", False)
        return self._ask(TimestampedKeyQuery(key) if timestamped else KeyQuery(key))

    def fetch_range(self, low: Any, high: Any) -> Any:
        return self._store.fetch_range(low, high)

    def get(self, key: Any) -> Any:
        assert self._store.get(key) == self._ask(VersionedKeyQuery(key))
        return self._store.get(key)

    def get_as_of(self, key: Any, time: int) -> Any:
        assert self._store.get_as_of(key, time) == self._ask(VersionedKeyQuery(key, time))
        return self._store.get_as_of(key, time)

    def _ask(self, query: Any) -> Any:
        result = answer(self._state, StateQueryRequest(self.spec.name, query))
        if result.global_result is not None:
            return result.global_result.get()
        (only,) = result.partition_results.values()
        return only.get()


def _can_be_read(spec: Any) -> bool:
    kinds = KeyValueStoreSpec | VersionedStoreSpec | WindowStoreSpec | SessionStoreSpec
    return isinstance(spec, kinds)


def _time_of(store: Form, row: Form) -> int:
    time: int = row["key"]["start" if store["kind"] == "window" else "end"]
    return time


@pytest.mark.parametrize("group", GROUPS)
def test_stores_of_the_corpus(group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = 0
    for number, case in enumerate(read(group_files()[group])):
        if "error" in case or not case.get("stores"):
            continue
        kept = Kept(tmp_path / str(number))
        for module in (driver, global_task):
            monkeypatch.setattr(module, "StreamTask", kept.task)
        run = QueriedRun(case, kept)
        got = run.results()
        assert "error" not in got, (case["id"], got["error"])
        for name, time in run.expired.items():
            # Kafka Streams shows windows that have expired for as long as they are in a cache.
            store = case["stores"][name]
            store["rows"] = [row for row in store.get("rows", ()) if _time_of(store, row) > time]
        assert compare_stores(case, got) == [], case["id"]
        checked += len(case["stores"])
    assert checked > 10
