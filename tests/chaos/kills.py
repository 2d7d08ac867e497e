"""Kills of workers, executors and drivers: at every step of a commit in turn, and at any moment."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from itertools import cycle, islice
from pathlib import Path

from headrace.embedded import EmbeddedKafka

from .cluster import StandaloneCluster
from .evidence import gather
from .faults import STEPS, Act, Fault
from .load import Load
from .local_state import check_local_state
from .runner import Run

_AT_ANY_MOMENT = 0.25
"""The share of kills that no step is waited for."""


class Victim(Enum):
    WORKER = Act.KILL
    EXECUTOR = Act.KILL_EXECUTOR
    DRIVER = Act.KILL_DRIVER

    def __str__(self) -> str:
        return self.name.lower()


def shares(kills: int) -> dict[Victim, int]:
    """How many of the kills each victim has: as many, but for what is left over."""
    drawn = Counter(islice(cycle(Victim), kills))
    return {victim: drawn[victim] for victim in Victim if drawn[victim]}


class Kills:
    """Kills of one kind of victim over several runs. `done` counts them by step."""

    def __init__(self, victim: Victim, seed: int) -> None:
        self.victim = victim
        self.done: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._steps = cycle(STEPS)

    @property
    def total(self) -> int:
        return self.done.total()

    def disturb(self, run: Run, kills: int) -> None:
        """Kill so many times."""
        for _ in range(kills):
            if self.victim is not Victim.EXECUTOR and self._chance.random() < _AT_ANY_MOMENT:
                self._at_any_moment(run)
                self.done["any moment"] += 1
            else:
                step = next(self._steps)
                fault = Fault(step, self.victim.value, skip=self._chance.randrange(4))
                run.plan.add([fault])
                run.wait_for_faults()
                self.done[step] += 1

    def _at_any_moment(self, run: Run) -> None:
        time.sleep(self._chance.uniform(0, 1.5))
        if self.victim is Victim.WORKER:
            run.wait(run.kill_worker, "a worker to kill")
            return
        run.wait_for_clicks(1)
        run.kill_driver()
        # What it had on disk may be lost with it.
        for lost in self._chance.sample([run.state_dir, run.temporary], self._chance.randrange(3)):
            shutil.rmtree(lost, ignore_errors=True)
        run.temporary.mkdir(exist_ok=True)

    def __str__(self) -> str:
        steps = ", ".join(f"{self.done[step]} at {step}" for step in (*STEPS, "any moment"))
        return f"{self.total} of {self.victim}s ({steps})"


@contextmanager
def run_with(
    victim: Victim, kafka: EmbeddedKafka, directory: Path, load: Load, *, cached: bool = False
) -> Iterator[Run]:
    """A run on what the victim is part of: executors, on a cluster of two workers."""
    if victim is not Victim.EXECUTOR:
        with Run(kafka, directory, load, cached=cached) as run:
            yield run
        return
    with StandaloneCluster(directory / "cluster", directory / "plan") as cluster:
        settings = {
            "spark.master": cluster.master,
            "spark.executor.memory": "512m",
            "spark.executor.cores": 1,
            "spark.task.maxFailures": 8,  # as docs/running.md has it
            "state.dir": "~/state",
        }
        with Run(kafka, directory, load, cached=cached, settings=settings) as run:
            yield run
            evidence = gather(kafka.bootstrap_servers, load.pipeline)
        for worker in (0, 1):
            state = cluster.home(worker) / "state"
            differences = check_local_state(load.pipeline, state, evidence)
            assert differences == [], f"Seed {load.seed}, worker {worker}: {differences[:10]}"
