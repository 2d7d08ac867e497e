"""The command `scripts/bench engine`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from headrace.embedded import EmbeddedKafka

from . import chart, measurements, report
from .measurements import MODES, Bench

_CHART = Path(__file__).parents[1] / "results" / "engine.svg"


def main() -> int:
    options = _parser().parse_args()
    unknown = set(options.modes) - set(MODES)
    if unknown:
        print(f"No such mode: {', '.join(unknown)}. There are {', '.join(MODES)}.")
        return 2
    console = Console()
    progress = Console(stderr=True)

    def tell(line: str) -> None:
        progress.print(line, style="dim", highlight=False)

    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as directory,
        EmbeddedKafka(progress=tell) as kafka,
    ):
        bench = Bench(
            kafka.bootstrap_servers,
            Path(directory),
            options.records,
            options.keys,
            options.rounds,
            tell,
        )
        rows = []
        for row in bench.rows(options.modes):
            rows.append(row)
            tell(report.line(row))
    console.print(report.table(rows))
    for line in report.bars(rows):
        console.print(line, highlight=False, soft_wrap=True)
    title = f"Headrace and Kafka Streams: {options.records:,} records, {options.keys:,} keys"
    _CHART.parent.mkdir(exist_ok=True)
    _CHART.write_text(chart.svg(rows, title))
    tell(f"chart: {_CHART}")
    if options.json:
        print(report.as_json(rows))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench engine",
        description=measurements.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="a line of JSON at the end")
    parser.add_argument("--modes", nargs="+", default=list(MODES), metavar="MODE")
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=2, help="of which the best counts")
    return parser


if __name__ == "__main__":
    sys.exit(main())
