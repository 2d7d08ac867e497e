"""The process that serves the state directory of a host in a Spark cluster: its node.

    python -m headrace.server.node HOST PORT TOKEN < plan

It has the plan from its input, tells the driver at HOST:PORT that it is there, answers lookups, and
keeps the copies that the driver asks it for. It ends when the driver does.
"""

from __future__ import annotations

import fcntl
import logging
import multiprocessing
import os
import pickle
import socket
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson

from headrace.app.lifecycle import State
from headrace.app.metadata import HostInfo, KeyQueryMetadata, LagInfo, StreamsMetadata
from headrace.app.status import Status
from headrace.core.config import StreamsConfig
from headrace.core.errors import StateError, StoreNotAvailableError
from headrace.engine.plan import Plan
from headrace.engine.standby import follow_all
from headrace.metrics.name import MetricName, MetricValue
from headrace.query.local_state import GLOBAL, LocalState
from headrace.server.service import Service
from headrace.spark.node import LOCK_FILE, node_name
from headrace.state.directory import StateDirectory

log = logging.getLogger("headrace.node")

_PREDECESSOR_S = 60.0
"""So long the node of an earlier run may take to notice that its driver has gone."""


class Node:
    """An application, as far as a node knows it. It is also the Places of its server."""

    knows_all = False

    def __init__(self, plan: Plan, name: str, host: str) -> None:
        self.plan: Plan | None = plan
        self.topology = plan.topology
        self.config = StreamsConfig({**plan.config.given(), "application.server": f"{host}:0"})
        self.state = State.RUNNING
        self.is_paused = False
        self.places = self
        self.name = name
        self.driver: HostInfo | None = None
        self._local = LocalState(plan)
        self._active: dict[str, str] = {}
        self._copies: frozenset[str] = frozenset()

    def hear(self, message: dict[str, Any]) -> None:
        """The driver says who has what."""
        self._active = message["active"]
        self._copies = frozenset(message["standby"].get(self.name, ()))
        driver = message["driver"]
        self.driver = None if driver is None else HostInfo(*driver)

    @property
    def copies(self) -> list[str]:
        """The tasks to keep a copy of."""
        return sorted(self._copies)

    # Places

    def partitions(self, store: str) -> list[int]:
        return sorted(self._local.partitions(store))

    def partition_of(self, store: str, key: Any) -> int:
        return self._local.partition_of(store, key)

    def place(self, store: str, partition: int, *, stale: bool) -> HostInfo | None:
        task = str(self._local.partitions(store, partition)[partition].task)
        if partition == GLOBAL or self._active.get(task) == self.name:
            return None
        if stale and task in self._copies:
            return None
        if self.driver is None:
            raise StoreNotAvailableError(
                f"Partition {partition} of store {store} is on another host, and the driver, which "
                "knows where, doesn't answer requests."
            )
        return self.driver

    # Application

    def local_state(self) -> LocalState:
        return self._local

    def status(self) -> Status:
        return Status(self.state)

    def metrics(self) -> dict[MetricName, MetricValue]:
        return {}

    def pause(self) -> None:
        raise StateError("Ask the driver for that.")

    resume = pause

    def metadata_for_all_streams_clients(self) -> tuple[StreamsMetadata, ...]:
        return ()

    def query_metadata_for_key(self, store: str, key: Any) -> KeyQueryMetadata:
        raise StateError("Ask the driver for that.")

    def all_local_store_partition_lags(self) -> dict[str, dict[int, LagInfo]]:
        raise StateError("Ask the driver for that.")


class _Driver:
    """The connection to the driver. What it says is heard until it ends."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._socket = socket.create_connection((host, port), timeout=30)
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._lines = self._socket.makefile("rb")
        self._sending = threading.Lock()
        self.own_address: str = self._socket.getsockname()[0]
        self._socket.sendall(token.encode() + b"\n")

    def tell(self, *event: Any) -> None:
        with self._sending:
            self._socket.sendall(orjson.dumps(event) + b"\n")

    def messages(self) -> Any:
        return map(orjson.loads, self._lines)


def serve(plan: Plan, host: str, port: int, token: str) -> None:
    directory = StateDirectory.of(plan.config)
    with _Lock(directory.path / LOCK_FILE):
        # Before there are threads. The copies need a process of their own, as LMDB can't be open
        # for reading and for writing in one.
        pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        context.Process(target=_follow, args=(plan, theirs, pipe), daemon=True).start()
        theirs.close()
        driver = _Driver(host, port, token)
        node = Node(plan, node_name(directory), driver.own_address)
        service = Service(node)
        threading.Thread(target=_pass_on, args=(pipe, driver, node.name), daemon=True).start()
        driver.tell("node", node.name, *service.host_and_port)
        for message in driver.messages():
            node.hear(message)
            pipe.send(node.copies)


def _follow(plan: Plan, pipe: Connection, others: Connection) -> None:
    others.close()  # or the end of the node would not be noticed
    follow_all(plan, pipe)


def _pass_on(pipe: Connection, driver: _Driver, name: str) -> None:
    while True:
        driver.tell("followed", name, *pipe.recv())


class _Lock:
    """One node for a directory. The system frees the lock of a process that dies."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)

    def __enter__(self) -> None:
        deadline = time.monotonic() + _PREDECESSOR_S
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise SystemExit("Another process serves this directory") from None
                time.sleep(0.2)

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    host, port, token = sys.argv[1:]
    plan = pickle.load(sys.stdin.buffer)
    try:
        serve(plan, host, int(port), token)
    except OSError as error:
        log.info("The driver is gone: %s", error)
    # Threads and the process that follows must not keep it.
    os._exit(0)


if __name__ == "__main__":
    main()
