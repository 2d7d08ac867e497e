"""Local stores that aren't copies of their changelogs are noticed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.engine.identity import identity
from headrace.runtime.task import StreamTask
from headrace.state import Checkpoint, StateDirectory, TaskState

from .evidence import Evidence
from .load import Load
from .local_state import CLOCK, check_local_state, plan_of
from .pipeline import COUNTS, MATCHES_THIS, SESSIONS, WINDOWS, Pipeline
from .simulation import Simulation

PIPELINE = Pipeline("app")
EVIDENCE = Simulation(Load(PIPELINE, seed=3, clicks=300), seed=3, cached=False).run()


def write(
    path: Path, upto: float = 1.0, *, claimed: float = 1.0, without: Iterable[str] = ()
) -> None:
    """Local state made of that share of each changelog, whose checkpoint claims another."""
    directory = StateDirectory(path, PIPELINE.application_id)
    plan = plan_of(PIPELINE)
    for task in plan.tasks:
        state = TaskState(directory.task(str(task.id)), identity(plan, task))
        state.acquire(1)
        kernel = StreamTask(plan.spec(task), CLOCK, storage=state)
        changelogs = {}
        for name, store in kernel.stores.items():
            topic = PIPELINE.changelog(name)
            log = EVIDENCE.logs[TopicPartition(topic, task.id.partition)]
            changelogs[topic] = ("", int(len(log) * claimed))
            if name not in without:
                store.restore(map(logged, log[: int(len(log) * upto)]))
        whole = upto == claimed == 1
        positions = {one: EVIDENCE.positions[one] for one in task.inputs} if whole else {}
        state.commit(Checkpoint("run", 1, positions, changelogs), kernel.facts())
        state.close()


def logged(record: ConsumerRecord) -> tuple[bytes, bytes | None, int, tuple[()]]:
    return record.key, record.value, record.timestamp, ()


def test_a_whole_copy_and_none_at_all(tmp_path: Path) -> None:
    assert check_local_state(PIPELINE, tmp_path, EVIDENCE) == []
    write(tmp_path)
    assert check_local_state(PIPELINE, tmp_path, EVIDENCE) == []


def test_a_copy_may_lag_behind(tmp_path: Path) -> None:
    write(tmp_path, upto=0.5, claimed=0.5)
    assert check_local_state(PIPELINE, tmp_path, EVIDENCE) == []


def test_it_may_have_more_than_it_claims(tmp_path: Path) -> None:
    write(tmp_path, upto=0.7, claimed=0.5)
    assert check_local_state(PIPELINE, tmp_path, EVIDENCE) == []


def test_but_not_less(tmp_path: Path) -> None:
    write(tmp_path, upto=0.3, claimed=0.9)
    differences = check_local_state(PIPELINE, tmp_path, EVIDENCE)
    assert any(text.startswith(f"Store {COUNTS} of task 0_") for text in differences)


@pytest.mark.parametrize("store", [COUNTS, WINDOWS, SESSIONS, MATCHES_THIS])
def test_a_store_that_was_not_written(tmp_path: Path, store: str) -> None:
    write(tmp_path, without=[store])
    differences = check_local_state(PIPELINE, tmp_path, EVIDENCE)
    assert len(differences) == PIPELINE.partitions
    assert all(f"Store {store} of task 0_" in text for text in differences)


def test_a_store_that_has_too_much(tmp_path: Path) -> None:
    write(tmp_path)
    partition = TopicPartition(PIPELINE.changelog(COUNTS), 1)
    shorter = {**EVIDENCE.logs, partition: EVIDENCE.logs[partition][:-1]}
    evidence: Evidence = replace(EVIDENCE, logs=shorter)
    [difference] = check_local_state(PIPELINE, tmp_path, evidence)
    assert difference.startswith(f"Store {COUNTS} of task 0_1 has 1 entries")
