"""How the demo shows what happens: a view of the terminal's size, or lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headrace.app.status import Status
from headrace.cli import status_view
from headrace.cli.demo_purchases import GOODS
from headrace.cli.demo_results import OUTPUTS, Results, span

_FEWEST_LINES = 23
"""With one record of each topic, and one window."""


class Moment(NamedTuple):
    """What there is to see. `sent` are purchases."""

    status: Status
    sent: int
    results: Results


def view(moment: Moment, hints: Sequence[str], height: int) -> RenderableType:
    """As many records and windows as there is room for, at least 80 columns by 24 lines."""
    room = max(0, height - 1 - _FEWEST_LINES)
    windows = 2 if room else 1
    records = 1 + max(0, room - 1) // len(OUTPUTS)
    return Group(
        _status(moment),
        "",
        Text("Purchases of each department, in windows of five minutes", "bold"),
        _counts(moment.results, windows),
        "",
        Text("The last records of each topic that the application writes", "bold"),
        _outputs(moment.results, records),
        "",
        *(Text(line, style="dim", no_wrap=True) for line in hints),
    )


def line(moment: Moment) -> str:
    """How it goes, and the counts of the current window."""
    parts = [f"{moment.sent:,} purchases sent", status_view.line(moment.status)]
    for window in moment.results.windows()[:1]:
        parts.append(f"{span(window)} {_counts_text(moment.results)}")
    return "; ".join(parts)


def output_lines(results: Results) -> list[str]:
    """The last record of each topic."""
    return [
        f"{topic}, {results.records[topic]:,} records, the last: {last}"
        for topic in OUTPUTS
        for last in results.last(topic, 1)
    ]


def _counts_text(results: Results) -> str:
    window = results.windows()[0]
    return ", ".join(f"{name} {results.count(name, window):,}" for name in GOODS)


def _status(moment: Moment) -> Table:
    status = moment.status
    lag = "?" if status.lag is None else f"{status.lag:,}"
    facts: dict[str, str | Text] = {
        "state": Text(status.state.value, "green" if status.batches else "yellow"),
        "purchases": f"{moment.sent:,}",
        "processed": f"{status.records_total:,}",
        "rate": f"{status.rate:,.0f}/s",
        "lag": lag,
        "batch": f"{status.batch_ms:,.0f} ms",
        "tasks": f"{len(status.tasks)}",
    }
    table = _table(*facts)
    table.add_row(*facts.values())
    return table


def _counts(results: Results, windows: int) -> Table:
    table = _table("window", *GOODS)
    shown = results.windows()[:windows]
    for window in shown:
        table.add_row(span(window), *(f"{results.count(name, window):,}" for name in GOODS))
    for _ in range(windows - len(shown)):
        table.add_row("")
    return table


def _outputs(results: Results, most: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    table.add_column("topic", no_wrap=True)
    table.add_column("records", justify="right", no_wrap=True, min_width=7)
    table.add_column("value", no_wrap=True, overflow="ellipsis", ratio=1)
    for topic in OUTPUTS:
        last = results.last(topic, most)
        for number, text in enumerate([*last, *[""] * (most - len(last))]):
            count = f"{results.records[topic]:,}" if number == 0 else ""
            table.add_row(topic if number == 0 else "", count, Text(text))
    return table


def _table(first: str, *others: str) -> Table:
    """Over the whole width."""
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    table.add_column(first, no_wrap=True, min_width=11, ratio=1)
    for title in others:
        table.add_column(title, justify="right", no_wrap=True, min_width=len(title), ratio=1)
    return table
