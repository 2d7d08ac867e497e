"""The rows of the benchmark as a drawing."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from .report import Row, compared

_WIDTH = 760
_LEFT, _RIGHT = 110, 190
_ROW, _BAR, _TOP = 52, 16, 56
_COLOURS = {"Headrace": "#1f6f8b", "Kafka Streams": "#b9bfc6"}


def svg(rows: Iterable[Row], title: str) -> str:
    """Two bars for each row that has both figures, with the ratio beside them."""
    shown = compared(rows)
    height = _TOP + _ROW * len(shown) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        _text(12, 22, title, 'font-weight="bold" font-size="15"'),
        *_legend(),
    ]
    for number, row in enumerate(shown):
        parts += _row(row, _TOP + _ROW * number)
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    parts = []
    for number, (name, colour) in enumerate(_COLOURS.items()):
        x = _LEFT + 130 * number
        parts += [_rect(x, 33, 12, 12, colour), _text(x + 18, 44, name)]
    return parts


def _row(row: Row, top: int) -> list[str]:
    figures = {"Headrace": row.headrace or 0.0, "Kafka Streams": row.kafka_streams or 0.0}
    longest = max(figures.values())
    room = _WIDTH - _LEFT - _RIGHT
    parts = [_text(12, top + 27, row.mode, 'font-weight="bold"')]
    for number, (name, figure) in enumerate(figures.items()):
        y = top + 5 + number * (_BAR + 3)
        length = max(1, round(figure / longest * room))
        shown = f"{figure:,.0f}" if figure >= 100 else f"{figure:,.1f}"
        parts += [
            _rect(_LEFT, y, length, _BAR, _COLOURS[name]),
            _text(_LEFT + length + 6, y + 13, f"{shown} {row.unit}", 'fill="#444" font-size="12"'),
        ]
    ratio = 'font-weight="bold" text-anchor="end" font-size="15"'
    return [*parts, _text(_WIDTH - 12, top + 27, f"× {row.ratio:.2f}", ratio)]


def _rect(x: int, y: int, width: int, height: int, colour: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{colour}" rx="2"/>'


def _text(x: int, y: int, text: str, attributes: str = "") -> str:
    return f'<text x="{x}" y="{y}" {attributes}>{escape(text)}</text>'
