"""The way between a process and the brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from headrace.core.clock import PacedClock

from .broker import Broker

T = TypeVar("T")


class Network(Protocol):
    """Every request of a model client goes through one: where it may be delayed or lost."""

    @property
    def clock(self) -> PacedClock: ...

    def call(self, what: str, request: Callable[[], T]) -> T:
        """Have a request done. Raises BrokerError if no answer comes in time."""
        ...

    def share(self, waiting: int) -> int:
        """How many of the records that wait in a producer are sent before somebody waits for it."""
        ...


class GoodNetwork:
    """Nothing happens on it."""

    def __init__(self, broker: Broker, clock: PacedClock) -> None:
        self._broker = broker
        self.clock = clock

    def call(self, what: str, request: Callable[[], T]) -> T:
        self._broker.settle()
        return request()

    def share(self, waiting: int) -> int:
        return waiting
