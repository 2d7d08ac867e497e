"""A run: an application that works for long, input that never ends, and a sample now and then."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from confluent_kafka import Producer

from headrace.embedded import EmbeddedKafka
from tests.chaos.processes import end_session

from . import ROOT
from .application import SOURCE, TOPICS
from .sample import held, on_disk, processes
from .trend import Point

PARTITIONS = 2
_KEYS, _PAGES = 1000, 20
_RECORDS_A_TICK, _TICK_S = 10, 0.05
_STOP_S = 60.0
_HEAP = "512m"


class Ended(Exception):
    """The application did, before its time."""


class SoakRun:
    """Leaves `samples.csv` and `driver.log` in its directory; samples are written as they come."""

    def __init__(self, kafka: EmbeddedKafka, directory: Path, sample_every_s: float) -> None:
        self.series: dict[str, list[Point]] = {}
        self.batches: list[Point] = []
        """How many there were since the application began."""
        self._kafka = kafka
        self._directory = directory
        self._sample_every_s = sample_every_s
        self._state, self._temporary = directory / "state", directory / "temporary"
        self._vitals = directory / "vitals.json"
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 5})
        self._written = 0

    def run(self, minutes: float) -> None:
        """Raises Ended."""
        for directory in (self._state, self._temporary):
            directory.mkdir(parents=True)
        for topic in TOPICS:
            self._kafka.create_topic(topic, PARTITIONS)
        driver = self._start()
        try:
            with (self._directory / "samples.csv").open("w", newline="") as file:
                self._work(driver, minutes * 60, file)
            driver.terminate()
            code = driver.wait(_STOP_S)
            if code != 0:
                raise Ended(f"The application ended with {code}.\n{self._log_tail()}")
        finally:
            end_session(driver.pid)
            driver.wait()
            self._producer.flush()

    def _start(self) -> subprocess.Popen[bytes]:
        spec = self._directory / "spec.json"
        spec.write_text(json.dumps({"settings": self._settings(), "vitals": str(self._vitals)}))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self._temporary)}
        with (self._directory / "driver.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.soak.application", str(spec)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=environment,
                start_new_session=True,
            )

    def _settings(self) -> Mapping[str, object]:
        # A heap that is whole from the start: what Java takes beside it is seen at once, and what
        # is in it is told by the application.
        java = f"-Xms{_HEAP} -XX:+AlwaysPreTouch -Djava.io.tmpdir={self._temporary}"
        return {
            "application.id": "soak",
            "bootstrap.servers": self._kafka.bootstrap_servers,
            "processing.guarantee": "exactly_once_v2",
            "state.dir": str(self._state),
            "num.stream.threads": 2,
            "commit.interval.ms": 100,
            "spark.master": "local[2]",
            "spark.driver.memory": _HEAP,
            "spark.local.dir": str(self._temporary),
            "spark.driver.extraJavaOptions": java,
        }

    def _work(self, driver: subprocess.Popen[bytes], seconds: float, file: TextIO) -> None:
        rows = csv.writer(file)
        began = sampled = time.monotonic()
        while (now := time.monotonic()) < began + seconds:
            if driver.poll() is not None:
                raise Ended(f"The application ended with {driver.returncode}.\n{self._log_tail()}")
            self._feed()
            if now - sampled >= self._sample_every_s:
                sampled = now
                for name, value in self._sample(driver.pid).items():
                    self.series.setdefault(name, []).append(Point(now - began, value))
                    rows.writerow((f"{now - began:.1f}", name, f"{value:.0f}"))
                file.flush()
            time.sleep(_TICK_S)

    def _feed(self) -> None:
        for _ in range(_RECORDS_A_TICK):
            self._written += 1
            key, page = self._written % _KEYS, self._written % _PAGES
            self._producer.produce(SOURCE, b"page %d" % page, b"user %d" % key)
        self._producer.poll(0)

    def _sample(self, session: int) -> dict[str, float]:
        found = held(processes(session))
        found |= on_disk(self._state) | on_disk(self._temporary)
        if self._vitals.exists():
            told = json.loads(self._vitals.read_text())
            found["jvm heap"] = told["heap"]
            self.batches.append(Point(told["seconds"], told["batches"]))
        return found

    def _log_tail(self, lines: int = 30) -> str:
        log = (self._directory / "driver.log").read_text(errors="replace")
        return "\n".join(log.splitlines()[-lines:])
