"""What is recorded where the work is done, and taken away with each report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Protocol, TypeVar

from headrace.metrics.level import RecordingLevel
from headrace.metrics.sensor import Sensor

Measurement = tuple[str, Sequence[str], Sequence[float]]
"""The key of a sensor, its last tags, and what was measured since the last report: (how many),
(how many, sum, smallest, largest), or the one value of a gauge."""


class Instrument(Protocol):
    """Keeps what was measured until it is taken."""

    def take(self) -> Sequence[float] | None:
        """What was measured since this was last asked; None if nothing."""
        ...


I = TypeVar("I", bound=Instrument)


class Counter:
    """How many."""

    __slots__ = ("_taken", "total")

    def __init__(self) -> None:
        self.total = 0
        self._taken: int | None = None

    def record(self, by: int = 1) -> None:
        self.total += by

    def take(self) -> Sequence[float] | None:
        if self.total == self._taken:
            return None
        # The first time also 0: that nothing happened is worth knowing.
        new = self.total - (self._taken or 0)
        self._taken = self.total
        return (new,)


class Distribution:
    """How many, how much in all, and the extremes."""

    __slots__ = ("count", "high", "low", "total")

    def __init__(self) -> None:
        self.count: int
        self.total: float
        self.low: float
        self.high: float
        self._clear()

    def record(self, value: float) -> None:
        self.count += 1
        self.total += value
        if value < self.low:
            self.low = value
        if value > self.high:
            self.high = value

    def record_all(self, values: Sequence[float]) -> None:
        """At a fraction of the cost of one by one."""
        if values:
            self.count += len(values)
            self.total += sum(values)
            self.low = min(self.low, min(values))
            self.high = max(self.high, max(values))

    def take(self) -> Sequence[float] | None:
        if not self.count:
            return None
        taken = self.count, self.total, self.low, self.high
        self._clear()
        return taken

    def _clear(self) -> None:
        self.count, self.total = 0, 0
        self.low, self.high = inf, -inf


class Gauge:
    """A value that goes up and down."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float | None = None

    def record(self, value: float) -> None:
        self.value = value

    def take(self) -> Sequence[float] | None:
        return None if self.value is None else (self.value,)


class Recorder:
    """The instruments of a task or a thread.

    What a level doesn't ask for may be recorded all the same, and goes nowhere. Where that would
    cost something, ask `records` first.
    """

    def __init__(self, level: RecordingLevel = RecordingLevel.INFO) -> None:
        self.level = level
        self._instruments: dict[tuple[str, tuple[str, ...]], Instrument] = {}

    def records(self, level: RecordingLevel) -> bool:
        return self.level >= level

    def counter(self, sensor: Sensor, *tags: str) -> Counter:
        return self._of(sensor, tags, Counter)

    def distribution(self, sensor: Sensor, *tags: str) -> Distribution:
        return self._of(sensor, tags, Distribution)

    def gauge(self, sensor: Sensor, *tags: str) -> Gauge:
        return self._of(sensor, tags, Gauge)

    def take(self) -> list[Measurement]:
        """What was recorded since this was last asked."""
        return [
            (key, tags, values)
            for (key, tags), instrument in self._instruments.items()
            if (values := instrument.take()) is not None
        ]

    def _of(self, sensor: Sensor, tags: Iterable[str], make: type[I]) -> I:
        if sensor.level > self.level:
            return make()
        found = self._instruments.setdefault((sensor.key, tuple(tags)), make())
        assert isinstance(found, make)
        return found
