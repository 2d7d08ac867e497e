"""How the status of a running application is shown."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from headrace.app.lifecycle import State
from headrace.app.restoration import Restoring
from headrace.app.status import Status
from headrace.cli.terminal import count

_MOST_ROWS = 12
_STYLES = {
    State.RUNNING: "green",
    State.REBALANCING: "yellow",
    State.PENDING_SHUTDOWN: "yellow",
    State.PENDING_ERROR: "red",
    State.ERROR: "red",
}


def panel(status: Status, application_id: str) -> RenderableType:
    """Some lines for a terminal: the whole, then what is being restored, then the tasks."""
    parts: list[RenderableType] = [_headline(status, application_id)]
    if status.restoring:
        parts.append(_restoring(status.restoring))
    if status.tasks:
        parts.append(_tasks(status))
    if status.reason:
        parts.append(Text(status.reason, style="yellow"))
    if status.last_error:
        parts.append(Text(status.last_error, style="red"))
    return Group(*parts)


def line(status: Status) -> str:
    """One line for a log."""
    parts = [
        status.state.value,
        count(len(status.tasks), "task"),
        count(status.records_total, "record"),
        f"{status.rate:,.0f}/s",
        f"lag {_lag(status)}",
        f"batch {status.batch_ms:.0f} ms",
    ]
    if status.restoring:
        done, total = _restored(status.restoring)
        stores = count(len(status.restoring), "store")
        parts.append(f"restoring {stores} ({done:,} of {total:,} records)")
    if status.reason:
        parts.append(status.reason.splitlines()[0])
    if status.last_error:
        parts.append(f"last error: {status.last_error.splitlines()[0]}")
    return ", ".join(parts)


def _headline(status: Status, application_id: str) -> Text:
    state = Text(f" {status.state.value} ", style=f"bold {_STYLES.get(status.state, '')} reverse")
    facts = (
        f"{count(status.records_total, 'record')}   {status.rate:,.0f}/s   lag {_lag(status)}   "
        f"batch {status.batch_ms:.0f} ms   {count(len(status.tasks), 'task')}"
    )
    return Text.assemble(state, " ", (application_id, "bold"), "   ", facts)


def _lag(status: Status) -> str:
    return "?" if status.lag is None else f"{status.lag:,}"


def _restoring(stores: Iterable[Restoring]) -> Table:
    """The stores that have most to do, and all of them together."""
    stores = sorted(stores, key=lambda store: store.offset - store.end)
    table = Table.grid(padding=(0, 2))
    shown = stores[:_MOST_ROWS]
    done, total = _restored(stores)
    table.add_row("restoring", ProgressBar(total, done, width=40), f"{done:,} of {total:,}")
    for store in shown:
        size = store.end - store.start
        bar = ProgressBar(size, store.offset - store.start, width=40)
        table.add_row(Text(f"  {store.store} {store.partition.partition}"), bar, f"{size:,}")
    if len(stores) > len(shown):
        table.add_row(f"  and {len(stores) - len(shown)} more")
    return table


def _restored(stores: Iterable[Restoring]) -> tuple[int, int]:
    stores = list(stores)
    return (
        sum(store.offset - store.start for store in stores),
        sum(store.end - store.start for store in stores),
    )


def _tasks(status: Status) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("task", "thread", "last batch", "dropped", "restored"):
        table.add_column(title, justify="left" if title in ("task", "thread") else "right")
    tasks = sorted(status.tasks.values(), key=lambda task: _task_order(task.task))
    for task in tasks[:_MOST_ROWS]:
        dropped = status.dropped.get(task.task, 0)
        table.add_row(
            task.task, str(task.slot), f"{task.records:,}", f"{dropped:,}", f"{task.restored:,}"
        )
    if len(tasks) > _MOST_ROWS:
        table.add_row(f"and {len(tasks) - _MOST_ROWS} more", style="dim")
    return table


def _task_order(name: str) -> tuple[tuple[int, str], ...]:
    """0_2 before 0_10."""
    return tuple((int(part) if part.isdecimal() else -1, part) for part in name.split("_"))
