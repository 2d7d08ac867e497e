"""`headrace server` with a real Kafka and Spark, asked over HTTP, killed and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace.embedded import EmbeddedKafka

PATIENCE_S = 180.0


class Process:
    """A server in a process of its own."""

    def __init__(self, config: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "headrace", "server", "start", str(config)]
        self._client = httpx.Client(base_url=self.url, timeout=60)
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, start_new_session=True)

    def restart(self) -> None:
        self._process = self._started()

    def kill(self) -> None:
        """As kill -9 does, with the Spark that it has started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        self._client.close()
        self.kill()

    def run(self, sql: str) -> list[dict[str, Any]]:
        body = {"ksql": sql, "streamsProperties": {"auto.offset.reset": "earliest"}}
        answer = self._when_ready(lambda: self._client.post("/ksql", json=body))
        assert answer.status_code == 200, answer.text
        entities: list[dict[str, Any]] = answer.json()
        return entities

    def rows(self, sql: str) -> list[Any] | None:
        """The rows of a query; None if it can't be answered now."""
        accept = {"Accept": "application/json"}
        answer = self._client.post("/query-stream", json={"sql": sql}, headers=accept)
        return None if answer.is_error else answer.json()[1:]

    def _when_ready(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert time.monotonic() < deadline, "the server is never ready"
            try:
                answer = ask()
                if answer.status_code != 503:
                    return answer
            except httpx.TransportError:
                pass
            time.sleep(0.3)


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            if is_so():
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.3)


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


@pytest.fixture
def start(
    embedded_kafka: EmbeddedKafka, name: str, tmp_path: Path
) -> Iterator[Callable[[], Process]]:
    with ExitStack() as opened:

        def started() -> Process:
            port = free_port()
            config = tmp_path / f"server-{port}.properties"
            config.write_text(
                f"bootstrap.servers={embedded_kafka.bootstrap_servers}\n"
                f"listeners=http://127.0.0.1:{port}\n"
                f"ksql.service.id={name}_\n"
                f"ksql.streams.state.dir={tmp_path / f'state-{port}'}\n"
                "ksql.streams.processing.guarantee=exactly_once_v2\n"
                "ksql.query.retry.backoff.initial.ms=1000\n"
                "spark.master=local[2]\n"
            )
            process = Process(config, port)
            opened.callback(process.close)
            return process

        yield started


def statements(name: str) -> str:
    return (
        f"CREATE STREAM clicks (name STRING KEY, page INT) WITH (kafka_topic='{name}-clicks', "
        "partitions=2, value_format='JSON');"
        f"CREATE TABLE counts WITH (kafka_topic='{name}-counts') AS "
        "SELECT name, COUNT(*) AS n FROM clicks GROUP BY name EMIT CHANGES;"
    )


def inserts(count: int) -> str:
    return "".join(f"INSERT INTO clicks VALUES ('u{n % 3}', {n});" for n in range(count))


def test_nothing_is_lost_or_doubled_by_a_kill(start: Callable[[], Process], name: str) -> None:
    server = start()
    server.run(statements(name))
    server.run(inserts(30))
    expected = [["u0", 10], ["u1", 10], ["u2", 10]]
    until(lambda: sorted(server.rows("SELECT * FROM counts;") or []) == expected)
    server.kill()
    server.restart()
    until(lambda: sorted(server.rows("SELECT * FROM counts;") or []) == expected)
    server.run(inserts(3))
    until(lambda: server.rows("SELECT n FROM counts WHERE name = 'u1';") == [[11]])
    assert len(server.rows("SELECT * FROM clicks;") or []) == 33


def test_another_server_takes_the_queries_over(start: Callable[[], Process], name: str) -> None:
    one, other = start(), start()
    one.run(statements(name) + inserts(3))
    for server in (one, other):
        until(lambda: server.rows("SELECT n FROM counts WHERE name = 'u0';") == [[1]])  # noqa: B023
    one.kill()
    other.run(inserts(3))
    until(lambda: other.rows("SELECT n FROM counts WHERE name = 'u0';") == [[2]])
