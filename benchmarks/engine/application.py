"""Headrace as it is measured, in a process of its own.

    python -m benchmarks.engine.application SERVERS MODE TOPIC RECORDS GUARANTEE ID STATE_DIR

Processes all records, as `KafkaStreamsBench.java` does, and prints a line of JSON. How far it is,
is read from the positions of the consumer group, as anybody could, so that only what is committed
counts. KEEP_RUNNING in the environment keeps it running until SIGTERM; then it prints another line.
STARTED_AT is the monotonic time at which the process was started.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Partition

from headrace import KafkaStreams, State, StateRestoreListener, TopicPartition

from .load import create_topics
from .memory import workers
from .progress import rates, watch
from .topologies import TOPOLOGIES

_SLOTS = 2
_PARTITIONS = 4


class RestoreWatch(StateRestoreListener):
    """When the restore began, and how many records it was."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.ended = 0.0
        self.records = 0
        self.running = threading.Event()

    def on_restore_start(self, partition: TopicPartition, store: str, start: int, end: int) -> None:
        if self.began is None:
            self.began = time.monotonic()

    def on_restore_end(self, partition: TopicPartition, store: str, records: int) -> None:
        self.records += records

    def on_state(self, new: State, old: State) -> None:
        if new is State.RUNNING:
            self.ended = time.monotonic()
        if new is State.RUNNING or new.has_ended:
            self.running.set()

    @property
    def rate_per_slot(self) -> float | None:
        """Up to the moment when the application runs, so that all that was restored is written."""
        if self.began is None or not self.records:
            return None
        return self.records / (self.ended - self.began) / _SLOTS


class Positions:
    """How many records of a topic an application has committed."""

    def __init__(self, servers: str, application_id: str, topic: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": servers, "group.id": application_id})
        self._partitions = [Partition(topic, number) for number in range(_PARTITIONS)]

    def __call__(self) -> int:
        committed = self._consumer.committed(self._partitions, 10)
        return sum(max(0, partition.offset) for partition in committed)


def application(
    servers: str, mode: str, topic: str, guarantee: str, application_id: str, state_dir: str
) -> tuple[KafkaStreams, str]:
    """The application, with the settings of the yardstick, and its output topic."""
    sink = f"{application_id}-out"
    settings = {
        "application.id": application_id,
        "bootstrap.servers": servers,
        "processing.guarantee": guarantee,
        "num.stream.threads": _SLOTS,
        "replication.factor": 1,
        "auto.offset.reset": "earliest",
        "state.dir": state_dir,
        "producer.compression.type": "lz4",
        "producer.linger.ms": 20,
    }
    return KafkaStreams(TOPOLOGIES[mode](topic, sink), settings), sink


def main() -> None:
    servers, mode, topic, records, guarantee, application_id, state_dir = sys.argv[1:]
    began = float(os.environ.get("STARTED_AT") or time.monotonic())
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.set())
    streams, sink = application(servers, mode, topic, guarantee, application_id, state_dir)
    create_topics(servers, {sink: _PARTITIONS})
    restore = RestoreWatch()
    streams.set_global_state_restore_listener(restore)
    streams.set_state_listener(restore.on_state)
    positions = Positions(servers, application_id, topic)

    def position() -> int:
        if streams.state.has_ended:
            sys.exit(f"Ended: {streams.status().last_error}")
        return positions()

    streams.start()
    restore.running.wait()
    figures = rates(watch(position, int(records), began=began), int(records))
    _tell(
        mode=mode,
        out=sink,
        **figures._asdict(),
        restored_per_slot=restore.rate_per_slot,
        restored=restore.records,
        batches=streams.status().batches,
        workers=[memory._asdict() for memory in workers(os.getpid())],
    )
    if os.environ.get("KEEP_RUNNING"):
        _tell(mode=mode, batch_ms=_watch_batches(streams, stopped))
    else:
        _drain(streams)
    streams.close()


def _watch_batches(streams: KafkaStreams, stopped: threading.Event) -> float | None:
    """The median time of a batch, until it is stopped."""
    batches: dict[int, float] = {}
    while not stopped.wait(0.05):
        status = streams.status()
        batches[status.batches] = status.batch_ms
    return statistics.median(batches.values()) if batches else None


def _drain(streams: KafkaStreams) -> None:
    """Wait until repartition topics are read as well, so that the output is complete."""
    while streams.status().lag != 0:
        time.sleep(0.1)


def _tell(**figures: Any) -> None:
    print(json.dumps({"engine": "headrace", **figures}), flush=True)


if __name__ == "__main__":
    main()
