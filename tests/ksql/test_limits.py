"""How much queries may take: at once, for how long, and of what size."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.core.errors import ConfigError
from headrace.core.record import ProducerRecord
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.requests import QueryRequest
from headrace.ksql.results import Closed, PrintResult, ResultStream
from headrace.ksql.turns import TURNS
from headrace.ksql.watched import Watched

from .servers import CLICKS, COUNTS, TestServer

ROWS = "".join(f"INSERT INTO clicks VALUES ('k{n}', {n});" for n in range(40))


def started(**settings: Any) -> TestServer:
    server = TestServer(settings={f"ksql.{k.replace('_', '.')}": v for k, v in settings.items()})
    server.run(CLICKS + COUNTS + ROWS)
    server.settle()
    return server


@pytest.fixture
def server() -> Iterator[TestServer]:
    server = started()
    yield server
    server.close()


def test_a_limit_holds_while_reading(server: TestServer) -> None:
    """Of all partitions together no more rows are looked at than are wanted."""
    looked = 0
    materialization = server.server._executor.engine.queries["CTAS_COUNTS_1"].materialization
    assert materialization is not None
    row = materialization.row

    def counted(key: Any, stored: Any) -> Any:
        nonlocal looked
        looked += 1
        return row(key, stored)

    object.__setattr__(materialization, "row", counted)
    assert len(server.rows("SELECT * FROM counts LIMIT 5;")) == 5
    assert looked == 5
    assert server.rows("SELECT * FROM counts LIMIT 0;") == []
    assert looked == 5


def test_answers_that_are_too_large() -> None:
    server = started(query_pull_max_bytes=100)
    try:
        assert len(server.rows("SELECT * FROM counts LIMIT 5;")) == 5
        with pytest.raises(KsqlError, match=r"more than 100 bytes \(ksql.query.pull.max.bytes\)"):
            server.rows("SELECT * FROM counts;")
    finally:
        server.close()


def test_scans_that_take_too_long(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.server._pulls, "_timeout_s", -1.0)
    with pytest.raises(KsqlError, match=r"ksql\.query\.pull\.timeout\.ms"):
        server.rows("SELECT * FROM counts WHERE n = 12345;")


def test_scans_at_once() -> None:
    """Lookups of keys are not among them, and who is through makes room."""
    server = started(query_pull_max_concurrent_scans=1)
    scan = "SELECT * FROM clicks;"
    try:
        server.run("".join(f"INSERT INTO clicks VALUES ('x', {n});" for n in range(1100)))
        held = server.select(scan)  # nobody reads it, and its buffer is full
        with pytest.raises(KsqlError, match=r"concurrent\.scans") as caught:
            server.rows("SELECT * FROM counts;")
        assert caught.value.code is ErrorCode.TOO_MANY_REQUESTS
        assert server.rows("SELECT * FROM counts WHERE name = 'k1';") == [("k1", 1)]
        held.rows.close()
        _until(lambda: server.server._pulls._scans.taken == 0)
        assert len(server.rows("SELECT * FROM counts LIMIT 3;")) == 3
    finally:
        server.close()


@pytest.mark.parametrize("scan", ["SELECT * FROM clicks;", "SELECT * FROM counts;"])
def test_scans_take_turns(server: TestServer, scan: str) -> None:
    """While one computes, others wait, and keys are looked up."""
    found: list[tuple[Any, ...]] = []
    with TURNS.computing():
        scanning = threading.Thread(target=lambda: found.extend(server.rows(scan)))
        scanning.start()
        _until(lambda: TURNS.waiters == 1)
        if "clicks" in scan:  # the table is locked while it is looked through
            assert server.rows("SELECT * FROM counts WHERE name = 'k1';") == [("k1", 1)]
        assert found == []
    scanning.join(10)
    assert len(found) == 40


def test_a_scan_that_nobody_reads_leaves_its_turn_to_others(server: TestServer) -> None:
    server.run("".join(f"INSERT INTO clicks VALUES ('x', {n});" for n in range(1100)))
    server.settle()
    held = server.select("SELECT * FROM clicks;")
    assert len(server.rows("SELECT * FROM counts;")) == 41
    held.rows.close()


def test_prints_at_once() -> None:
    server = started(max_print_queries=1)
    request = QueryRequest("PRINT 'clicks' FROM BEGINNING;")
    try:
        held = server.server.query(request)
        with pytest.raises(KsqlError, match=r"ksql\.max\.print\.queries") as caught:
            server.server.query(request)
        assert caught.value.code is ErrorCode.TOO_MANY_REQUESTS
        assert isinstance(held, PrintResult)
        held.lines.close()
        _until(lambda: server.server._prints.taken == 0)
        limited = server.server.query(QueryRequest("PRINT 'clicks' FROM BEGINNING LIMIT 1;"))
        assert isinstance(limited, PrintResult)
        assert [line for line in limited.lines if not line.about_format]
    finally:
        server.close()


def test_a_record_that_can_not_be_printed_does_not_hang_its_reader(server: TestServer) -> None:
    server.cluster.produce(ProducerRecord("clicks", 0, b"k", b"v", 10**15))
    shown = server.server.query(QueryRequest("PRINT 'clicks' FROM BEGINNING LIMIT 41;"))
    assert isinstance(shown, PrintResult)
    assert any("rowtime: 1000000000000000, key: k" in line.text for line in shown.lines)


def test_a_push_query_too_many_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    server = started(max_push_queries=1)
    push = "SELECT * FROM clicks EMIT CHANGES;"
    try:
        held = server.select(push)
        read = server.cluster.read
        readers: list[Any] = []

        def counted(offsets: Any) -> Any:
            readers.append(offsets)
            return read(offsets)

        monkeypatch.setattr(server.cluster, "read", counted)
        for _ in range(3):
            with pytest.raises(KsqlError) as caught:
                server.select(push)
            assert (caught.value.status, caught.value.code) == (429, 40003)
        assert readers == []
        held.rows.close()
        server.select(push).rows.close()
        assert len(readers) == 1
    finally:
        server.close()


def test_asserts_wait_no_longer_than_they_may(server: TestServer) -> None:
    refused = server.refused("ASSERT TOPIC nothing TIMEOUT 1 HOURS;")
    assert "300 seconds at most (ksql.assert.max.timeout.ms)" in refused.message
    for _ in range(server.server._inside.asserts.most):
        assert server.server._inside.asserts.take()
    refused = server.refused("ASSERT TOPIC nothing TIMEOUT 1 SECONDS;")
    assert refused.code is ErrorCode.TOO_MANY_REQUESTS


@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_limits_that_are_none(value: str) -> None:
    with pytest.raises(ConfigError, match=r"ksql\.query\.pull\.max\.bytes must be"):
        TestServer(settings={"ksql.query.pull.max.bytes": value})


def test_a_buffer_is_bounded_by_sizes_too() -> None:
    rows: ResultStream[str] = ResultStream(patience_s=0.05, weigh=len)
    rows.put("a" * 2_000_000)  # one always has room
    with pytest.raises(Closed):
        rows.put("b")
    rows = ResultStream(patience_s=0.05, weigh=len)
    rows.put("a" * 2_000_000)
    rows.take()
    rows.put("b")


def test_who_asks_again_and_again_does_not_wait() -> None:
    looks, may_look = 0, threading.Event()

    def look() -> int:
        nonlocal looks
        looks += 1
        if looks > 1:
            assert may_look.wait(10)
        return looks

    watched = Watched(look)
    watched.look()
    assert (watched.value(), looks) == (1, 1)
    watched._at = 0.0
    assert [watched.value() for _ in range(3)] == [1, 1, 1]
    _until(lambda: looks == 2)
    watched._at = 0.0
    assert watched.value() is None  # it takes too long to be believed
    may_look.set()
    _until(lambda: watched.value() == 2)


def _until(is_so: Any) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)
