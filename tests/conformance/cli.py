"""The command `scripts/conformance`."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .cases import CORPUS, Case, group_files, known_differences, read
from .compare import compare
from .run import run

_PROCESSES = 2
_ALLOWED = 200
"""One case in so many may be listed as differing."""


@dataclass(frozen=True)
class Verdict:
    case_id: str
    differences: tuple[str, ...]
    reason: str | None
    """Why the case is meant to differ."""

    @property
    def passed(self) -> bool:
        return bool(self.differences) == (self.reason is not None)

    def __str__(self) -> str:
        if self.reason is not None and not self.differences:
            return f"{self.case_id}: listed as differing, but doesn't"
        return "\n".join([self.case_id, *self.differences])


def check(case: Case, reason: str | None = None) -> Verdict:
    """Run a case and compare."""
    return Verdict(case["id"], tuple(compare(case, run(case))), reason)


def check_group(path: Path, case_id: str | None = None) -> list[Verdict]:
    known = known_differences()
    cases = (case for case in read(path) if case_id in (None, case["id"]))
    return [check(case, known.get(case["id"])) for case in cases]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    logging.disable(logging.CRITICAL)  # dropped records and failures are what many cases are about
    group = options.case.partition("/")[0] if options.case else options.group
    files = {name: path for name, path in group_files(options.dir).items() if group in (None, name)}
    if not files:
        print(f"No such group in {options.dir}: {group}")
        return 2
    verdicts = []
    for name, results in zip(files, _checked(files.values(), options.case), strict=True):
        passed = sum(verdict.passed for verdict in results)
        print(f"{passed:>5}/{len(results):<5} {name}", flush=True)
        verdicts += results
    return _report(verdicts, options)


def _checked(paths: Iterable[Path], case_id: str | None) -> Iterator[list[Verdict]]:
    one_group: Callable[[Path], list[Verdict]] = partial(check_group, case_id=case_id)
    if case_id is not None:
        yield from map(one_group, paths)
        return
    with ProcessPoolExecutor(
        _PROCESSES, initializer=logging.disable, initargs=(logging.CRITICAL,)
    ) as pool:
        yield from pool.map(one_group, paths)


def _report(verdicts: list[Verdict], options: argparse.Namespace) -> int:
    failed = [verdict for verdict in verdicts if not verdict.passed]
    for verdict in failed:
        print(f"\n{verdict}" if options.verbose or options.case else verdict.case_id)
    listed = len(known_differences())
    whole_corpus = not (options.case or options.group)
    too_many = whole_corpus and listed * _ALLOWED > len(verdicts)
    if too_many:
        print(f"{listed} cases are listed as differing: more than 1 in {_ALLOWED}")
    print(f"{len(verdicts) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or too_many or not verdicts else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="conformance",
        description="Compare Headrace with what Kafka Streams was recorded to do.",
    )
    parser.add_argument("dir", nargs="?", type=Path, default=CORPUS, metavar="DIR")
    parser.add_argument("--group", help="only the cases of this group")
    parser.add_argument("--case", help="only this case, with all its differences")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the differences")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
