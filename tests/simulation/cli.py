"""`scripts/simulate`: runs seeds, or one again with its history."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context

from .planted import MOST_SEEDS, PLANTED
from .run import GUARANTEES, Outcome, run


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this one, and print what happens")
    parser.add_argument("--seeds", type=int, default=1000, help="how many to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--guarantee", choices=GUARANTEES, help="only with this one")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes to use")
    parser.add_argument("--planted", action="store_true", help="find the planted faults")
    given = parser.parse_args(arguments)
    if given.planted:
        return find_planted(given.jobs)
    guarantees = [given.guarantee] if given.guarantee else list(GUARANTEES)
    if given.seed is not None:
        return max(replay(given.seed, guarantee) for guarantee in guarantees)
    seeds = range(given.first, given.first + given.seeds)
    return max(run_all(seeds, guarantee, given.jobs) for guarantee in guarantees)


def replay(seed: int, guarantee: str) -> int:
    outcome = run(seed, guarantee, history=True)
    for at, who, what in outcome.history:
        print(f"{at:10.3f}  {who:<16} {what}")
    print(_told(outcome))
    return 0 if outcome.is_right else 1


def find_planted(jobs: int) -> int:
    """Says after how many seeds each is found."""
    missed = 0
    with get_context("fork").Pool(jobs) as pool:
        for number, line in pool.imap(_find, range(len(PLANTED))):
            missed += number is None
            print(line, flush=True)
    print(f"{len(PLANTED)} planted faults, {missed} not found within {MOST_SEEDS} seeds")
    return 1 if missed else 0


def _find(index: int) -> tuple[int | None, str]:
    planted = PLANTED[index]
    found = planted.find()
    if found is None:
        return None, f"NOT FOUND: {planted.name}"
    number, outcome = found
    return number, f"{number:5} seeds: {planted.name}: {outcome.case}, {outcome.violations[0]}"


def run_all(seeds: Sequence[int], guarantee: str, jobs: int) -> int:
    began = time.monotonic()
    wrong, faults, cases = 0, 0, Counter[str]()
    for outcome in outcomes(seeds, guarantee, jobs):
        faults += outcome.faults
        cases[outcome.case] += 1
        if not outcome.is_right:
            wrong += 1
            print(_told(outcome), flush=True)
    spent = time.monotonic() - began
    print(
        f"{guarantee}: {len(seeds)} seeds of {len(cases)} topologies, {faults} faults, "
        f"{wrong} violated, {spent:.0f} s, {len(seeds) / spent * 60:.0f} a minute"
    )
    return 1 if wrong else 0


def outcomes(seeds: Iterable[int], guarantee: str, jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from map(partial(run, guarantee=guarantee), seeds)
        return
    # Processes of their own, and not threads: the runs take turns within each.
    with get_context("fork").Pool(jobs) as pool:
        yield from pool.imap(partial(run, guarantee=guarantee), seeds, chunksize=8)


def _told(outcome: Outcome) -> str:
    lines = [
        f"seed {outcome.seed}, {outcome.guarantee}, {outcome.case}: {outcome.faults} faults, "
        f"{'right' if outcome.is_right else 'WRONG'}, {outcome.digest}",
        *(f"    {violation}" for violation in outcome.violations),
    ]
    if not outcome.is_right:
        lines.append(
            f"    again: scripts/simulate --seed {outcome.seed} --guarantee {outcome.guarantee}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
