"""Connections: so many, and idle ones go first."""

from __future__ import annotations

from headrace.http.connections import Connection, Connections


class Closing:
    """Remembers what was closed, and opens by name."""

    def __init__(self, most: int) -> None:
        self.connections = Connections(most)
        self.closed: list[str] = []

    def open(self, name: str) -> Connection | None:
        return self.connections.opened(lambda: self.closed.append(name))


def opened(closing: Closing, name: str) -> Connection:
    connection = closing.open(name)
    assert connection is not None
    return connection


def test_the_one_that_is_idle_for_longest_makes_room() -> None:
    closing = Closing(2)
    first, second = opened(closing, "first"), opened(closing, "second")
    first.busy()
    first.idle()
    opened(closing, "third")
    assert closing.closed == ["second"]
    second.idle()  # it is told late that it was closed
    second.ended()
    opened(closing, "fourth")
    assert closing.closed == ["second", "first"]
    assert len(closing.connections) == 2


def test_busy_ones_are_left_alone() -> None:
    closing = Closing(2)
    first, second = opened(closing, "first"), opened(closing, "second")
    first.busy()
    second.busy()
    assert closing.open("third") is None
    assert closing.closed == []
    second.ended()
    opened(closing, "fourth")
    assert closing.closed == []


def test_only_idle_ones_are_closed() -> None:
    closing = Closing(2)
    opened(closing, "first").busy()
    opened(closing, "second")
    closing.connections.close_idle()
    assert closing.closed == ["second"]
