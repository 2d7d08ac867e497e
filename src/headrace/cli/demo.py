"""`headrace demo`: the purchases of a chain of stores, on a Kafka and a Spark of its own."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from headrace.cli import store_purchases as store
from headrace.cli.demo_purchases import SOMEBODY, Customers
from headrace.cli.demo_results import OUTPUTS, WINDOWED, Results
from headrace.cli.options import as_client
from headrace.cli.terminal import out
from headrace.core.config import StreamsConfig
from headrace.core.errors import StreamsError
from headrace.core.record import TopicPartition

if TYPE_CHECKING:
    from headrace.app.streams import KafkaStreams
    from headrace.cli.demo_view import Moment
    from headrace.embedded import EmbeddedKafka
    from headrace.kafka.producer import PlainProducer
    from headrace.kafka.topic_tail import TopicTail

APPLICATION = "store-purchases"
KEY = WINDOWED
"""Reads the keys of `department-counts`: `headrace consume -K headrace.cli.demo:KEY`."""

_PARTITIONS = 2
_PURCHASES_PER_SECOND = 300
_SECONDS_WITHOUT_TERMINAL = 20.0
_PATIENCE_S = 180.0
_REFRESH_S = 0.25
_LINE_EVERY_S = 2.0

Tell = Callable[[str], None]
Show = Callable[["Moment"], None]


def demo(
    seconds: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="N",
            help="End after so many seconds of results. Without it: at Ctrl-C, or, where the "
            f"output is no terminal, after {_SECONDS_WITHOUT_TERMINAL:.0f}.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="Of Kafka. 0: one that is free.")
    ] = 0,
) -> None:
    """Run the example of a store's purchases on a Kafka and a Spark of its own.

    Nothing is needed but Java, and the network when it runs for the first time. Nothing stays.
    """
    if seconds is None and not out.is_terminal:
        seconds = _SECONDS_WITHOUT_TERMINAL
    with (
        suppress(KeyboardInterrupt),
        _signals(),
        TemporaryDirectory(prefix="headrace-demo-") as directory,
    ):
        _run(directory, port, seconds)
    _say("The demo has ended. The application is examples/store_purchases.py.")


def _run(directory: str, port: int, seconds: float | None) -> None:
    from headrace.embedded import EmbeddedKafka
    from headrace.kafka.jars import SPARK_KAFKA, resolve
    from headrace.spark.class_archive import java_options

    with _progress("looking for Java libraries") as tell:
        resolve(SPARK_KAFKA, tell)
        java_options(tell)  # makes Spark's archive, if there is none
        kafka = EmbeddedKafka(port=port, progress=tell)
        kafka.start()
    try:
        _say(f"Kafka runs at {kafka.bootstrap_servers}.")
        _run_on(kafka, directory, seconds)
    finally:
        with _progress("stopping Kafka"):
            kafka.stop()


def _run_on(kafka: EmbeddedKafka, directory: str, seconds: float | None) -> None:
    from headrace.app.lifecycle import State
    from headrace.app.streams import KafkaStreams
    from headrace.cli.demo_topology import trees

    for topic in (store.PURCHASES, *OUTPUTS):
        kafka.create_topic(topic, _PARTITIONS)
    topology = store.topology()
    _say("The application's topology:")
    out.print(*trees(topology), sep="\n")
    streams = KafkaStreams(
        topology,
        application_id=APPLICATION,
        bootstrap_servers=kafka.bootstrap_servers,
        processing_guarantee="exactly_once_v2",
        state_dir=directory,
        application_server="127.0.0.1:0",
    )
    try:
        streams.start()
        _say(f"The console is at {streams.server_address}")
        with _progress("starting Spark"), _without_javas_remarks():
            while streams.state is State.REBALANCING:
                time.sleep(_REFRESH_S)
        with (
            _clients(kafka.bootstrap_servers) as (producer, tail),
            _showing(_hints(kafka.bootstrap_servers, streams.server_address)) as show,
        ):
            _watch(streams, producer, tail, show, seconds)
    finally:
        with _progress("stopping the application"):
            streams.close()


def _watch(
    streams: KafkaStreams,
    producer: PlainProducer,
    tail: TopicTail,
    show: Show,
    seconds: float | None,
) -> None:
    """Send purchases and show results, until there were results for so many seconds."""
    from headrace.cli.demo_view import Moment

    results = Results()
    customers = Customers(time.time(), _PURCHASES_PER_SECOND)
    began = time.monotonic()
    ends: float | None = None
    while ends is None or time.monotonic() < ends:
        producer.send(customers.due(time.time()))
        results.add(tail.poll(0.1))
        show(Moment(streams.status(), customers.purchases, results))
        if streams.state.has_ended:
            raise streams.error or StreamsError("The application has ended by itself.")
        if results.are_complete:
            if ends is None and seconds is not None:
                ends = time.monotonic() + seconds
        elif time.monotonic() - began > _PATIENCE_S:
            raise StreamsError(
                f"There are no results after {_PATIENCE_S:.0f} s. `headrace doctor` looks for what "
                "is wrong, `headrace --debug demo` shows all logs."
            )


@contextmanager
def _clients(servers: str) -> Iterator[tuple[PlainProducer, TopicTail]]:
    """What sends purchases, and what reads all output topics from the start."""
    from headrace.kafka.positions import GroupReader
    from headrace.kafka.producer import PlainProducer
    from headrace.kafka.settings import ClientSettings
    from headrace.kafka.topic_tail import TopicTail

    settings = ClientSettings(as_client(StreamsConfig({"bootstrap.servers": servers})))
    start = {TopicPartition(topic, n): 0 for topic in OUTPUTS for n in range(_PARTITIONS)}
    with (
        closing(GroupReader(settings)) as group,
        closing(PlainProducer(settings, group)) as producer,
        closing(TopicTail(settings, start)) as tail,
    ):
        producer.open()
        yield producer, tail


def _hints(servers: str, console: str | None) -> list[str]:
    program = "headrace"
    if shutil.which(program) is None:
        program = sys.argv[0] if sys.argv[0].endswith("/headrace") else "python -m headrace"
    return [
        f"Console: {console}   Ctrl-C stops everything. In another terminal:",
        f"  export HEADRACE_BOOTSTRAP_SERVERS={servers}",
        f"  export HEADRACE_APPLICATION_SERVER={urlsplit(console or '').netloc}",
        f"  {program} top",
        f"  {program} query {store.POINTS_STORE} {SOMEBODY}",
        f"  {program} consume {store.REWARDS}",
        f"  {program} consume {store.DEPARTMENT_COUNTS} -V long -K headrace.cli.demo:KEY",
    ]


# What is shown


def _say(line: str) -> None:
    out.print(line, markup=False, soft_wrap=True)


@contextmanager
def _progress(what: str) -> Iterator[Tell]:
    """That something is being done: a line that goes when it is, or lines that stay."""
    if out.is_terminal:
        with out.status(f"{what} …") as status:
            yield lambda line: status.update(f"{line} …")
    else:
        _say(f"{what} …")
        yield _say


@contextmanager
def _showing(hints: list[str]) -> Iterator[Show]:
    from headrace.cli.demo_view import line, output_lines, view

    shown_at = 0.0
    last: Moment | None = None

    def is_due(every_s: float) -> bool:
        nonlocal shown_at
        now = time.monotonic()
        if now - shown_at < every_s:
            return False
        shown_at = now
        return True

    if out.is_terminal:
        from rich.live import Live

        with Live(console=out, auto_refresh=False) as live:

            def refresh(moment: Moment) -> None:
                if is_due(_REFRESH_S):
                    live.update(view(moment, hints, out.height), refresh=True)

            yield refresh
        return

    def say(moment: Moment) -> None:
        nonlocal last
        last = moment
        if is_due(_LINE_EVERY_S):
            _say(line(moment))

    for hint in hints:
        _say(hint)
    yield say
    if last is not None:
        for text in [line(last), *output_lines(last.results)]:
            _say(text)


@contextmanager
def _without_javas_remarks() -> Iterator[None]:
    """Processes that are started meanwhile have no standard error, unless all logs are wanted."""
    if logging.getLogger().isEnabledFor(logging.DEBUG):
        yield
        return
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _signals() -> Iterator[None]:
    """Have SIGTERM interrupt as Ctrl-C does: everything is closed on the way out."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
