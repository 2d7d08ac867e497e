"""`headrace broker`: a Kafka on this machine."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.terminal import err, note, say


def broker(
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="0: one that is free.")
    ] = 9092,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory", "-d", help="Keep the data there. Without it, it is gone at the end."
        ),
    ] = None,
    brokers: Annotated[int, typer.Option("--brokers", min=1, max=5)] = 1,
) -> None:
    """Run a Kafka broker until Ctrl-C, for trying things out."""
    from headrace.embedded import EmbeddedKafka

    kafka = EmbeddedKafka(directory, brokers=brokers, port=port, progress=note)
    with _signals() as asked:
        with err.status("starting Kafka …"):
            kafka.start()
        try:
            say(kafka.bootstrap_servers)
            for line in _next_steps(kafka.bootstrap_servers, directory):
                note(line)
            while not asked.wait(0.5):  # a wait without end may not notice a signal
                pass
        finally:
            with err.status("stopping Kafka …"):
                kafka.stop()


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """Is set when Ctrl-C is pressed or the process is told to end."""
    asked = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: asked.set()) for number in numbers}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _next_steps(servers: str, directory: Path | None) -> list[str]:
    option = "" if servers.endswith(":9092") else f" -b {servers}"
    where = f"in {directory}" if directory else "temporary: gone when the broker stops"
    return [
        f"Kafka runs at {servers}; its data is {where}. Stop it with Ctrl-C. In another terminal:",
        f"  headrace topics create orders -p 4{option}",
        f"  headrace produce orders -k :{option}",
        f"  headrace consume orders --from-beginning{option}",
        f"  headrace run module:topology -a my-application -b {servers}",
    ]
