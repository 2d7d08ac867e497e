"""Rows of a query, as lines of a table that fits the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import orjson
from rich.cells import cell_len, chop_cells, set_cell_size

_LEAST = 6
_HEIGHT = 10


class RowTable:
    """Writes a table line by line, as its rows come. Columns share the width; what is longer goes
    on in the next line."""

    def __init__(self, names: Sequence[str], width: int) -> None:
        self._names = names
        share = (width - 1) // max(1, len(names)) - 3
        self._width = max(_LEAST, share)

    def header(self) -> Iterator[str]:
        line = "+" + "+".join("-" * (self._width + 2) for _ in self._names) + "+"
        yield line
        yield from self._lines(self._names)
        yield line

    def row(self, values: Sequence[Any]) -> Iterator[str]:
        return self._lines([cell(value) for value in values])

    def end(self) -> str:
        return "+" + "+".join("-" * (self._width + 2) for _ in self._names) + "+"

    def _lines(self, texts: Sequence[str]) -> Iterator[str]:
        cells = [self._wrapped(text) for text in texts]
        for number in range(max(map(len, cells), default=0)):
            parts = (lines[number] if number < len(lines) else "" for lines in cells)
            yield "| " + " | ".join(set_cell_size(part, self._width) for part in parts) + " |"

    def _wrapped(self, text: str) -> list[str]:
        lines = [
            part
            for line in text.split("\n")
            for part in ([line] if cell_len(line) <= self._width else chop_cells(line, self._width))
        ]
        if len(lines) > _HEIGHT:
            lines = [*lines[: _HEIGHT - 1], "…"]
        return lines or [""]


def cell(value: Any) -> str:
    """A value as people read it. Control characters are shown, not obeyed."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return "".join(_shown(character) for character in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return cell(to_json(value))
    return str(value)


def to_json(value: Any, *, indent: bool = False) -> str:
    """JSON with numbers as they were sent."""
    option = orjson.OPT_INDENT_2 if indent else 0
    return orjson.dumps(value, _number, option).decode()


def _number(value: Any) -> orjson.Fragment:
    assert isinstance(value, Decimal)
    return orjson.Fragment(str(value))


def _shown(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]


def columns_of(schema: str) -> list[str]:
    """The names in a schema such as `` `ID` BIGINT KEY, `NAME` STRING``."""
    names: list[str] = []
    depth, at = 0, 0
    expected = True  # a name comes next
    while at < len(schema):
        character = schema[at]
        if character == "`":
            end = at + 1
            while schema[end : end + 1] != "`" or schema[end + 1 : end + 2] == "`":
                if end >= len(schema):
                    return names
                end += 2 if schema[end] == "`" else 1
            if expected and depth == 0:
                names.append(schema[at + 1 : end].replace("``", "`"))
                expected = False
            at = end
        elif character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            expected = True
        at += 1
    return names
