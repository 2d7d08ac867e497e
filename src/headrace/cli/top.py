"""`headrace top`: an application that runs, live in a terminal."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.options import ConfigFile, Settings
from headrace.cli.remote import Server, remote
from headrace.cli.terminal import RemoteError, out

if TYPE_CHECKING:
    from rich.console import RenderableType

_KEPT = 600
_OTHER_LINES = 14
"""Those besides the tasks."""


def top(
    server: Server = None,
    every: Annotated[
        float, typer.Option("--every", min=0.2, metavar="SECONDS", help="How often to look.")
    ] = 1.0,
    times: Annotated[
        int | None, typer.Option("--times", min=1, metavar="N", help="End after so many looks.")
    ] = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Watch a running application: rate, lag and batch time over time, tasks, what is restored.

    Ctrl-C ends it. If the application goes away, it waits until it is back.
    """
    from rich.live import Live

    application = remote(server, config, settings)
    moment = Moment(application.url)
    moment.take(application.get("state"), application.get("tasks")["tasks"])
    looks = 1
    with (
        suppress(KeyboardInterrupt),
        Live(console=out, auto_refresh=False, screen=out.is_terminal) as live,
    ):
        live.update(moment.view(out.width, out.height), refresh=True)
        while times is None or looks < times:
            time.sleep(every)
            looks += 1
            try:
                moment.take(application.get("state"), application.get("tasks")["tasks"])
            except RemoteError as error:
                moment.lose(str(error))
            live.update(moment.view(out.width, out.height), refresh=True)


class Moment:
    """What was answered last, and figures of before."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._state: dict[str, Any] = {}
        self._tasks: Sequence[dict[str, Any]] = ()
        self._problem: str | None = None
        self._rates: deque[float | None] = deque(maxlen=_KEPT)
        self._lags: deque[float | None] = deque(maxlen=_KEPT)
        self._batches: deque[float | None] = deque(maxlen=_KEPT)

    def take(self, state: dict[str, Any], tasks: Sequence[dict[str, Any]]) -> None:
        self._state, self._tasks, self._problem = state, tasks, None
        self._add(state["rate"], state["lag"], state["batch_ms"] if state["batches"] else None)

    def lose(self, problem: str) -> None:
        """Nobody has answered: what is known stays, and is said to be old."""
        self._problem = problem
        self._add(None, None, None)

    def _add(self, rate: float | None, lag: float | None, batch_ms: float | None) -> None:
        self._rates.append(rate)
        self._lags.append(lag)
        self._batches.append(batch_ms)

    def view(self, width: int, height: int) -> RenderableType:
        """As many tasks as there is room for."""
        from rich.console import Group
        from rich.text import Text

        from headrace.cli.remote_view import headline, restoring, tasks

        parts: list[RenderableType] = [headline(self._state)]
        if self._problem is not None:
            parts.append(Text(f"NO ANSWER, trying again. {self._problem}", "bold red"))
        if self._state["reason"]:
            parts.append(Text(self._state["reason"], "yellow"))
        if self._state["last_error"]:
            parts.append(Text(self._state["last_error"], "red"))
        parts += ["", self._figures(width), ""]
        if self._state["restoring"]:
            parts += [restoring(self._state["restoring"], 4), ""]
        room = max(3, height - _OTHER_LINES)
        parts.append(tasks(self._tasks, room))
        parts += ["", Text(f"{self._url}   Ctrl-C ends", "dim")]
        return Group(*parts)

    def _figures(self, width: int) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        from headrace.cli.remote_view import curve, number

        table = Table.grid(padding=(0, 2))
        room = max(10, width - 32)
        for title, now, numbers in (
            ("rate", f"{self._state['rate']:,.0f}/s", self._rates),
            ("lag", number(self._state["lag"]), self._lags),
            ("batch", f"{self._state['batch_ms']:,.0f} ms", self._batches),
        ):
            table.add_row(
                Text(title, "dim"),
                Text(now.rjust(12), "bold"),
                Text(curve(list(numbers), room), "cyan"),
            )
        return table
