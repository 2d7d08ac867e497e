"""Whether a ksqlDB server answers questions about its health while others want too much of it.

    scripts/bench exhaustion [--seconds S] [--json]

A server of this machine, with topics in memory, is asked by many clients at once: half-sent
requests on ever new connections, push queries and PRINT whose clients don't read, scans, lookups,
patterns that would take years. Meanwhile `/healthcheck` is asked 20 times a
second, each time on a connection of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from urllib.parse import urlsplit

import httpx

from .asking import Connection, Latencies

_RATE = 20
_ROWS = 2_000
_MOST_S = 0.2
_SETUP = """
CREATE STREAM clicks (name STRING KEY, page INT)
    WITH (kafka_topic='clicks', partitions=4, value_format='JSON');
CREATE TABLE counts AS SELECT name, COUNT(*) AS n FROM clicks GROUP BY name;
"""


def main() -> int:
    options = _parser().parse_args()
    with _server() as address:
        _fill(address)
        calm = _health(address, options.seconds / 3)
        with _flood(address) as answers:
            while not any(name.startswith("pull") for name in answers):
                time.sleep(0.1)
            busy = _health(address, options.seconds)
        told = dict(sorted(answers.items()))
    figures = {"calm": asdict(calm), "busy": asdict(busy), "answers": told}
    if options.json:
        print(json.dumps(figures))
    else:
        print(f"calm  {calm}\nbusy  {busy}\nothers were answered {told}")
    return 0 if not busy.failed and busy.p99 < _MOST_S * 1000 else 1


def _health(address: str, seconds: float) -> Latencies:
    took, failed, began = [], 0, time.perf_counter()
    for number in range(int(seconds * _RATE)):
        due = began + number / _RATE
        time.sleep(max(0.0, due - time.perf_counter()))
        try:
            connection = Connection(address)
            status, _ = connection.get("/healthcheck")
            connection.close()
            failed += status != 200
        except OSError:
            failed += 1
        took.append(time.perf_counter() - due)
    return Latencies.of(took, failed, time.perf_counter() - began)


# Those who want too much. Each goes on until it is ended, and counts what it is answered.


def _half_sent(address: str, count: Callable[[str], None]) -> None:
    parts = urlsplit(address)
    held = []
    while True:
        with suppress(OSError):
            client = socket.create_connection((parts.hostname, parts.port), timeout=5)
            client.sendall(b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nX-")
            held.append(client)
        count("half-sent")
        if len(held) > 2_000:
            held.pop(0).close()
        time.sleep(0.001)


def _unread(address: str, count: Callable[[str], None]) -> None:
    clients = []
    while True:
        for sql in ("SELECT * FROM clicks EMIT CHANGES;", "PRINT 'clicks' FROM BEGINNING;"):
            client = httpx.Client(base_url=address, timeout=20)
            body = {"ksql": sql, "streamsProperties": {"auto.offset.reset": "earliest"}}
            with suppress(httpx.HTTPError):
                answer = client.send(client.build_request("POST", "/query", json=body), stream=True)
                count(f"{sql.partition(' ')[0]} {answer.status_code}")
                clients.append((client, answer))
            if len(clients) > 400:
                clients.pop(0)[0].close()
        time.sleep(0.01)


def _asking(sql: str) -> Callable[[str, Callable[[str], None]], None]:
    def ask(address: str, count: Callable[[str], None]) -> None:
        with httpx.Client(base_url=address, timeout=30) as client:
            while True:
                with suppress(httpx.HTTPError):
                    answer = client.post("/query-stream", json={"sql": sql})
                    count(f"pull {answer.status_code}")

    return ask


_FLOOD: list[Callable[[str, Callable[[str], None]], None]] = [
    _half_sent,
    _unread,
    *[_asking("SELECT * FROM counts WHERE name = 'k1';")] * 4,
    *[_asking("SELECT * FROM counts;")] * 4,
    *[_asking("SELECT * FROM clicks WHERE REGEXP_EXTRACT('(k+)+!', name) = 'x';")] * 4,
]


@contextmanager
def _flood(address: str) -> Iterator[Counter[str]]:
    """Gives what they were answered, and how often."""
    context = multiprocessing.get_context("spawn")
    told: multiprocessing.Queue[str] = context.Queue()
    process = context.Process(target=_run, args=(address, told), daemon=True)
    answers: Counter[str] = Counter()

    def collect() -> None:
        while True:
            answers[told.get()] += 1

    threading.Thread(target=collect, daemon=True).start()
    process.start()
    try:
        yield answers
    finally:
        process.terminate()
        process.join()


def _run(address: str, told: multiprocessing.Queue[str]) -> None:
    os.nice(10)  # clients of other machines would take nothing of this one
    threads = [threading.Thread(target=each, args=(address, told.put)) for each in _FLOOD]
    for thread in threads:
        thread.start()
    for thread in threads:  # when this function ends, nothing is told any more
        thread.join()


@contextmanager
def _server() -> Iterator[str]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
    command = [sys.executable, "-m", "headrace", "server", "start", "--in-memory"]
    settings = ["-s", f"listeners={address}", "-s", "server.requests.per.second=1000000"]
    process = subprocess.Popen([*command, *settings])
    try:
        while True:
            with suppress(httpx.HTTPError):
                if httpx.get(f"{address}/healthcheck").status_code == 200:
                    break
            if process.poll() is not None:
                raise RuntimeError("The server has ended.")
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def _fill(address: str) -> None:
    rows = [f"INSERT INTO clicks VALUES ('k{n}', {n});" for n in range(_ROWS)]
    for statements in (_SETUP, *("".join(rows[at : at + 200]) for at in range(0, _ROWS, 200))):
        httpx.post(f"{address}/ksql", json={"ksql": statements}, timeout=60).raise_for_status()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench exhaustion")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
