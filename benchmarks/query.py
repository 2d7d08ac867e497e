"""What it costs to ask a running application.

    scripts/bench query [--records N] [--keys N] [--rate N] [--seconds S] [--rounds N] [--json]

An application counts purchases by key, on Kafka and Spark, in this process:

- gets a second of `streams.store(…).get`, one after the other;
- REST lookups of random keys at a fixed rate, from another process, and how long they take: when
  the application has nothing to do, and when it has more to do than it can. A lookup's time begins
  when it was due, so that one that waits for another is not left out;
- the records a second of the application with and without these lookups, in turn: the best of some
  rounds of each;
- the bytes a second that an open console asks for.

Times are those of the whole machine: they say something if it has nothing else to do, and if these
processes have the usual priority.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headrace import KafkaStreams, State, console
from headrace.embedded import EmbeddedKafka
from headrace.query import ReadOnlyKeyValueStore

from .asking import Connection, Latencies, at_rate
from .engine.load import create_topics, load
from .engine.topologies import TOPOLOGIES

_CONSOLE = Path(console.__file__).parent / "static" / "main.js"
_POLL = re.compile(r'new Poll\(\(\) => get\("([^"]+)"\), ([0-9_]+)')


@dataclass(frozen=True)
class Figures:
    gets_per_second: int
    idle: Latencies
    busy: Latencies
    records_per_second: int
    records_per_second_asked: int
    loss_percent: float
    console_bytes_per_second: int


def main() -> int:
    options = _parser().parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as directory,
        EmbeddedKafka(progress=_tell) as kafka,
    ):
        _tell(f"loading {options.records:,} records")
        load(kafka.bootstrap_servers, "purchases", options.records, options.keys)
        bench = Bench(kafka.bootstrap_servers, Path(directory), options)
        figures = bench.run()
    print(json.dumps(asdict(figures)) if options.json else _text(figures))
    return 0


class Bench:
    def __init__(self, servers: str, directory: Path, options: argparse.Namespace) -> None:
        self._servers = servers
        self._directory = directory
        self._options = options
        self._runs = 0

    def run(self) -> Figures:
        options = self._options
        quiet: list[float] = []
        asked: list[float] = []
        busy: list[Latencies] = []
        for number in range(options.rounds):
            with self._application() as streams:
                quiet.append(self._rate(streams))
                _tell(f"round {number + 1}: {quiet[-1]:,.0f} records/s")
            with self._application() as streams, self._asking(streams, None) as answers:
                asked.append(self._rate(streams))
                busy.append(answers())
                _tell(f"round {number + 1}, asked: {asked[-1]:,.0f} records/s, {busy[-1]}")
                if number == options.rounds - 1:
                    _tell("at rest")
                    with self._asking(streams, options.seconds) as at_rest:
                        idle = at_rest()
                    gets = self._gets(streams)
                    size = _polled(streams.server_address or "", options.seconds)
        best = min(busy, key=lambda each: each.p99)
        loss = 100 * (1 - max(asked) / max(quiet))
        return Figures(
            gets, idle, best, int(max(quiet)), int(max(asked)), round(loss, 1), int(size)
        )

    @contextmanager
    def _application(self) -> Iterator[KafkaStreams]:
        self._runs += 1
        name = f"query-{self._runs}"
        create_topics(self._servers, {f"{name}-out": 4})
        settings = {
            "application.id": name,
            "bootstrap.servers": self._servers,
            "processing.guarantee": "exactly_once_v2",
            "num.stream.threads": 2,
            "replication.factor": 1,
            "auto.offset.reset": "earliest",
            "state.dir": str(self._directory / name),
            "application.server": "127.0.0.1:0",
        }
        with KafkaStreams(TOPOLOGIES["count"]("purchases", f"{name}-out"), settings) as streams:
            streams.wait_for(State.RUNNING, State.ERROR)
            yield streams

    def _rate(self, streams: KafkaStreams) -> float:
        """Records a second, from the end of the first batch to the end of the last."""
        seen: list[tuple[float, int]] = []
        while not seen or seen[-1][1] < self._options.records:
            status = streams.status()
            if status.state.has_ended:
                raise SystemExit(f"Ended: {status.last_error}")
            if status.records_total and (not seen or status.records_total != seen[-1][1]):
                seen.append((time.monotonic(), status.records_total))
            time.sleep(0.01)
        if len(seen) < 2:
            raise SystemExit("All records were one batch: use more --records.")
        (began, first), (ended, last) = seen[0], seen[-1]
        return (last - first) / (ended - began)

    @contextmanager
    def _asking(self, streams: KafkaStreams, seconds: float | None) -> Iterator[Any]:
        """Lookups, from another process, for some time or until they are asked for."""
        address = streams.server_address
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        arguments = (theirs, address, self._options.rate, self._options.keys, seconds)
        process = context.Process(target=_ask, args=arguments)
        process.start()
        ours.recv()

        def answers() -> Latencies:
            if seconds is None:
                ours.send("stop")
            return Latencies.of(*ours.recv())

        try:
            yield answers
        finally:
            process.join(30)

    def _gets(self, streams: KafkaStreams) -> int:
        chance = random.Random(5)
        keys = [f"u{chance.randrange(self._options.keys)}" for _ in range(50_000)]
        get = streams.store("counts", ReadOnlyKeyValueStore).get
        best = 0.0
        for _ in range(5):
            began = time.perf_counter()
            for key in keys:
                get(key)
            best = max(best, len(keys) / (time.perf_counter() - began))
        return int(best)


def _ask(pipe: Any, address: str, rate: int, keys: int, seconds: float | None) -> None:
    pipe.send("ready")
    pipe.send(_lookups(pipe, address, rate, keys, seconds))


def _lookups(
    pipe: Any, address: str, rate: int, keys: int, seconds: float | None
) -> tuple[list[float], int, float]:
    """For some time, or until the pipe says that it is enough."""
    chance = random.Random(6)

    def ask(connection: Connection) -> bool:
        key = f"u{chance.randrange(keys)}"
        status, _ = connection.get(f"/v1/stores/counts/value?key={key}")
        return status in (200, 404)  # 404: a key that no committed batch has seen yet

    def go_on(spent: float) -> bool:
        return not pipe.poll() if seconds is None else spent < seconds

    return at_rate(address, rate, go_on, ask)


def _polled(address: str, seconds: float) -> float:
    """Bytes a second that an open console is sent: it asks for these, and says what it knows."""
    every_s = {path: int(pause) / 1000 for path, pause in _POLL.findall(_CONSOLE.read_text())}
    connection = Connection(address)
    due = dict.fromkeys(every_s, 0.0)
    tags = dict.fromkeys(every_s, "")
    size = 0
    began = time.monotonic()
    while (now := time.monotonic() - began) < seconds:
        for path, at in due.items():
            if at <= now:
                _, headers = connection.get(path, tags[path])
                size += int(headers["size"])
                tags[path] = headers.get("etag", "")
                due[path] = at + every_s[path]
        time.sleep(0.05)
    connection.close()
    return size / seconds


def _text(figures: Figures) -> str:
    def shown(name: str, found: Latencies) -> str:
        return (
            f"REST lookups, {name:6} {found.per_second:>9,.0f}/s   p50 {found.p50:.1f} ms, "
            f"p99 {found.p99:.1f} ms, max {found.max:.1f} ms, {found.failed} failed"
        )

    return "\n".join(
        [
            f"gets in the process   {figures.gets_per_second:>9,}/s",
            shown("idle", figures.idle),
            shown("busy", figures.busy),
            f"records, not asked    {figures.records_per_second:>9,}/s",
            f"records, asked        {figures.records_per_second_asked:>9,}/s   "
            f"{figures.loss_percent:+.1f} % lost",
            f"console               {figures.console_bytes_per_second:>9,} bytes/s",
        ]
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench query",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--rate", type=int, default=500, help="lookups a second")
    parser.add_argument("--seconds", type=float, default=15.0, help="of what is measured idle")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
