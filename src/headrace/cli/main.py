"""The commands of `headrace`.

They import what is slow to load (Kafka's client, Spark) only when they are called, so that
`headrace --help` is quick.
"""

from __future__ import annotations

import logging
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headrace.cli.broker import broker
from headrace.cli.config import config
from headrace.cli.consume import consume
from headrace.cli.demo import demo
from headrace.cli.doctor import doctor
from headrace.cli.produce import produce
from headrace.cli.query import query
from headrace.cli.reset import reset
from headrace.cli.run import run as run_topology
from headrace.cli.server import server
from headrace.cli.sql import sql
from headrace.cli.status import status
from headrace.cli.terminal import log_to_stderr, say, show_error
from headrace.cli.top import top
from headrace.cli.topics import topics
from headrace.cli.topology import topology
from headrace.core.errors import FencedError, HeadraceError

_TAKEN_OVER = 3
"""The code that a program ends with if another instance took over: to start it again at once would
be of no use."""

_HELP = "Kafka Streams for Python, run by Spark."


class Commands(TyperGroup):
    """Shows errors that we expect as a message; others keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except HeadraceError as error:
            if ctx.params.get("debug"):
                raise
            show_error(error)
            raise typer.Exit(_TAKEN_OVER if isinstance(error, FencedError) else 1) from error


app = typer.Typer(
    cls=Commands,
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback(invoke_without_command=True)
def headrace(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks of errors, and all logs.")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as version_of

        say(f"headrace {version_of('headrace')}")
        raise typer.Exit
    log_to_stderr(logging.DEBUG if debug else logging.WARNING)


app.command("run")(run_topology)
app.command()(status)
app.command()(top)
app.command()(query)
app.command()(topology)
app.command()(demo)
app.command()(broker)
app.add_typer(topics, name="topics")
app.command()(produce)
app.command()(consume)
app.command()(config)
app.command()(doctor)
app.command()(reset)
app.add_typer(sql, name="sql")
app.add_typer(server, name="server")


def run() -> None:
    """What the script `headrace` calls."""
    app()
