"""What an application costs that has nothing to do: the share of a core that its processes take.

    python benchmarks/idle.py [--seconds S] [--json]

Two applications, each in processes of its own: one that copies a topic, and the topology of
`headrace demo`, with its server. Some records come first, so that all tasks have begun.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer

from headrace import KafkaStreams, StreamsBuilder, Topology, serdes
from headrace.cli import store_purchases
from headrace.cli.demo_purchases import Customers
from headrace.cli.demo_results import OUTPUTS
from headrace.embedded import EmbeddedKafka
from tests.chaos.processes import end_session, of_session

ROOT = Path(__file__).parents[1]
PROGRAM = [sys.executable, "-m", "benchmarks.idle"]
LIMITS = {"copy": 4.0, "demo": 10.0}
"""Percent of a core."""
PARTITIONS = 3
SETTLES_S = 60.0
TICKS = os.sysconf("SC_CLK_TCK")


def topology(name: str) -> Topology:
    if name == "demo":
        return store_purchases.topology()
    builder = StreamsBuilder()
    raw = serdes.bytes_()
    builder.stream("copy-in", key=raw, value=raw).to("copy-out", key=raw, value=raw)
    return builder.build()


def run(name: str, servers: str, directory: str) -> None:
    """The application, until it is killed."""
    KafkaStreams(
        topology(name),
        application_id=f"idle-{name}",
        bootstrap_servers=servers,
        processing_guarantee="exactly_once_v2",
        state_dir=directory,
        application_server="127.0.0.1:0",
    ).run()


def measure(kafka: EmbeddedKafka, name: str, seconds: float) -> float:
    """Percent of a core, of the driver, Java and Python workers together."""
    source, *others = (
        (store_purchases.PURCHASES, *OUTPUTS) if name == "demo" else ("copy-in", "copy-out")
    )
    for topic in (source, *others):
        kafka.create_topic(topic, PARTITIONS)
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            [*PROGRAM, "--run", name, kafka.bootstrap_servers, directory],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
            for _, _, _, value, _, _ in Customers(0, 1).due(100):
                producer.produce(source, value)
            producer.flush()
            time.sleep(SETTLES_S)
            before, began = cpu_s(process.pid), time.monotonic()
            time.sleep(seconds)
            spent = cpu_s(process.pid) - before
            if process.poll() is not None:
                raise SystemExit(f"The application {name} has ended by itself.")
            return spent / (time.monotonic() - began) * 100
        finally:
            end_session(process.pid)
            process.wait()


def cpu_s(session: int) -> float:
    ticks = 0
    for process in of_session(session):
        fields = Path("/proc", str(process.pid), "stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of what is measured")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        run(*given.run)
        return 0
    with EmbeddedKafka() as kafka:
        shares = {name: round(measure(kafka, name, given.seconds), 1) for name in LIMITS}
    if given.json:
        print(json.dumps(shares))
    else:
        for name, share in shares.items():
            print(f"{name}: {share}% of a core, at most {LIMITS[name]:.0f}% are meant")
    return 0 if all(share <= LIMITS[name] for name, share in shares.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
