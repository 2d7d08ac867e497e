"""How each row of the benchmark is measured.

Throughput (map, count, window, regroup, join): both engines process the same records, with two
threads or slots. They take turns, Kafka Streams first, and the best run of each counts: whatever
else a machine does only makes a run slower. The figure is the rate over the second half of the
records, as engines warm up. Kafka Streams counts records as they enter the topology; Headrace those
that are committed, with which it may only look slower. The output of Headrace is checked.

latency: 200 records a second through `map`; median from the timestamp of a record to a reader of
committed records.

batch: the median time of a batch while that goes on.

start: from the start of the process to the first record; of Headrace, the first that is committed,
imports and the start of Spark included; of Kafka Streams, without the start of the JVM.

memory: the worker with the highest peak of resident memory, when a million keys are counted. Pages
of the state's files that are mapped count too.

restore: the local state of these counts is deleted, and the application started again; records of
the changelog in a second and slot, from the start of the restore to a running application.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from . import expected, latency
from .load import load
from .processes import headrace, kafka_streams
from .report import Goal, Row
from .topologies import TOPOLOGIES

Figures = dict[str, Any]
RATE = "records/s"
_THROUGHPUT_GOALS = {"map": 1.0, "count": 1.3, "window": 1.2, "regroup": 0.9, "join": 1.0}
_STATE_KEYS = 1_000_000
_LATENCY_RECORDS = 1_000
_LATENCY_SECONDS = 30
_LATENCY_RATE = 200


@dataclass(frozen=True)
class Bench:
    servers: str
    directory: Path
    records: int
    keys: int
    rounds: int
    tell: Callable[[str], None]

    def rows(self, modes: list[str]) -> Iterator[Row]:
        """The rows of these modes, in the order of `MODES`."""
        for mode in TOPOLOGIES:
            if mode in modes:
                yield self._throughput(mode)
        if not _LIVE.isdisjoint(modes):
            yield from (row for row in self._live() if row.mode in modes)
        if not _STATE.isdisjoint(modes):
            yield from (row for row in self._state() if row.mode in modes)

    @cached_property
    def _topic(self) -> str:
        return self._loaded("purchases", self.records, self.keys)

    def _throughput(self, mode: str) -> Row:
        rounds = [self._round(mode, number) for number in range(self.rounds)]
        theirs, ours = (best(runs) for runs in zip(*rounds, strict=True))
        return Row(
            mode,
            RATE,
            ours["rate_second_half"],
            theirs["rate_second_half"],
            Goal("ratio", "at least", _THROUGHPUT_GOALS[mode]),
            {
                "records": self.records,
                "keys": self.keys,
                "headrace_rate": ours["rate"],
                "kafka_streams_rate": theirs["rate"],
                "headrace_batches": ours["batches"],
                "headrace_worker_peak_mb": max(_highest_peak(run[1]) for run in rounds),
                "rounds": [[run["rate_second_half"] for run in both] for both in rounds],
            },
        )

    def _round(self, mode: str, number: int) -> tuple[Figures, Figures]:
        """What Kafka Streams and what Headrace measured of themselves."""
        topic = self._topic
        name = f"{mode}-{number + 1}"
        self.tell(f"{name}: Kafka Streams")
        with kafka_streams(
            self.servers, mode, topic, self.records, self.directory / f"{name}-yardstick"
        ) as run:
            theirs = run.result()
        self.tell(f"{name}: Headrace")
        with headrace(
            self.servers,
            mode,
            topic,
            self.records,
            self.directory / name,
            application_id=f"headrace-{name}",
        ) as run:
            ours = run.result()
        self.tell(f"{name}: checking the output")
        output = expected.read(self.servers, ours["out"])
        expected.check(mode, self.records, self.keys, output)
        return theirs, ours

    def _live(self) -> Iterator[Row]:
        """Rows of engines that run and have little to do."""
        topic = self._loaded("trickle", _LATENCY_RECORDS, _LATENCY_RECORDS)
        self.tell("latency: Kafka Streams")
        with kafka_streams(
            self.servers,
            "map",
            topic,
            _LATENCY_RECORDS,
            self.directory / "latency-yardstick",
            keep_running=True,
        ) as run:
            their_start = run.result()
            theirs = self._latency(topic, their_start["out"])
            run.stop()
        records = _LATENCY_RECORDS + theirs.sent
        self.tell("latency: Headrace")
        with headrace(
            self.servers,
            "map",
            topic,
            records,
            self.directory / "latency",
            application_id="headrace-latency",
            keep_running=True,
        ) as run:
            our_start = run.result()
            ours = self._latency(topic, our_start["out"])
            run.stop()
            batch_ms = run.result()["batch_ms"]
        yield Row(
            "latency",
            "ms",
            ours.p50_ms,
            theirs.p50_ms,
            Goal("ratio", "at most", 4.0),
            {"headrace_p99_ms": round(ours.p99_ms), "kafka_streams_p99_ms": round(theirs.p99_ms)},
        )
        yield Row("batch", "ms", batch_ms, None, Goal("headrace", "at most", 300))
        yield Row(
            "start",
            "s",
            our_start["startup_s"],
            their_start["startup_s"],
            Goal("headrace", "at most", 15),
        )

    def _latency(self, topic: str, sink: str) -> latency.Latency:
        measured = latency.measure(
            self.servers, topic, sink, seconds=_LATENCY_SECONDS, rate=_LATENCY_RATE
        )
        assert measured.seen == measured.sent, f"{measured.sent} sent, {measured.seen} came out"
        return measured

    def _state(self) -> Iterator[Row]:
        """Rows about many keys in a persistent store."""
        topic = self._loaded("many-keys", self.records, _STATE_KEYS)
        directory = self.directory / "state"
        self.tell("memory: Headrace")
        with headrace(
            self.servers,
            "count",
            topic,
            self.records,
            directory,
            application_id="headrace-state",
        ) as run:
            first = run.result()
        yield Row(
            "memory",
            "MB",
            _highest_peak(first),
            None,
            Goal("headrace", "at most", 400),
            {"keys": _STATE_KEYS, "workers": first["workers"]},
        )
        shutil.rmtree(directory / "state")
        self.tell("restore: Headrace")
        with headrace(
            self.servers,
            "count",
            topic,
            self.records,
            directory,
            application_id="headrace-state",
        ) as run:
            second = run.result()
        yield Row(
            "restore",
            "records/s/slot",
            second["restored_per_slot"],
            None,
            Goal("headrace", "at least", 150_000),
            {"restored": second["restored"]},
        )

    def _loaded(self, topic: str, records: int, keys: int) -> str:
        began = time.monotonic()
        load(self.servers, topic, records, keys)
        self.tell(f"loaded {records:,} records in {time.monotonic() - began:.1f} s")
        return topic


_LIVE = {"latency", "batch", "start"}
_STATE = {"memory", "restore"}
MODES = (*TOPOLOGIES, "latency", "batch", "start", "memory", "restore")


def best(runs: Iterable[Figures]) -> Figures:
    """The fastest run. One that did everything in a single step has no rate."""
    return max(runs, key=lambda figures: figures["rate_second_half"] or 0.0)


def _highest_peak(figures: Figures) -> float:
    return round(max((worker["peak"] for worker in figures["workers"]), default=0.0), 1)
