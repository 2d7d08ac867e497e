"""The process that serves the state directory of a host in a Spark cluster: its node.

    python -m headrace.server.node < address and plan

It has from its input where the driver hears events, and the plan. It tells the driver that it is
there, keeps the copies that the driver asks it for, removes what isn't needed on this host any
more, and answers lookups if there is an `application.server`. It ends when the driver does, or when
nothing is heard of it any more.
"""

from __future__ import annotations

import fcntl
import logging
import multiprocessing
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson

from headrace.app.housekeeping import Leftovers, directories
from headrace.app.lifecycle import State
from headrace.app.metadata import NO_HOST, HostInfo, KeyQueryMetadata, LagInfo, StreamsMetadata
from headrace.app.status import Status
from headrace.core.clock import SystemClock
from headrace.core.config import StreamsConfig
from headrace.core.errors import StateError, StoreNotAvailableError, StreamsError
from headrace.engine.plan import Plan
from headrace.engine.standby import Standbys
from headrace.kafka.clients import Clients
from headrace.kafka.settings import ClientSettings
from headrace.metrics.name import MetricName, MetricValue
from headrace.query.local_state import GLOBAL, LocalState
from headrace.server.service import Service
from headrace.spark.events import PING_EVERY_S, Address, DriverConnection
from headrace.spark.node import LOCK_FILE, node_name
from headrace.state import private
from headrace.state.directory import StateDirectory
from headrace.state.lock import LONGEST_WAIT_S

log = logging.getLogger("headrace.node")

PROGRAM = "headrace.server.node"
"""What a NodeKeeper runs: this module."""

_TIDY_EVERY_S = 10.0
_PAUSE_S = 0.5
_WAY_S = 2 * LONGEST_WAIT_S
"""So long a directory is left to a task that waits for it, before a copy goes on."""
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

    @property
    def needed(self) -> set[str]:
        """The directories that are needed here: of tasks that run or are copied here, and of those
        of which nobody has said yet where they run."""
        assert self.plan is not None
        here = {task for task, name in self._active.items() if name == self.name}
        return here | self._copies | (directories(self.plan) - self._active.keys())

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


def serve(plan: Plan, events: Address) -> None:
    directory = StateDirectory.of(plan.config)
    with _Lock(directory.path / LOCK_FILE):
        Leftovers(plan.config).remove_outdated()
        # Before there are threads. The copies need a process of their own, as LMDB can't be open
        # for reading and for writing in one.
        pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        context.Process(target=_follow, args=(plan, theirs, pipe), daemon=True).start()
        theirs.close()
        driver = DriverConnection(events)
        node = Node(plan, node_name(directory), driver.own_host)
        is_asked = plan.config["application.server"] is not None
        address = HostInfo(*Service(node).host_and_port) if is_asked else NO_HOST
        _in_background(_pass_on, pipe, driver, node.name)
        _in_background(_ping, driver)
        _in_background(_tidy, node)
        driver.tell("node", node.name, *address)
        for message in driver.messages():
            node.hear(message)
            pipe.send(node.copies)
        directory.sync()


def _follow(plan: Plan, pipe: Connection, others: Connection) -> None:
    """Keep the copies that are asked for, until the pipe is closed. Names of tasks come in, reports
    go out."""
    others.close()  # or the end of the node would not be noticed
    clock = SystemClock()
    kafka = Clients(ClientSettings(plan.config))
    standbys = Standbys(plan, StateDirectory.of(plan.config), kafka, clock)
    with closing(kafka), closing(standbys), suppress(EOFError, OSError):
        while True:
            while pipe.poll(0 if len(standbys) else None):
                standbys.keep(pipe.recv())
            for _ in standbys.follow():
                clock.sleep(_WAY_S)
            pipe.send(standbys.take_report())
            clock.sleep(_PAUSE_S)


def _pass_on(pipe: Connection, driver: DriverConnection, name: str) -> None:
    while True:
        driver.tell("followed", name, *pipe.recv())


def _in_background(function: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=function, args=arguments, daemon=True).start()


def _tidy(node: Node) -> None:
    leftovers = Leftovers(node.config)
    while True:
        time.sleep(_TIDY_EVERY_S)
        try:
            leftovers.remove(node.needed)
        except (StreamsError, OSError) as error:
            log.warning("What isn't needed any more could not be removed: %s", error)


def _ping(driver: DriverConnection) -> None:
    while True:
        driver.ping()
        time.sleep(PING_EVERY_S)


class _Lock:
    """One node for a directory. The system frees the lock of a process that dies."""

    def __init__(self, path: Path) -> None:
        self._file = private.open_file(path, os.O_RDWR)

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
    host, port, token = orjson.loads(sys.stdin.buffer.readline())
    plan = pickle.load(sys.stdin.buffer)  # noqa: S301, the driver's plan
    status = 0
    try:
        serve(plan, (host, port, token))
        log.info("The driver is gone")
    except Exception:
        log.exception("The node can't go on")
        status = 1
    # Threads and the process that follows must not keep it.
    os._exit(status)


if __name__ == "__main__":
    main()
