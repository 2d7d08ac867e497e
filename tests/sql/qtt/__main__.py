"""`scripts/qtt`: run the cases, and say how many passed."""

from __future__ import annotations

import argparse
import sys
from itertools import chain
from pathlib import Path

from .cases import Selection, default_directory, read_cases
from .judge import judged
from .report import Verdict, known_failures, rewrite_known_failures, summary


def main() -> int:
    """Run the selected cases. 0 if all passed, or failed as is known."""
    options = _options()
    directory = options.directory or default_directory()
    if not directory.is_dir():
        print(f"There are no cases in {directory}. Say where they are: HEADRACE_QTT_DIR.")
        return 2
    selection = Selection(tuple(options.tier), tuple(options.file), tuple(options.id))
    verdicts = []
    suites = [options.suite] if options.suite else ["qtt", "rest"]
    for case in chain.from_iterable(read_cases(directory, selection, suite) for suite in suites):
        verdict = Verdict(case, judged(case))
        verdicts.append(verdict)
        if not verdict.passed and not options.quiet:
            reason = verdict.failure or ""
            shown = reason if options.verbose else reason.split("\n")[0][:300]
            print(f"FAILED {case.tier} {case.id}\n    {shown}", flush=True)
    if options.rewrite_known:
        rewrite_known_failures(verdicts)
    print(summary(verdicts))
    known = known_failures()
    unexpected = [v for v in verdicts if v.passed == (v.case.id in known)]
    return 1 if unexpected else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/qtt", description=main.__doc__)
    parser.add_argument("directory", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--tier", action="append", default=[], help="T1 … T5; may be repeated")
    parser.add_argument("--file", action="append", default=[], help="a file's name, without .jsonl")
    parser.add_argument(
        "--suite", choices=["qtt", "rest"], help="rest: against a server, over HTTP; else both"
    )
    parser.add_argument("--id", action="append", default=[], help="a part of the ids")
    parser.add_argument("-v", "--verbose", action="store_true", help="all that is different")
    parser.add_argument("-q", "--quiet", action="store_true", help="only the totals")
    parser.add_argument(
        "--rewrite-known", action="store_true", help="rewrite tests/sql/known_failures.txt"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
