"""How an application that runs elsewhere is shown: what its server answers, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from headrace.cli.terminal import count

Answer = Mapping[str, Any]
"""As JSON has it."""

_STYLES = {
    "RUNNING": "green",
    "REBALANCING": "yellow",
    "PENDING_SHUTDOWN": "yellow",
    "PAUSED": "yellow",
    "ERROR": "red",
    "PENDING_ERROR": "red",
}
_BARS = " ▁▂▃▄▅▆▇█"


def headline(state: Answer) -> Text:
    """The name, the state, and how much there is."""
    name = state_name(state)
    return Text.assemble(
        (f" {name} ", f"bold {_STYLES.get(name, '')} reverse"),
        " ",
        (str(state["application_id"]), "bold"),
        "   ",
        f"{count(state['records_total'], 'record')}   {count(state['tasks'], 'task')}   "
        f"up {duration(state['uptime_ms'] / 1000)}",
    )


def figures(state: Answer) -> str:
    """Those of this moment."""
    return (
        f"{state['rate']:,.0f}/s   lag {number(state['lag'])}   batch {state['batch_ms']:,.0f} ms"
    )


def state_name(state: Answer) -> str:
    return "PAUSED" if state["paused"] and state["state"] == "RUNNING" else str(state["state"])


def restoring(stores: Sequence[Answer], most: int) -> Table:
    """The stores that have most to do, and all of them together."""
    stores = sorted(stores, key=lambda store: store["offset"] - store["end"])
    done = sum(store["offset"] - store["start"] for store in stores)
    total = sum(store["end"] - store["start"] for store in stores)
    table = Table.grid(padding=(0, 2))
    table.add_row("restoring", ProgressBar(total, done, width=40), f"{done:,} of {total:,}")
    for store in stores[:most]:
        size = store["end"] - store["start"]
        bar = ProgressBar(size, store["offset"] - store["start"], width=40)
        table.add_row(Text(f"  {store['store']} {store['partition']}"), bar, f"{size:,}")
    if len(stores) > most:
        table.add_row(f"  and {len(stores) - most} more")
    return table


def tasks(answers: Sequence[Answer], most: int) -> Table:
    """Those with the highest lag, if there is no room for all."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("task", "slot", "records", "rate", "lag", "restored", "worker", "reads"):
        # Where there is little room, it is these that are cut.
        is_long = title in ("worker", "reads")
        is_text = is_long or title == "task"
        table.add_column(title, justify="left" if is_text else "right", no_wrap=not is_long)
    shown = list(answers)
    if len(shown) > most:
        shown = sorted(shown, key=lambda task: -(task["lag"] or 0))[: most - 1]
    for task in sorted(shown, key=lambda task: (task["subtopology"], task["partition"])):
        table.add_row(
            Text(task["id"]),
            str(task["slot"]),
            f"{task['records_total']:,}",
            f"{task['rate']:,.0f}/s",
            number(task["lag"]),
            f"{task['restored_total']:,}",
            _cut(task["worker"] or "?"),
            _cut(", ".join(f"{each['topic']} {each['partition']}" for each in task["inputs"])),
        )
    if len(answers) > len(shown):
        table.add_row(f"and {len(answers) - len(shown)} more", style="dim")
    return table


def _cut(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")


def curve(numbers: Sequence[float | None], width: int) -> str:
    """The last numbers as bars, one for each column."""
    shown = list(numbers)[-width:]
    highest = max((number for number in shown if number is not None), default=0)
    steps = len(_BARS) - 1
    return "".join(
        " " if number is None else _BARS[round(number / highest * steps) if highest else 0]
        for number in shown
    ).rjust(width)


def number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def duration(seconds: float) -> str:
    """3 h 12 min."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
