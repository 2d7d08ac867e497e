"""Compares local stores with the changelogs that they are copies of."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.engine.identity import identity
from headrace.engine.plan import Plan, TaskPlan
from headrace.runtime.task import StreamTask
from headrace.state import StateDirectory, TaskState
from headrace.testing.layout import Layout

from .evidence import Evidence
from .pipeline import Pipeline

CLOCK = ManualClock(0)
_LOCK_S = 10.0


def check_local_state(pipeline: Pipeline, state_dir: Path, evidence: Evidence) -> list[str]:
    """What differs between each task's stores and its changelogs.

    State may lag behind: then it must come to the same when the changelogs are applied from where
    its checkpoint says. A task without state has nothing wrong.
    """
    plan = plan_of(pipeline)
    directory = StateDirectory(state_dir, pipeline.application_id)
    kept = directory.tasks()
    return [
        difference
        for task in plan.tasks
        if str(task.id) in kept
        for difference in _check(plan, task, directory.path / str(task.id), evidence)
    ]


def _check(plan: Plan, task: TaskPlan, path: Path, evidence: Evidence) -> Iterator[str]:
    # A copy, as whoever opens a state that it distrusts wipes it.
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary, "state")
        shutil.copytree(path, copy)
        state = TaskState(copy, identity(plan, task))
        state.acquire(_LOCK_S)
        try:
            if state.checkpoint is not None:
                yield from _compare(plan, task, state, evidence)
        finally:
            state.close()


def _compare(plan: Plan, task: TaskPlan, state: TaskState, evidence: Evidence) -> Iterator[str]:
    checkpoint = state.checkpoint
    assert checkpoint is not None
    current = all(
        checkpoint.positions.get(one) == evidence.positions.get(one) for one in task.inputs
    )
    local = StreamTask(plan.spec(task), CLOCK, storage=state)
    restored = StreamTask(plan.spec(task), CLOCK)
    for name, store in restored.stores.items():
        topic = restored.changelog_topic(name)
        assert topic is not None
        log = evidence.logs[TopicPartition(topic, task.id.partition)]
        _apply(store, log)
        if not current:
            reached = checkpoint.changelogs.get(topic, ("", 0))[1]
            _apply(local.stores[name], [record for record in log if record.offset >= reached])
        due, found = _contents(store), _contents(local.stores[name])
        if due != found:
            yield (
                f"Store {name} of task {task.id}{'' if current else ' (behind)'} has "
                f"{len(found - due)} entries that its changelog hasn't, and lacks "
                f"{len(due - found)}: {', '.join(sorted(found ^ due)[:3])}"
            )


def _apply(store: Any, log: Sequence[ConsumerRecord]) -> None:
    store.restore((record.key, record.value, record.timestamp, ()) for record in log)


def _contents(store: Any) -> set[str]:
    """The entries; those of a session store by a scan of all its keys."""
    entries = store.all() if hasattr(store, "all") else store.fetch_range(None, None)
    return {f"{key}={value}" for key, value in entries}


def plan_of(pipeline: Pipeline) -> Plan:
    topology = pipeline.topology()
    config = StreamsConfig(
        {"application.id": pipeline.application_id, "statestore.cache.max.bytes": 0}
    )
    layout = Layout(topology, config, pipeline.partitions)
    tasks = tuple(TaskPlan(spec.id, spec.nodes, spec.inputs) for spec in layout.tasks())
    topics = [*pipeline.outputs, *pipeline.repartitions]
    return Plan(
        run=0,
        topology=topology,
        config=config,
        tasks=tasks,
        global_task=None,
        partitions=dict.fromkeys(topics, pipeline.partitions),
        topic_ids={},
        slots=1,
    )
