"""The command `scripts/chaos`."""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

from headrace.embedded import EmbeddedKafka

from .kills import Kills, Victim, run_with, shares
from .outages import (
    DROWSY,
    IMPATIENT,
    Role,
    check_producers,
    kill_broker,
    lose_answers,
    make_zombie,
)
from .proxy import KafkaProxy, Loss
from .runner import Run, fresh_load

_AT_ONCE = 30
"""How many faults a run has at most."""


class Campaign:
    """Runs with faults, each from fresh topics to the final check."""

    def __init__(self, seed: int, keep: bool) -> None:
        self._seed = seed
        self._keep = keep

    def kill(self, victim: Victim, kills: int) -> str:
        done = Kills(victim, self._seed)
        with EmbeddedKafka() as kafka:
            while done.total < kills:
                with self._directory(f"{victim}s") as (directory, seed):
                    cached = random.Random(seed).random() < 0.5
                    load = fresh_load(seed)
                    with run_with(victim, kafka, directory, load, cached=cached) as run:
                        run.start()
                        done.disturb(run, min(_AT_ONCE, kills - done.total))
                        run.finish()
                print(f"{done}: nothing lost or twice", flush=True)
        return str(done)

    def kill_brokers(self, kills: int) -> str:
        done: Counter[Role] = Counter()
        while done.total() < kills:
            with (
                self._directory("brokers") as (directory, seed),
                EmbeddedKafka(brokers=3) as kafka,
                Run(kafka, directory, fresh_load(seed)) as run,
            ):
                run.start()
                for role in islice(cycle(Role), min(_AT_ONCE, kills - done.total())):
                    kill_broker(run, role)
                    done[role] += 1
                run.finish()
        return " and ".join(f"{done[role]} brokers that were {role.value}" for role in Role)

    def lose_answers(self, answers: int) -> str:
        done: Counter[Loss] = Counter()
        while done.total() < answers:
            lost = list(islice(cycle(Loss), min(_AT_ONCE, answers - done.total())))
            with (
                self._directory("answers") as (directory, seed),
                KafkaProxy() as proxy,
                EmbeddedKafka(advertised_ports=proxy.ports) as kafka,
            ):
                proxy.connect(kafka.bootstrap_servers)
                with Run(kafka, directory, fresh_load(seed), settings=IMPATIENT) as run:
                    run.start()
                    lose_answers(run, proxy, lost)
                    run.finish()
                    check_producers(proxy.ends)
            done.update(lost)
        return ", ".join(f"{done[loss]} answers {loss.value}" for loss in Loss)

    def make_zombies(self, zombies: int) -> str:
        done = 0
        with EmbeddedKafka() as kafka:
            while done < zombies:
                with (
                    self._directory("zombies") as (directory, seed),
                    Run(kafka, directory, fresh_load(seed), settings=DROWSY) as run,
                ):
                    run.start()
                    for _ in range(min(_AT_ONCE, zombies - done)):
                        make_zombie(run)
                        done += 1
                    run.finish()
        return f"{done} hosts that went on when they were replaced"

    @contextmanager
    def _directory(self, what: str) -> Iterator[tuple[Path, int]]:
        """One for a run, with its seed. It stays if the run fails."""
        directory = Path(tempfile.mkdtemp(prefix="headrace-chaos-"))
        seed = self._seed
        self._seed += 1
        print(f"run {seed}: {what}, in {directory}", flush=True)
        yield directory, seed
        if not self._keep:
            shutil.rmtree(directory)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    seed = options.seed if options.seed is not None else random.randrange(1_000_000)
    print(f"seed {seed}", flush=True)
    campaign = Campaign(seed, options.keep)
    done = [campaign.kill(victim, kills) for victim, kills in shares(options.kills).items()]
    if options.brokers:
        done.append(campaign.kill_brokers(options.brokers))
    if options.answers:
        done.append(campaign.lose_answers(options.answers))
    if options.zombies:
        done.append(campaign.make_zombies(options.zombies))
    print(f"0 violations: {'; '.join(done)}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chaos",
        description="Kill an application at named and at random points, and compare its output, "
        "changelogs, stores and positions with an undisturbed run.",
    )
    for name, default, about in (
        ("kills", 99, "of workers, executors and drivers, a third each"),
        ("brokers", 0, "of three, killed while they lead or control"),
        ("answers", 0, "to commits, lost on the way"),
        ("zombies", 0, "hosts that hang, are replaced, and go on"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{about} ({default})"
        )
    parser.add_argument("--seed", type=int, metavar="S", help="the same faults as an earlier call")
    parser.add_argument("--keep", action="store_true", help="keep state and logs of each run")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
