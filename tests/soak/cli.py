"""The command `scripts/soak`."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from headrace.embedded import EmbeddedKafka

from . import ROOT
from .chart import svg
from .report import rate, rows, table, verdict
from .run import SoakRun

_WARM_UP = 0.25
_SAMPLES = 400


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    minutes, directory = options.minutes, options.output
    warm_up_s = 60 * (minutes * _WARM_UP if options.warm_up is None else options.warm_up)
    shutil.rmtree(directory, ignore_errors=True)
    with EmbeddedKafka() as kafka:
        run = SoakRun(kafka, directory, sample_every_s=max(2.0, minutes * 60 / _SAMPLES))
        run.run(minutes)
    found = rows(run.series, warm_up_s)
    batches = f"{minutes:g} minutes, {rate(run.batches):.1f} batches a second"
    (directory / "soak.svg").write_text(svg(found, warm_up_s, batches))
    wrong = verdict(found)
    told = [batches, *table(found), wrong or "Nothing grows."]
    (directory / "soak.txt").write_text("\n".join([*told, ""]))
    print(*told, f"The chart is in {directory / 'soak.svg'}", sep="\n")
    return 0 if wrong is None else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="soak",
        description="Run an application at ten batches a second, and see whether its memory, file "
        "descriptors, threads or files grow after the warm-up.",
    )
    parser.add_argument("--minutes", type=float, default=60, metavar="N", help="how long (60)")
    parser.add_argument(
        "--warm-up", type=float, metavar="N", help="minutes that don't count (a quarter)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "dist" / "soak",
        metavar="DIR",
        help="for samples, chart, log and state; what is there is deleted (dist/soak)",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
