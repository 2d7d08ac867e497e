"""What workers and nodes tell the driver, and what strangers can't do to it."""

from __future__ import annotations

import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from headrace.core.record import TaskId, TopicPartition
from headrace.engine.slot_runner import STOP
from headrace.spark import events
from headrace.spark.events import DriverConnection, EventSender, EventServer, Send

PATIENCE_S = 30.0
PART = TopicPartition("log", 3)


class Heard:
    """What a server hears, and with what it can answer."""

    def __init__(self) -> None:
        self.events: list[list[Any]] = []
        self.sends: list[Send] = []

    def __call__(self, event: list[Any], send: Send) -> None:
        self.events.append(event)
        self.sends.append(send)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def server(heard: Heard) -> Iterator[EventServer]:
    server = EventServer("127.0.0.1", heard, silence_s=2.0)
    yield server
    server.close()


@pytest.fixture
def worker(server: EventServer) -> Iterator[EventSender]:
    with closing(EventSender(*server.address)) as sender:
        yield sender


@pytest.fixture
def node(server: EventServer) -> Iterator[DriverConnection]:
    with closing(DriverConnection(server.address)) as connection:
        yield connection


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def stranger(server: EventServer) -> socket.socket:
    return socket.create_connection(server.address[:2], timeout=PATIENCE_S)


def is_ended(connection: socket.socket) -> bool:
    """Waits for it; the driver says nothing to strangers."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_a_worker_is_heard(worker: EventSender, heard: Heard) -> None:
    worker.restore_started("counts", PART, 5, 9)
    worker.batch_restored("counts", PART, 9, 4)
    wait_until(lambda: len(heard.events) == 2)
    assert heard.events[0] == ["restore_started", "counts", "log", 3, 5, 9]


@pytest.fixture
def many_files() -> Iterator[None]:
    """More than `select` can count."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(4096, before[0]), before[1]))
    with ExitStack() as stack:
        for _ in range(1100):
            stack.enter_context(open(os.devnull))
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_files")
def test_a_worker_is_told_to_stop_however_many_files_it_has(
    server: EventServer, heard: Heard
) -> None:
    with closing(EventSender(*server.address)) as worker:
        worker.starting(0, TaskId(0, 0))
        wait_until(lambda: len(heard.sends) == 1)
        heard.sends[0](STOP)
        while not worker.stop_asked():
            worker._sent_at = 0.0  # it says so once a second
            worker.alive()


def test_of_a_stranger_no_more_is_read_than_a_token_has(server: EventServer, heard: Heard) -> None:
    with stranger(server) as connection:
        much = memoryview(bytes(200 << 20))
        with pytest.raises(ConnectionError):  # the driver has hung up long before
            connection.sendall(much)
    assert heard.events == []


def test_who_has_another_token_is_not_heard(server: EventServer, heard: Heard) -> None:
    host, port, token = server.address
    with closing(EventSender(host, port, token[::-1])) as sender:
        sender.restore_ended("counts", PART, 4)
    with stranger(server) as connection:
        connection.sendall(b"0" * len(token) + b"\n")
        assert is_ended(connection)
    assert heard.events == []


@pytest.mark.parametrize("said", [b"", b"0"])
def test_who_is_silent_is_not_waited_for(
    server: EventServer, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(events, "_PATIENCE_S", 0.2)
    with stranger(server) as connection:
        connection.sendall(said)
        assert is_ended(connection)


def test_many_silent_connections_have_few_threads(
    server: EventServer, worker: EventSender, heard: Heard
) -> None:
    before = threading.active_count()
    with ExitStack() as stack:
        connections = [stack.enter_context(stranger(server)) for _ in range(300)]
        # The last ones were refused, and so all were looked at.
        assert is_ended(connections[-1])
        assert threading.active_count() - before <= 64
    wait_until(lambda: threading.active_count() <= before)
    worker.restore_ended("counts", PART, 4)
    wait_until(lambda: ["restore_ended", "counts", "log", 3, 4] in heard.events)


def test_a_line_without_end_ends_the_connection(
    server: EventServer, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_LONGEST_LINE", 1000)
    with stranger(server) as connection:
        connection.sendall(server.address[2].encode() + b"\n" + b"[" * 1000)
        assert is_ended(connection)
    wait_until(lambda: heard.events == [["gone"]])


def test_a_listener_that_raises_is_told_of_the_next_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[str] = []

    def fails(event: list[Any], send: Send) -> None:
        told.append(event[0])
        raise ValueError("no thanks")

    server = EventServer("127.0.0.1", fails)
    with closing(server), closing(EventSender(*server.address)) as sender:
        sender.restore_started("counts", PART, 0, 4)
        sender.restore_ended("counts", PART, 4)
        wait_until(lambda: told == ["restore_started", "restore_ended"])
    assert "no thanks" in caplog.text


def test_a_node_is_told_something_in_turn(node: DriverConnection, heard: Heard) -> None:
    node.tell("node", "n")
    wait_until(lambda: heard.events == [["node", "n"]])
    heard.sends[0]({"active": {}})
    assert next(node.messages()) == {"active": {}}


def test_a_node_notices_a_driver_that_says_nothing() -> None:
    # Nobody accepts the connection: the system does, as for a host that will vanish.
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = ("127.0.0.1", mute.getsockname()[1], "token")
        with closing(DriverConnection(address, silence_s=0.2)) as node:
            assert list(node.messages()) == []


def test_a_node_hears_of_a_driver_as_long_as_it_pings(node: DriverConnection, heard: Heard) -> None:
    messages: list[Any] = []
    hearing = threading.Thread(target=lambda: messages.extend(node.messages()), daemon=True)
    hearing.start()
    for _ in range(25):  # together much longer than the driver bears silence
        time.sleep(0.1)
        node.ping()
    assert hearing.is_alive()
    assert heard.events == []  # pings are no events
    hearing.join(PATIENCE_S)
    assert not hearing.is_alive()
    assert messages == []  # nor answers to them messages


@pytest.mark.usefixtures("node")
def test_a_node_that_falls_silent_is_gone(heard: Heard) -> None:
    wait_until(lambda: heard.events == [["gone"]])


def test_a_worker_may_be_silent(server: EventServer, worker: EventSender, heard: Heard) -> None:
    worker.restore_ended("counts", PART, 4)
    with closing(DriverConnection(server.address)) as node:
        assert list(node.messages()) == []
    wait_until(lambda: ["gone"] in heard.events)  # the node was silent for too long
    assert heard.events.count(["gone"]) == 1
    worker.restore_ended("counts", PART, 5)
    wait_until(lambda: ["restore_ended", "counts", "log", 3, 5] in heard.events)


def test_a_node_notices_that_its_driver_ends(
    server: EventServer, node: DriverConnection, heard: Heard
) -> None:
    node.tell("node", "n")
    wait_until(lambda: len(heard.events) == 1)
    server.close()
    assert list(node.messages()) == []
