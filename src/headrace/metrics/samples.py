"""Numbers over the last while: Kafka's sampled statistics."""

from __future__ import annotations

from collections import deque
from math import nan


class _Sample:
    __slots__ = ("count", "high", "low", "start", "total")

    def __init__(self, start: int) -> None:
        self.start = start
        self.count: float = 0
        self.total: float = 0
        self.low, self.high = float("inf"), float("-inf")


class Samples:
    """The last samples of what was measured, each over a window of time.

    `metrics.num.samples` of `metrics.sample.window.ms` each: two of 30 s, if nothing else is set.
    """

    def __init__(self, window_ms: int, number: int) -> None:
        self._window_ms = window_ms
        self._number = number
        self._samples: deque[_Sample] = deque(maxlen=number)

    def add(self, now_ms: int, count: float, total: float, low: float, high: float) -> None:
        if not self._samples or now_ms - self._samples[-1].start >= self._window_ms:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[-1]
        sample.count += count
        sample.total += total
        sample.low = min(sample.low, low)
        sample.high = max(sample.high, high)

    def rate(self, now_ms: int) -> float:
        """How many a second."""
        return self._per_second(now_ms, sum(sample.count for sample in self._live(now_ms)))

    def ratio(self, now_ms: int) -> float:
        """The share of time, if nanoseconds were measured."""
        busy = self._per_second(now_ms, sum(sample.total for sample in self._live(now_ms)))
        return min(1.0, busy / 1e9)

    def average(self, now_ms: int) -> float:
        samples = self._live(now_ms)
        count = sum(sample.count for sample in samples)
        return sum(sample.total for sample in samples) / count if count else nan

    def smallest(self, now_ms: int) -> float:
        return min((sample.low for sample in self._live(now_ms)), default=nan)

    def largest(self, now_ms: int) -> float:
        return max((sample.high for sample in self._live(now_ms)), default=nan)

    def _per_second(self, now_ms: int, amount: float) -> float:
        if not self._samples:
            return 0.0
        elapsed = now_ms - self._samples[0].start
        # As if the samples before the first had been empty: else the first records would make a
        # rate out of a few milliseconds.
        missing = self._number - 1 - elapsed // max(1, self._window_ms)
        elapsed += max(0, missing) * self._window_ms
        return amount * 1000 / elapsed if elapsed else 0.0

    def _live(self, now_ms: int) -> deque[_Sample]:
        lasts_ms = self._window_ms * self._number
        while self._samples and now_ms - self._samples[0].start >= lasts_ms:
            self._samples.popleft()
        return self._samples
