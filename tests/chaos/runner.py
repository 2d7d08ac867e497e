"""Runs the pipeline in a driver process, brings it up again when it dies, and checks the result."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaException

from headrace.embedded import EmbeddedKafka

from . import ROOT
from .checker import Checker
from .evidence import committed, gather, partitions_of, unread
from .faults import OBSERVER, VARIABLE, FaultPlan
from .load import HOUR_MS, Feed, Load
from .local_state import check_local_state
from .pipeline import Pipeline
from .processes import Process, end_session, kill, of_session, python_workers

MOST_CLICKS = 20_000
_POLL_S = 0.25
_PATIENCE_S = 5.0
_CLICKS_AT_ONCE = 60
_FEWEST_CLICKS = 1000
"""Fewer would not tell much."""
_EXPECTED = ("Skipping record", "Out-of-order update")
"""What is often said, and always true."""


def fresh_load(seed: int, partitions: int = 2) -> Load:
    """A load of the present: brokers would soon delete the changelogs of an older one."""
    application_id = f"chaos-{uuid.uuid4().hex[:8]}"
    start_ms = int(time.time() * 1000) // HOUR_MS * HOUR_MS - HOUR_MS
    return Load(Pipeline(application_id, partitions), seed, MOST_CLICKS, start_ms)


class Stuck(AssertionError):
    """The application didn't get anywhere."""


@dataclass
class Stalled:
    """A driver that was stopped with all its processes."""

    process: subprocess.Popen[bytes]

    def signal(self, number: signal.Signals) -> None:
        for each in of_session(self.process.pid):
            kill(each.pid, number)

    def go_on(self) -> None:
        self.signal(signal.SIGCONT)

    @property
    def code(self) -> int | None:
        """With which it has ended; None if it hasn't."""
        return self.process.poll()


@dataclass
class Driver:
    """The driver process. `starts` counts how often it had to be started."""

    spec: Path
    log: Path
    environment: Mapping[str, str]
    starts: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _sessions: list[int] = field(default_factory=list)

    def start(self) -> None:
        self.starts += 1
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.driver", str(self.spec)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=dict(self.environment),
                start_new_session=True,
            )
        self._sessions.append(self._process.pid)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def workers(self) -> list[Process]:
        return python_workers(self.pid)

    def kill(self) -> None:
        """Only the process itself: its JVM and workers are left to notice."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stall(self) -> Stalled:
        """Stop it with all its processes, as a host that hangs. `start` then starts another."""
        assert self._process is not None
        stalled, self._process = Stalled(self._process), None
        stalled.signal(signal.SIGSTOP)
        return stalled

    def check_was_killed(self) -> None:
        """Raises if it ended in another way."""
        code = None if self._process is None else self._process.returncode
        if code not in (None, -signal.SIGKILL):
            raise Stuck(f"The driver ended by itself, with {code}")

    def stop(self, timeout_s: float = 60) -> int:
        """Ask it to end, and give its exit code."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise Stuck(f"The driver didn't stop within {timeout_s:.0f} s") from None

    def end_all(self) -> None:
        """Kill whatever is left of this and all earlier starts."""
        for session in self._sessions:
            end_session(session)
        if self._process is not None:
            self._process.wait()


class Run:
    """One run of a load, from fresh topics to the final check.

        with Run(kafka, directory, load) as run:
            run.plan.add([Fault("processed")])
            run.finish()

    `directory` is for its state, logs and plan of faults. The input is written bit by bit while
    one waits for something, so that there is always some left to disturb; the load only says how
    much there can be at most.
    """

    def __init__(
        self,
        kafka: EmbeddedKafka,
        directory: Path,
        load: Load,
        *,
        cached: bool = False,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.kafka = kafka
        self.load = load
        self._clicks_read = 0
        self.state_dir = directory / "state"
        self.temporary = directory / "tmp"
        self.plan = FaultPlan(directory / "plan")
        self.kills = 0
        """Kills from outside; those at named points are in the plan."""
        self.random = random.Random(load.seed)
        self._feed = Feed(load, kafka.bootstrap_servers)
        self._cached = cached
        self._settings = {
            "application.id": load.pipeline.application_id,
            "bootstrap.servers": kafka.bootstrap_servers,
            "processing.guarantee": "exactly_once_v2",
            "auto.offset.reset": "earliest",
            "num.stream.threads": 2,
            "max.batch.records": 300,
            "commit.interval.ms": 50,
            "spark.master": "local[2]",
            # A driver that was killed is known to be gone: its session need not be waited for.
            "instance.takeover": True,
            "__step.observer__": OBSERVER,
            **({} if cached else {"statestore.cache.max.bytes": 0}),
            **(settings or {}),
        }
        self.temporary.mkdir(parents=True, exist_ok=True)
        self.driver = Driver(
            directory / "spec.json",
            directory / "driver.log",
            {
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "TMPDIR": str(self.temporary),
                VARIABLE: str(self.plan.directory),
            },
        )

    def __enter__(self) -> Self:
        pipeline = self.load.pipeline
        for topic in (*pipeline.inputs, *pipeline.outputs):
            self.kafka.create_topic(topic, pipeline.partitions)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.driver.end_all()
        if error is not None:
            print(self.log_tail())

    # While it runs

    def start(self) -> None:
        pipeline = self.load.pipeline
        spec = {
            "application_id": pipeline.application_id,
            "partitions": pipeline.partitions,
            "settings": {"state.dir": str(self.state_dir), **self._settings},
        }
        self.driver.spec.write_text(json.dumps(spec))
        self.driver.start()
        self.plan.set_driver(self.driver.pid)

    def replace_host(self) -> Stalled:
        """Let the driver hang with all its processes, and start another, whose state is its own."""
        stalled = self.driver.stall()
        self.state_dir = self.state_dir.with_name(f"state-{self.driver.starts}")
        self.start()
        return stalled

    def wait(self, reached: Callable[[], bool], what: str, timeout_s: float = 240) -> None:
        """Wait, write more input as it is read, and start the driver whenever it was killed."""
        deadline = time.monotonic() + timeout_s
        while not reached():
            if not self.driver.is_alive:
                self.driver.check_was_killed()
                self.start()
            if time.monotonic() > deadline:
                raise Stuck(f"Not within {timeout_s:.0f} s: {what}. {self.progress()}")
            self.feed()
            time.sleep(_POLL_S)

    def feed(self) -> None:
        """Write more input, unless much of it waits already."""
        if self._feed.has_ended:
            return
        if self._feed.clicks - self.clicks_read() < 2 * _CLICKS_AT_ONCE:
            self._feed.more(_CLICKS_AT_ONCE)

    def wait_for_faults(self) -> None:
        """Wait until all planned faults were done."""
        self.wait(lambda: self.plan.pending == 0, "all planned faults were done")

    def wait_for_clicks(self, more: int) -> None:
        """Wait until so many more clicks are committed."""
        goal = self.clicks_read() + more
        self.wait(lambda: self.clicks_read() >= goal, f"{goal} clicks were read")

    def clicks_read(self) -> int:
        clicks = self.load.pipeline.clicks
        try:
            positions = committed(
                self.kafka.bootstrap_servers, self.load.pipeline, [clicks], _PATIENCE_S
            )
        except KafkaException:
            # Who was killed has left a transaction open, which the next driver ends.
            return self._clicks_read
        self._clicks_read = sum(positions.values())
        return self._clicks_read

    def kill_worker(self) -> bool:
        """Kill one of the Python workers, whatever it is doing."""
        workers = self.driver.workers()
        if workers and kill(self.random.choice(workers).pid, signal.SIGKILL):
            self.kills += 1
            return True
        return False

    def kill_driver(self) -> None:
        self.driver.kill()
        self.kills += 1

    @property
    def total_kills(self) -> int:
        return self.kills + sum(" kill" in line for line in self.plan.done)

    def is_done(self) -> bool:
        """Whether all input is read, and all that came of it."""
        servers, pipeline = self.kafka.bootstrap_servers, self.load.pipeline
        read = [*pipeline.inputs, *pipeline.repartitions]
        positions = committed(servers, pipeline, read)
        if any(positions.get(one, 0) < end for one, end in self.load.ends.items()):
            return False
        return not unread(servers, partitions_of(pipeline, pipeline.repartitions), positions)

    # The end

    def finish(self, timeout_s: float = 240) -> None:
        """Wait for the end of the input, close the application, and check everything."""
        self._feed.more(max(_CLICKS_AT_ONCE, _FEWEST_CLICKS - self._feed.clicks))
        self.load = self._feed.end()
        self.wait(self.is_done, "the end of the input", timeout_s)
        code = self.driver.stop()
        assert code == 0, f"The driver ended with {code}:\n{self.log_tail()}"
        self.check()

    def check(self) -> None:
        evidence = gather(self.kafka.bootstrap_servers, self.load.pipeline)
        differences = Checker(self.load, self._cached).check(evidence)
        if self.state_dir.exists():
            differences += check_local_state(self.load.pipeline, self.state_dir, evidence)
        if differences:
            history = "\n".join(self.plan.done)
            raise AssertionError(
                f"Seed {self.load.seed}: {len(differences)} differences after these faults:\n"
                f"{history}\n\n" + "\n".join(differences[:40])
            )

    def progress(self) -> str:
        done = len(self.plan.done)
        return (
            f"{self.clicks_read()} of {self._feed.clicks} clicks are read, {done} faults done, "
            f"{self.plan.pending} not, {self.driver.starts} starts of the driver"
        )

    def log_tail(self, lines: int = 60) -> str:
        if not self.driver.log.exists():
            return ""
        text = self.driver.log.read_text(errors="replace").splitlines()
        told = [line for line in text if not line.startswith(_EXPECTED)]
        return "\n".join(["The driver's log ends with:", *told[-lines:]])
