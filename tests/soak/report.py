"""The report of a run: each series with its trend, and whether anything grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .trend import Point, Trend, after

LIMIT_PERCENT = 1.0
"""An hour."""
_BYTES = ("memory", "heap", "disk")


class Row(NamedTuple):
    name: str
    points: Sequence[Point]
    trend: Trend | None
    """After the warm-up."""

    @property
    def grows(self) -> bool:
        return self.trend is not None and self.trend.grows(LIMIT_PERCENT)

    @property
    def slope(self) -> str:
        return "too short" if self.trend is None else f"{self.trend.percent_per_hour:+.2f} %/h"

    @property
    def last(self) -> float:
        return self.points[-1].value


def rows(series: Mapping[str, Sequence[Point]], warm_up_s: float) -> list[Row]:
    return [
        Row(name, points, Trend.of(after(points, warm_up_s))) for name, points in series.items()
    ]


def table(rows: Sequence[Row]) -> Iterator[str]:
    """As lines of text."""
    yield f"{'':24}{'first':>14}{'last':>14}{'slope':>16}"
    for row in rows:
        first, last = shown(row.name, row.points[0].value), shown(row.name, row.last)
        mark = "  grows" if row.grows else ""
        yield f"{row.name:24}{first:>14}{last:>14}{row.slope:>16}{mark}"


def verdict(rows: Sequence[Row]) -> str | None:
    """What is wrong; None if nothing is."""
    growing = [row.name for row in rows if row.grows]
    if growing:
        return f"Grows by {LIMIT_PERCENT:g}% an hour or more: {', '.join(growing)}."
    if any(row.trend is None for row in rows):
        return "The run was too short to tell a trend."
    return None


def shown(name: str, value: float) -> str:
    return f"{value / 2**20:,.1f} MB" if name.endswith(_BYTES) else f"{value:,.0f}"


def rate(counts: Sequence[Point]) -> float:
    """How many there were a second, from the first count to the last."""
    if len(counts) < 2 or counts[0].seconds == counts[-1].seconds:
        return 0.0
    first, last = counts[0], counts[-1]
    return (last.value - first.value) / (last.seconds - first.seconds)
