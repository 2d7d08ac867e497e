"""The trend of a series of measurements: by how much it grows in an hour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from statistics import median
from typing import NamedTuple

HOUR_S = 3600.0
_MOST_POINTS = 300
"""Slopes are taken between all pairs of them."""


class Point(NamedTuple):
    seconds: float
    value: float


class Trend(NamedTuple):
    """A straight line through a series: where it begins, and how steep it is."""

    start: float
    per_hour: float

    @classmethod
    def of(cls, points: Sequence[Point]) -> Trend | None:
        """By Theil and Sen, the median of the slopes between any two points: what swings, as heaps
        do, or jumps once, doesn't look like a leak. None of fewer than two points."""
        points = thinned(points)
        slopes = [
            (later.value - earlier.value) / (later.seconds - earlier.seconds)
            for earlier, later in combinations(points, 2)
        ]
        if not slopes:
            return None
        slope = median(slopes)
        start = median(value - slope * (at - points[0].seconds) for at, value in points)
        return cls(start, slope * HOUR_S)

    @property
    def percent_per_hour(self) -> float:
        if self.per_hour == 0:
            return 0.0
        return 100 * self.per_hour / self.start if self.start > 0 else float("inf")

    def grows(self, limit_percent: float) -> bool:
        return self.percent_per_hour >= limit_percent


def after(points: Iterable[Point], seconds: float) -> list[Point]:
    """Without the warm-up."""
    return [point for point in points if point.seconds >= seconds]


def thinned(points: Sequence[Point], most: int = _MOST_POINTS) -> list[Point]:
    """So many at most: medians of neighbours."""
    size = -(-len(points) // most)
    groups = [points[i : i + size] for i in range(0, len(points), size)] if points else []
    return [
        Point(median(at for at, _ in group), median(value for _, value in group))
        for group in groups
    ]
