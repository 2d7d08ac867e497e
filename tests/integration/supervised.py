"""Applications in a process of their own, each with a Spark of its own:
`python -m tests.integration.supervised SETTINGS NAME …`.

They count the words of `NAME.in`. The word `wait` takes longer than anybody would wait for it, and
so does init() if there is a file `init-waits`. The process tells on stdout what happens; the first
of several applications is closed when there is a file `close`.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from headrace import (
    KafkaStreams,
    Processor,
    ProcessorContext,
    Record,
    StreamsBuilder,
    StreamThreadExceptionResponse,
    Topology,
    serdes,
)

_FOREVER_S = 300.0
_TEXT = serdes.string()


class Waits(Processor[str, str, str, str]):
    """Goes on waiting whatever it is told to."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def init(self, context: ProcessorContext[str, str]) -> None:
        self._context = context
        if (self._directory / "init-waits").exists():
            self._wait()

    def process(self, record: Record[str, str]) -> None:
        if record.value == "wait":
            self._wait()
        self._context.forward(record)

    def _wait(self) -> None:
        (self._directory / "waiting").touch()
        time.sleep(_FOREVER_S)


def topology(name: str, directory: Path) -> Topology:
    builder = StreamsBuilder()
    words = builder.stream(f"{name}.in", key=_TEXT, value=_TEXT)
    counts = words.process(lambda: Waits(directory)).group_by_key(key=_TEXT, value=_TEXT).count()
    counts.to_stream().to(f"{name}.out", key=_TEXT, value=serdes.long())
    return builder.build()


def tell(*words: object) -> None:
    print(*words, flush=True)


def _handler(error: Exception) -> StreamThreadExceptionResponse:
    tell("asked", repr(error))
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT


def _listener(name: str) -> Callable[[object, object], None]:
    return lambda new, old: tell(name, new)


def main(settings: str, *names: str) -> None:
    logging.basicConfig(level=logging.INFO)
    given, directory = json.loads(settings), Path.cwd()
    applications = []
    for name in names:
        application = KafkaStreams(topology(name, directory), given, application_id=name)
        application.set_uncaught_exception_handler(_handler)
        application.set_state_listener(_listener(name))
        applications.append(application)
    *others, last = applications
    for other in others:
        other.start()
    if others:
        last.start()
        while not (directory / "close").exists():
            time.sleep(0.1)
        for other in others:
            assert other.close(timedelta(seconds=60))
            tell("closed", other.error)
        while not (directory / "end").exists():
            time.sleep(0.1)
        assert last.close(timedelta(seconds=60))
        tell("closed", last.error)
    else:
        last.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
