"""`headrace run`: runs an application, and shows how it goes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.options import ApplicationId, ConfigFile, Servers, Settings, configuration
from headrace.cli.target import Target, application_of
from headrace.cli.terminal import count, err, log_to_stderr, note

if TYPE_CHECKING:
    from headrace.app.status import Status
    from headrace.app.streams import KafkaStreams

log = logging.getLogger("headrace.cli")

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="HOST:PORT",
        help="Answer HTTP requests, and show the console, there. :0 is any free port.",
    ),
]

LogFormat = Annotated[
    str | None,
    typer.Option("--log-format", metavar="text|json", help="The setting log.format."),
]

Takeover = Annotated[
    bool,
    typer.Option(
        "--takeover",
        help="Take over at once from an instance that runs the application, which then ends. "
        "Otherwise stand by until it has ended. The setting instance.takeover.",
    ),
]

_LOG_EVERY_S = 10.0
_LOG_IDLE_EVERY_S = 60.0


def run(
    target: Target,
    config: ConfigFile = None,
    settings: Settings = None,
    servers: Servers = None,
    application_id: ApplicationId = None,
    server: Server = None,
    log_format: LogFormat = None,
    takeover: Takeover = False,
) -> None:
    """Run a topology on Kafka and Spark until Ctrl-C, and show its status.

    Ends with code 0 when it was stopped, 1 when it failed, 3 when another instance took over.
    """
    if server is not None:
        settings = [*(settings or []), f"application.server={server}"]
    if log_format is not None:
        settings = [*(settings or []), f"log.format={log_format}"]
    if takeover:
        settings = [*(settings or []), "instance.takeover=true"]
    streams = application_of(target, configuration(config, settings, servers, application_id))
    as_json = streams.config["log.format"] == "json"
    if as_json:
        log_to_stderr(logging.getLogger().level, as_json=True)
    if not log.isEnabledFor(logging.INFO):
        logging.getLogger("headrace").setLevel(logging.INFO)
        logging.getLogger("headrace.kafka.client").setLevel(logging.ERROR)
    show = _live if err.is_terminal and not as_json else _logged
    with show(streams):
        streams.run()
    processed = count(streams.status().records_total, "record")
    tell = log.info if as_json else note
    tell(f"{streams.config.application_id} stopped after {processed}")


@contextmanager
def _live(streams: KafkaStreams) -> Iterator[None]:
    """Lines at the bottom of the terminal that are kept up to date; logs go above them."""
    from rich.live import Live

    from headrace.cli.status_view import panel

    name = streams.config.application_id
    with Live(
        get_renderable=lambda: panel(streams.status(), name), console=err, refresh_per_second=4
    ):
        yield


@contextmanager
def _logged(streams: KafkaStreams) -> Iterator[None]:
    """A line in the log at every change of state, and every now and then."""
    from headrace.cli.status_view import line

    ended = threading.Event()
    reporter = threading.Thread(
        target=_report, args=(streams.status, line, ended), name="status", daemon=True
    )
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()
        log.info(line(streams.status()))


def _report(
    status: Callable[[], Status], line: Callable[[Status], str], ended: threading.Event
) -> None:
    said: Status | None = None
    at = 0.0
    while not ended.wait(0.2):
        now = status()
        is_new = said is None or now.records_total != said.records_total
        due = time.monotonic() - at >= (_LOG_EVERY_S if is_new else _LOG_IDLE_EVERY_S)
        if said is None or now.state is not said.state or due:
            said, at = now, time.monotonic()
            log.info(line(now))
