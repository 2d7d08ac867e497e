"""The command `scripts/chaos`."""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from headrace.kafka.embedded import EmbeddedKafka

from .faults import STEPS, Act, Fault
from .runner import Run, fresh_load

_KILLS_PER_RUN = 30


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    seed = options.seed if options.seed is not None else random.randrange(1_000_000)
    print(f"seed {seed}", flush=True)
    kills = 0
    with EmbeddedKafka() as kafka:
        while kills < options.kills:
            kills += _round(kafka, seed, min(options.kills - kills, _KILLS_PER_RUN), options.keep)
            print(f"{kills} of {options.kills} kills, and nothing lost or twice", flush=True)
            seed += 1
    return 0


def _round(kafka: EmbeddedKafka, seed: int, kills: int, keep: bool) -> int:
    chance = random.Random(seed)
    directory = Path(tempfile.mkdtemp(prefix="headrace-chaos-"))
    cached = chance.random() < 0.5
    load = fresh_load(seed)
    print(f"run {seed}: {'with' if cached else 'without'} cache, in {directory}", flush=True)
    with Run(kafka, directory, load, cached=cached) as run:
        run.start()
        while run.total_kills < kills:
            _disturb(run, chance)
        run.finish()
        done = run.total_kills
    if not keep:
        shutil.rmtree(directory)
    return done


def _disturb(run: Run, chance: random.Random) -> None:
    """One fault: mostly a worker's death at a named point or any other, at times the driver's,
    and then the loss of what it had on disk."""
    kind = chance.random()
    if kind < 0.6:
        act = Act.KILL_DRIVER if chance.random() < 0.05 else Act.KILL
        # Restores are rare, unless there is something to restore.
        steps = [step for step in STEPS if step != "restoring"]
        run.plan.add([Fault(chance.choice(steps), act, skip=chance.randrange(4))])
        run.wait_for_faults()
    elif kind < 0.93:
        time.sleep(chance.uniform(0, 1.5))
        run.wait(run.kill_worker, "a worker to kill")
    else:
        run.kill_driver()
        for lost in chance.sample([run.state_dir, run.temporary], chance.randrange(3)):
            shutil.rmtree(lost, ignore_errors=True)
        run.temporary.mkdir(exist_ok=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chaos",
        description="Kill an application at named and at random points, and compare its output, "
        "changelogs, stores and positions with an undisturbed run.",
    )
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="how many (100)")
    parser.add_argument("--seed", type=int, metavar="S", help="the same faults as an earlier call")
    parser.add_argument("--keep", action="store_true", help="keep state and logs of each run")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
