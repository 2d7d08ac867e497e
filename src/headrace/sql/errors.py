"""Errors of SQL: what is wrong, with ksqlDB's words where it has some, and where.

SqlError                 what was asked for can't be done
└── StatementError       … as this statement asks it
    └── ParseError       the text isn't SQL
"""

from __future__ import annotations

import re

from headrace.core.errors import HeadraceError


class SqlError(HeadraceError):
    """Something that was asked for in SQL can't be done. `message` is ksqlDB's where it has one;
    `position` is where in the text (line, column) what is to blame stands, if that is known."""

    def __init__(self, message: str, position: tuple[int, int] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self._position = position

    @property
    def position(self) -> tuple[int, int] | None:
        return self._position


class StatementError(SqlError):
    """A statement can't be executed. `statement` is its text, if known by now; `excerpt` is the
    line of the text where the error is, and a line that underlines it."""

    def __init__(self, message: str, statement: str | None = None, excerpt: str = "") -> None:
        super().__init__(message)
        self.statement = statement
        self.excerpt = excerpt

    def __str__(self) -> str:
        return f"{self.message}\n{self.excerpt}" if self.excerpt else self.message


class ParseError(StatementError):
    """A text isn't SQL."""


def underlined(text: str, line: int, column: int, length: int | None = None) -> str:
    """A line of a text, and a line that underlines a part of it; without a length, the word there.
    All are counted from 1."""
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return ""
    shown = lines[line - 1].rstrip("\r").expandtabs(1)
    if length is None:
        word = _WORD.match(shown, column - 1)
        length = len(word[0]) if word else 1
    length = max(1, min(length, len(shown) - column + 1))
    start = 0
    if column > _WIDTH:  # a long line is shown around the error
        start = column - _WIDTH // 2
        column -= start
    shown = shown[start : start + 2 * _WIDTH]
    return f"  {shown}\n  {' ' * (column - 1)}{'^' * min(length, _WIDTH)}"


_WIDTH = 100
_WORD = re.compile(r"[\w.]+")
