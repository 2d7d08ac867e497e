"""A Spark cluster on this machine: a master and workers, out of PySpark's own jars."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from headrace.kafka.java import find_java

from . import ROOT
from .faults import VARIABLE
from .processes import end_session

_START_S = 60.0


class StandaloneCluster:
    """Each worker has one core and a home of its own, in which its executors keep their state:
    set `state.dir` to something in `~`."""

    def __init__(self, directory: Path, plan: Path, workers: int = 2) -> None:
        self._directory = directory
        self._plan = plan
        self._workers = workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = ""

    def home(self, worker: int) -> Path:
        return self._directory / f"worker-{worker}"

    def kill_worker(self, worker: int) -> None:
        """Kill a worker with its executors."""
        process = self._processes[1 + worker]
        end_session(process.pid)
        process.wait()

    def __enter__(self) -> Self:
        try:
            port = _free_port()
            self.master = f"spark://127.0.0.1:{port}"
            self._start("master", "master.Master", "--port", str(port))
            # They try again and again until the master is there.
            logs = [
                self._start(
                    f"worker-{number}",
                    "worker.Worker",
                    *("--cores", "1", "--memory", "1g", "--port", "0"),
                    *("--work-dir", str(self.home(number) / "work")),
                    self.master,
                )
                for number in range(self._workers)
            ]
            for log in logs:
                _wait(log, "Successfully registered with master")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _start(self, name: str, program: str, *arguments: str) -> Path:
        home = self._directory / name
        home.mkdir(parents=True)
        spec = importlib.util.find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        spark = Path(spec.origin).parent
        log = home / "log"
        command = [
            *(str(find_java()), "-Xmx256m", "-cp", f"{spark}/conf:{spark}/jars/*"),
            *(f"org.apache.spark.deploy.{program}", "--host", "127.0.0.1"),
            *("--webui-port", "0", *arguments),
        ]
        environment = {
            **os.environ,
            "HOME": str(home),
            "SPARK_HOME": str(spark),
            "SPARK_SCALA_VERSION": "2.13",
            "JAVA_HOME": str(find_java().resolve().parents[1]),
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            VARIABLE: str(self._plan),
        }
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=home,
                env=environment,
                start_new_session=True,
            )
        self._processes.append(process)
        return log

    def _stop(self) -> None:
        for process in self._processes:
            end_session(process.pid)
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(log: Path, text: str) -> None:
    deadline = time.monotonic() + _START_S
    while text not in log.read_text(errors="replace"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{text!r} is not in {log}:\n{log.read_text(errors='replace')}")
        time.sleep(0.1)
