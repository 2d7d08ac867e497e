"""`headrace server`: a ksqlDB server."""

from __future__ import annotations

import gc
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.options import Servers, Settings, pairs
from headrace.cli.terminal import note
from headrace.core.config_sources import from_file

if TYPE_CHECKING:
    from headrace.ksql.server import Server

_TURN_S = 0.0005

server = typer.Typer(help="A ksqlDB server.", no_args_is_help=True)

ConfigArgument = Annotated[
    Path | None,
    typer.Argument(help="Settings, in a .properties or .toml file.", metavar="[CONFIG]"),
]


@server.command()
def start(
    config: ConfigArgument = None,
    settings: Settings = None,
    servers: Servers = None,
    in_memory: Annotated[
        bool,
        typer.Option(
            "--in-memory",
            help="To try things out: topics and queries in this process, without Kafka and Spark. "
            "Nothing is kept.",
        ),
    ] = False,
) -> None:
    """Serve ksqlDB's REST API until Ctrl-C: statements, persistent queries, pull and push queries.

    Servers with the same ksql.service.id share their statements by a topic. `headrace sql` is its
    command line.
    """
    given = _given(settings, servers)
    with ExitStack() as opened, _stopped() as stop:
        from headrace.ksql.configuration import listener, settings_of
        from headrace.ksql.http.settings import forwarding_of, http_server, without_http

        if in_memory:
            all_settings = {**_from_file(config), **given}
            service = _in_memory_server(without_http(all_settings))
        else:
            from headrace.ksql.launch import interactive_server

            all_settings = settings_of(config, given)
            service = interactive_server(
                without_http(all_settings), forwarding=forwarding_of(all_settings)
            )
        opened.callback(service.close)
        http = http_server(service, listener(all_settings), all_settings)
        opened.callback(http.close)
        service.start()
        # Threads that compute give way sooner, so that whoever only asks isn't kept waiting.
        sys.setswitchinterval(_TURN_S)
        # What is there now stays: who looks for garbage, and has all others wait, passes it over.
        gc.collect()
        gc.freeze()
        note(
            f"The server is at {http.address}, its console at {http.address}/console. "
            "Ctrl-C stops it."
        )
        stop.wait()
        note("Stopping …")


@server.command("run")
def run_file(
    queries: Annotated[Path, typer.Argument(help="A file of SQL.", metavar="QUERIES.SQL")],
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="Settings, in a .properties or .toml file."),
    ] = None,
    settings: Settings = None,
    servers: Servers = None,
) -> None:
    """Run the persistent queries of a file until Ctrl-C, and take no other statements."""
    from headrace.testing.sql.files import text_of

    text = text_of(queries)
    with ExitStack() as opened, _stopped() as stop:
        from headrace.ksql.configuration import settings_of
        from headrace.ksql.launch import headless_server

        service = headless_server(settings_of(config, _given(settings, servers)), text)
        opened.callback(service.close)
        note(f"The queries of {queries} run. Ctrl-C stops them.")
        stop.wait()
        note("Stopping …")


def _in_memory_server(settings: dict[str, Any]) -> Server:
    from headrace.ksql.commands import InMemoryCommandLog
    from headrace.ksql.configuration import advertised
    from headrace.ksql.local import LocalRunner
    from headrace.ksql.memory import InMemoryCluster
    from headrace.ksql.server import Server
    from headrace.sql.formats import InMemorySchemaRegistry

    cluster = InMemoryCluster()
    return Server(
        settings,
        cluster=cluster,
        log=InMemoryCommandLog(),
        runner=LocalRunner(cluster),
        registry=InMemorySchemaRegistry(),
        host=advertised(settings).partition("://")[2],
    )


def _given(settings: list[str] | None, servers: str | None) -> dict[str, Any]:
    given: dict[str, Any] = pairs(settings)
    if servers is not None:
        given["bootstrap.servers"] = servers
    return given


def _from_file(path: Path | None) -> dict[str, Any]:
    return {} if path is None else {each.key: each.value for each in from_file(path)}


@contextmanager
def _stopped() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set."""
    logging.getLogger("headrace").setLevel(logging.INFO)
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
