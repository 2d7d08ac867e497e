"""Exactly once, whatever is killed, stopped or lost. `scripts/chaos` goes on for longer."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from headrace.embedded import EmbeddedKafka
from tests.chaos.faults import STEPS, Act, Fault
from tests.chaos.kills import Victim, run_with
from tests.chaos.runner import Run, fresh_load


@pytest.mark.parametrize("cached", [False, True])
def test_workers_killed_at_every_step(
    embedded_kafka: EmbeddedKafka, tmp_path: Path, cached: bool
) -> None:
    """Twice at each, in either slot; after a worker's death there is something to restore. The
    first in each slot is left out: before the first batch, all tasks are only opened."""
    faults = [Fault(step, slot=slot, skip=1) for slot in (0, 1) for step in STEPS]
    with Run(embedded_kafka, tmp_path, fresh_load(seed=11), cached=cached) as run:
        run.plan.add(faults)
        run.start()
        run.wait_for_faults()
        run.finish()
        assert run.total_kills == len(faults)
        assert run.driver.starts == 1


def test_workers_killed_at_any_moment(embedded_kafka: EmbeddedKafka, tmp_path: Path) -> None:
    with Run(embedded_kafka, tmp_path, fresh_load(seed=12)) as run:
        run.start()
        run.wait_for_clicks(100)
        for _ in range(6):
            run.wait_for_clicks(run.random.randrange(100))
            time.sleep(run.random.random())
            run.wait(run.kill_worker, "a worker to kill")
        run.finish()


def test_the_driver_killed_and_its_directories_lost(
    embedded_kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    """Each time the driver is killed it finds something else missing: Spark's checkpoint, the
    state, both, or all but an old copy of the state. Workers die while they restore it."""
    backup = tmp_path / "backup"
    with Run(embedded_kafka, tmp_path, fresh_load(seed=13)) as run:

        def die() -> None:
            run.plan.add([Fault("restored", skip=3), Fault("committed", Act.KILL_DRIVER, skip=4)])
            run.wait(lambda: run.plan.pending == 0 and not run.driver.is_alive, "its death")

        def lose(*paths: Path) -> None:
            for path in paths:
                shutil.rmtree(path, ignore_errors=True)
                path.mkdir(exist_ok=True)

        die()
        lose(run.temporary)  # its JVM and workers are still there when the next driver starts
        die()
        run.driver.end_all()
        shutil.copytree(run.state_dir, backup)
        lose(run.state_dir)
        die()
        run.driver.end_all()
        lose(run.temporary, run.state_dir)
        die()
        run.driver.end_all()
        lose(run.state_dir)
        shutil.copytree(backup, run.state_dir, dirs_exist_ok=True)
        run.finish()
        assert run.total_kills == 8


def test_executors_killed_on_a_cluster(embedded_kafka: EmbeddedKafka, tmp_path: Path) -> None:
    with run_with(Victim.EXECUTOR, embedded_kafka, tmp_path, fresh_load(seed=16)) as run:
        run.plan.add(
            [
                Fault("processed"),
                Fault("processed", Act.KILL_EXECUTOR),
                Fault("committed", Act.KILL_EXECUTOR, skip=3),
                Fault("restored", Act.KILL_EXECUTOR, skip=3),
            ]
        )
        run.start()
        run.wait_for_faults()
        run.finish()
