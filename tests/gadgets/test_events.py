"""Gadgets by the socket on which workers tell the driver what happens."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import orjson
import pytest

from headrace.spark.events import EventServer, Send
from tests.gadgets.gadget import Gadget, Gadgets

PATIENCE_S = 30.0


@pytest.fixture
def events() -> list[Any]:
    return []


@pytest.fixture
def server(events: list[Any]) -> Iterator[EventServer]:
    def hear(event: list[Any], send: Send) -> None:
        events.append(event)

    server = EventServer("127.0.0.1", hear)
    yield server
    server.close()


def say(server: EventServer, data: bytes) -> None:
    """And wait until it has been heard: the server hangs up, and says nothing."""
    with socket.create_connection(server.address[:2], timeout=PATIENCE_S) as connection:
        with suppress(OSError):  # it has hung up already
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            assert connection.recv(1) == b""


def test_a_stranger_is_not_heard(gadgets: Gadgets, server: EventServer, events: list[Any]) -> None:
    gadgets.put_to(lambda gadget: say(server, gadget.data + b"\n" + gadget.data + b"\n"))
    assert events == []


def test_who_has_the_token_is_heard_if_it_is_json(
    gadgets: Gadgets, server: EventServer, events: list[Any]
) -> None:
    token = server.address[2].encode()

    def tell(gadget: Gadget) -> None:
        events.clear()
        told = ["starting", gadget.text]
        say(server, token + b"\n" + orjson.dumps(told) + b"\n" + gadget.data + b"\n")
        assert events[0] == told
        assert events[-1] == ["gone"]

    gadgets.put_to(tell)
