"""Queries of a server that begins to lead, and no longer does, at any moment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from headrace.ksql.commands import InMemoryCommandLog
from headrace.ksql.memory import InMemoryCluster
from headrace.ksql.requests import StatementsRequest
from headrace.ksql.running import Find, Keys, QueryError, QueryState, T
from headrace.ksql.server import Server
from headrace.sql.queries import PersistentQuery

from .servers import CLICKS, COUNTS, Appointed

ROUNDS, FLIPS = 50, 1_000


class Ledger:
    """A runner that runs nothing, and writes down what it was told."""

    def __init__(self) -> None:
        self.running: dict[str, bool] = {}
        """Whether they are paused."""
        self.forgotten: list[str] = []

    def start(self, query: PersistentQuery, *, paused: bool = False) -> None:
        self.running[query.id] = paused

    def stop(self, query_id: str, *, forget: bool) -> None:
        del self.running[query_id]
        if forget:
            self.forgotten.append(query_id)

    def pause(self, query_id: str) -> None:
        assert not self.running[query_id]
        self.running[query_id] = True

    def resume(self, query_id: str) -> None:
        assert self.running[query_id]
        self.running[query_id] = False

    def state(self, query_id: str) -> QueryState:
        return QueryState.PAUSED if self.running[query_id] else QueryState.RUNNING

    def errors(self, query_id: str) -> list[QueryError]:
        return []

    def look_up(self, query_id: str, store: str, find: Find[T], keys: Keys = None) -> list[T]:
        return []

    def close(self) -> None:
        self.running.clear()


@pytest.fixture
def leadership() -> Appointed:
    return Appointed(True)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def server(ledger: Ledger, leadership: Appointed) -> Iterator[Server]:
    server = Server(
        {},
        cluster=InMemoryCluster(),
        log=InMemoryCommandLog(),
        runner=ledger,
        leadership=leadership,
    )
    server.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads are interrupted where it hurts
    yield server
    sys.setswitchinterval(interval)
    server.close()


def run(server: Server, sql: str) -> list[str]:
    """How each command went."""
    entities = [entity.json() for entity in server.execute(StatementsRequest(sql))]
    return [entity["commandStatus"]["status"] for entity in entities]


def test_only_what_is_dropped_is_forgotten(
    server: Server, ledger: Ledger, leadership: Appointed
) -> None:
    run(server, CLICKS + COUNTS)
    leadership.appoint(False)
    assert (ledger.running, ledger.forgotten) == ({}, [])
    leadership.appoint(True)
    run(server, "CREATE STREAM more AS SELECT * FROM clicks; DROP STREAM more;")
    assert list(ledger.running) == ["CTAS_COUNTS_1"]
    assert ledger.forgotten == ["CSAS_MORE_2"]


def test_a_lease_that_flips_between_any_two_steps(
    server: Server, ledger: Ledger, leadership: Appointed
) -> None:
    """Whatever is executed while the lease comes and goes, no query that there should be loses its
    state."""
    run(server, CLICKS + COUNTS)
    flips, stop = 0, threading.Event()

    def flip() -> None:
        nonlocal flips
        while not stop.is_set():
            leadership.appoint(False)
            leadership.appoint(True)
            flips += 1

    thread = threading.Thread(target=flip)
    thread.start()
    dropped: set[str] = set()
    went: list[str] = []
    try:
        while len(dropped) < ROUNDS or flips < FLIPS:
            went += run(server, "CREATE TYPE t AS INT; PAUSE CTAS_COUNTS_1; DROP TYPE t;")
            went += run(server, "CREATE STREAM copy AS SELECT * FROM clicks;")
            dropped |= {each for each in server._executor.engine.queries if "COPY" in each}
            went += run(server, "RESUME CTAS_COUNTS_1; DROP STREAM copy;")
    finally:
        stop.set()
        thread.join()

    assert set(went) == {"SUCCESS"}
    assert set(ledger.forgotten) <= dropped
    assert ledger.running == {"CTAS_COUNTS_1": False}
