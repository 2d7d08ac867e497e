"""The two engines, each in a process of its own that prints what it measured as a line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headrace.kafka import jars
from headrace.kafka.java import find_java

GUARANTEE = "exactly_once_v2"
_JAVA_SOURCE = Path(__file__).with_name("KafkaStreamsBench.java")
_ROOT = Path(__file__).parents[2]
_STOP_SECONDS = 60
_SHOWN_LINES = 30


class EngineProcess:
    """Runs as long as the `with` block; `result` is there when all records are processed."""

    def __init__(self, name: str, command: Sequence[object], log: Path, keep_running: bool) -> None:
        self._name = name
        self._log = log
        environment = dict(os.environ)
        path = os.environ.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{_ROOT}{os.pathsep}{path}" if path else str(_ROOT)
        environment["STARTED_AT"] = str(time.monotonic())
        if keep_running:
            environment["KEEP_RUNNING"] = "3600"
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def result(self) -> dict[str, Any]:
        """The next line of figures. Raises RuntimeError if the process ends without one."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith('{"engine"'):
                figures: dict[str, Any] = json.loads(line)
                return figures
        lines = self._log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
        raise RuntimeError(
            "\n".join([f"{self._name} ended without a result ({self._log}):", *lines])
        )

    def stop(self) -> None:
        """Ask it to end; what it then still has to say is the next `result`."""
        self._process.terminate()


def kafka_streams(
    servers: str,
    mode: str,
    topic: str,
    records: int,
    directory: Path,
    *,
    keep_running: bool = False,
) -> EngineProcess:
    """The yardstick."""
    directory.mkdir(parents=True, exist_ok=True)
    files = os.pathsep.join(map(str, jars.resolve(jars.STREAMS)))
    command = [
        *(find_java(), f"-Djava.io.tmpdir={directory}", "-cp", files, _JAVA_SOURCE),
        *(servers, mode, topic, records, GUARANTEE),
    ]
    return EngineProcess("Kafka Streams", command, directory / f"{mode}.log", keep_running)


def headrace(
    servers: str,
    mode: str,
    topic: str,
    records: int,
    directory: Path,
    *,
    application_id: str,
    keep_running: bool = False,
) -> EngineProcess:
    """What is measured. Started again with the same application id, it goes on where it was."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [
        *(sys.executable, "-m", "benchmarks.engine.application"),
        *(servers, mode, topic, records, GUARANTEE, application_id, directory / "state"),
    ]
    return EngineProcess("Headrace", command, directory / f"{mode}.log", keep_running)
