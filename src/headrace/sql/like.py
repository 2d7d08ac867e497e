"""LIKE: `%` stands for any text, `_` for any character."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from headrace.sql.functions.java_regex import JavaRegex

_MOST_PATTERN = 10_000
_KEPT = 1_000
_ANY_TEXT, _ANY_CHARACTER = "(?s:.*)", "(?s:.)"


@lru_cache(maxsize=_KEPT)
def like(pattern: str, escape: str | None) -> Callable[[str], bool]:
    """Whether a text matches a pattern; in time that grows with the text, whatever the pattern."""
    if len(pattern) > _MOST_PATTERN:
        raise ValueError(f"A pattern of LIKE may have {_MOST_PATTERN:,} characters")
    pieces = _pieces(pattern, escape)
    if _ANY_CHARACTER in pieces:
        return JavaRegex("".join(_quoted(piece) for piece in pieces)).matches
    parts = _between(pieces)
    if len(parts) == 1:
        return parts[0].__eq__
    return _Parts(*parts).match


class _Parts:
    """Text that must be at the beginning, at the end, and between them one after another."""

    def __init__(self, first: str, *others: str) -> None:
        self._first = first
        *self._middle, self._last = others
        self._least = len(first) + sum(map(len, others))

    def match(self, text: str) -> bool:
        if len(text) < self._least or not text.startswith(self._first):
            return False
        if not text.endswith(self._last):
            return False
        at, end = len(self._first), len(text) - len(self._last)
        for part in self._middle:
            # The first place leaves the most for what follows.
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True


def _pieces(pattern: str, escape: str | None) -> list[str]:
    """Wildcards, and the text around them letter by letter."""
    pieces: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            pieces.append(next(characters, ""))
        elif character == "%":
            pieces.append(_ANY_TEXT)
        else:
            pieces.append(_ANY_CHARACTER if character == "_" else character)
    return pieces


def _between(pieces: list[str]) -> list[str]:
    """The text between the wildcards."""
    parts = [""]
    for piece in pieces:
        if piece == _ANY_TEXT:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _quoted(piece: str) -> str:
    return piece if piece in (_ANY_TEXT, _ANY_CHARACTER) else re.escape(piece)
