"""The rows of the benchmark, as a table, as bars and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rich.table import Table
from rich.text import Text

_BAR_WIDTH = 48


@dataclass(frozen=True)
class Goal:
    """What a row must reach."""

    of: Literal["ratio", "headrace"]
    bound: Literal["at least", "at most"]
    limit: float

    def met(self, value: float | None) -> bool:
        if value is None:
            return False
        return value >= self.limit if self.bound == "at least" else value <= self.limit


@dataclass(frozen=True)
class Row:
    mode: str
    unit: str
    headrace: float | None
    kafka_streams: float | None = None
    goal: Goal | None = None
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        if self.headrace is None or not self.kafka_streams:
            return None
        return self.headrace / self.kafka_streams

    @property
    def met(self) -> bool | None:
        """None if there is no goal."""
        if self.goal is None:
            return None
        return self.goal.met(self.ratio if self.goal.of == "ratio" else self.headrace)


def table(rows: Iterable[Row]) -> Table:
    shown = Table("mode", header_style="bold")
    for name in ("Headrace", "Kafka Streams", "", "ratio", "goal"):
        shown.add_column(name, justify="left" if name in ("", "goal") else "right")
    for row in rows:
        shown.add_row(
            row.mode,
            _number(row.headrace),
            _number(row.kafka_streams),
            row.unit,
            _ratio(row.ratio),
            _goal(row),
        )
    return shown


def line(row: Row) -> str:
    """A row as it comes."""
    figures = f"{_number(row.headrace)} {row.unit}"
    beside = (
        f", Kafka Streams {_number(row.kafka_streams)}: {_ratio(row.ratio)}" if row.ratio else ""
    )
    return f"{row.mode}: Headrace {figures}{beside} {_goal(row)} {dict(row.details) or ''}"


def bars(rows: Iterable[Row]) -> list[str]:
    """Two bars for each row that has both figures, the longer of them as long as there is room."""
    lines = []
    for row in compared(rows):
        figures = (("Headrace", row.headrace or 0.0), ("Kafka Streams", row.kafka_streams or 0.0))
        longest = max(figure for _, figure in figures)
        for name, figure in figures:
            label = row.mode if name == "Headrace" else ""
            bar = "█" * max(1, round(figure / longest * _BAR_WIDTH))
            lines.append(f"{label:10} {name:13} {bar} {_number(figure)} {row.unit}")
    return lines


def as_json(rows: Iterable[Row]) -> str:
    """One line."""
    return json.dumps({"rows": [_entry(row) for row in rows]})


def compared(rows: Iterable[Row]) -> Sequence[Row]:
    """Those that have figures of both engines."""
    return [row for row in rows if row.ratio is not None]


def _entry(row: Row) -> dict[str, object]:
    entry: dict[str, object] = {
        "mode": row.mode,
        "unit": row.unit,
        "headrace": _rounded(row.headrace),
        "kafka_streams": _rounded(row.kafka_streams),
        "ratio": None if row.ratio is None else round(row.ratio, 3),
    }
    if row.goal is not None:
        bound = row.goal.bound.replace(" ", "_")
        entry |= {"goal": {"of": row.goal.of, bound: row.goal.limit}, "met": row.met}
    return entry | dict(row.details)


def _goal(row: Row) -> Text:
    if row.goal is None:
        return Text("")
    unit = "" if row.goal.of == "ratio" else f" {row.unit}"
    mark, style = ("✓", "green") if row.met else ("✗", "red")
    return Text(f"{mark} {row.goal.bound} {row.goal.limit:,g}{unit}", style)


def _number(figure: float | None) -> str:
    if figure is None:
        return ""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:,.1f}"


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 3)
