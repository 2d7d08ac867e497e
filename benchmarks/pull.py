"""Pull queries at a fixed rate, of a server on Kafka and Spark."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson

from headrace.embedded import EmbeddedKafka

from .asking import Connection, Latencies, at_rate
from .engine.load import load

_TABLE = """
CREATE STREAM purchases (name STRING KEY, amount DOUBLE)
    WITH (kafka_topic='purchases', value_format='JSON');
CREATE TABLE counts AS SELECT name, COUNT(*) AS n FROM purchases GROUP BY name;
"""
_PATIENCE_S = 120.0


def pull_latencies(rate: int, seconds: float, keys: int) -> Latencies:
    """How long it takes to get a row by its key, over HTTP."""
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as directory,
        EmbeddedKafka() as kafka,
    ):
        load(kafka.bootstrap_servers, "purchases", 10 * keys, keys)
        with _server(kafka.bootstrap_servers, Path(directory)) as address:
            _make_table(address, 10 * keys)
            _asked(address, rate, keys, seconds / 3)  # what comes first is compiled, and connected
            return _asked(address, rate, keys, seconds)


def _asked(address: str, rate: int, keys: int, seconds: float) -> Latencies:
    chance = random.Random(6)

    def ask(connection: Connection) -> bool:
        sql = f"SELECT n FROM counts WHERE name = 'u{chance.randrange(keys)}';"
        status, answer = connection.post("/query-stream", orjson.dumps({"sql": sql}))
        return status == 200 and len(orjson.loads(answer)) == 2  # the header, and the row

    return Latencies.of(*at_rate(address, rate, lambda spent: spent < seconds, ask))


@contextmanager
def _server(kafka: str, directory: Path) -> Iterator[str]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    config = directory / "server.properties"
    config.write_text(
        f"bootstrap.servers={kafka}\n"
        f"listeners={address}\n"
        f"ksql.streams.state.dir={directory / 'state'}\n"
        "ksql.streams.auto.offset.reset=earliest\n"
        "ksql.streams.processing.guarantee=exactly_once_v2\n"
    )
    command = [sys.executable, "-m", "headrace", "server", "start", str(config)]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield address
    finally:
        process.terminate()
        process.wait()


def _make_table(address: str, records: int) -> None:
    """Wait for the server, have it make the table, and wait until all is counted."""
    deadline = time.monotonic() + _PATIENCE_S

    def until(ask: Any) -> None:
        while True:
            try:
                if ask():
                    return
            except httpx.TransportError:
                pass
            if time.monotonic() > deadline:
                raise SystemExit("The server doesn't get there.")
            time.sleep(0.3)

    with httpx.Client(base_url=address, timeout=60) as client:
        until(lambda: client.get("/info").is_success)
        until(lambda: client.post("/ksql", json={"ksql": _TABLE}).is_success)
        counted = {"sql": "SELECT n FROM counts;"}
        headers = {"Accept": "application/json"}

        def is_counted() -> bool:
            answer = client.post("/query-stream", json=counted, headers=headers)
            return answer.is_success and sum(row[0] for row in answer.json()[1:]) == records

        until(is_counted)
