"""The series of a run as a drawing: a small chart of each."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from .report import Row, shown
from .trend import Point, thinned

_COLUMNS = 3
_WIDTH, _HEIGHT = 300, 130
_TOP, _PLOT, _MARGIN = 50, 70, 14
_GROWS, _FLAT = "#b3261e", "#1f6f8b"


def svg(rows: Sequence[Row], warm_up_s: float, title: str) -> str:
    """Each from zero, so that what looks flat is flat; the warm-up is shaded."""
    width = _COLUMNS * _WIDTH
    height = _TOP + -(-len(rows) // _COLUMNS) * _HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_MARGIN}" y="26" font-weight="bold" font-size="15">{escape(title)}</text>',
    ]
    for number, row in enumerate(rows):
        left = number % _COLUMNS * _WIDTH + _MARGIN
        top = _TOP + number // _COLUMNS * _HEIGHT
        parts += _chart(row, warm_up_s, left, top)
    return "\n".join([*parts, "</svg>", ""])


def _chart(row: Row, warm_up_s: float, left: float, top: float) -> list[str]:
    points = thinned(row.points)
    width = _WIDTH - 2 * _MARGIN
    last = max(point.seconds for point in points) or 1.0
    most = max(point.value for point in points) or 1.0
    colour = _GROWS if row.grows else _FLAT

    def at(point: Point) -> str:
        x = left + point.seconds / last * width
        y = top + 12 + _PLOT * (1 - point.value / most)
        return f"{x:.1f},{y:.1f}"

    line = " ".join(map(at, points))
    shade = min(1.0, warm_up_s / last) * width
    return [
        f'<rect x="{left}" y="{top + 12}" width="{width}" height="{_PLOT}" fill="#f5f7fa"/>',
        f'<rect x="{left}" y="{top + 12}" width="{shade:.1f}" height="{_PLOT}" fill="#e4e8ed"/>',
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
        f'<text x="{left}" y="{top + 6}" font-weight="bold">{escape(row.name)}</text>',
        f'<text x="{left + width}" y="{top + 6}" text-anchor="end" fill="{colour}">'
        f"{escape(row.slope)}</text>",
        f'<text x="{left}" y="{top + _PLOT + 26}" fill="#444">'
        f"{escape(f'most {shown(row.name, most)}, last {shown(row.name, row.last)}')}</text>",
    ]
