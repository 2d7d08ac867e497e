"""The text that people type: where statements end, and what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.sql.errors import ParseError, underlined
from headrace.sql.syntax.tokens import Kind, Token, tokenize

_QUERIES = ("SELECT", "PRINT")
_PLACE = re.compile(r"^line (\d+):(\d+):", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z0-9_]+|\S")


@dataclass(frozen=True)
class Piece:
    """A statement as it was typed, with its semicolon. `words` are its first words, in upper
    case."""

    text: str
    words: tuple[str, ...]

    @property
    def is_query(self) -> bool:
        return self.words[0] in _QUERIES


def pieces(text: str) -> Iterator[Piece]:
    """The statements of a text. What comes after the last semicolon is one as well: the server
    says what is missing. Raises ParseError where the text is no SQL at all."""
    tokens: list[Token] = []
    for token in tokenize(text):
        if token.kind is not Kind.END:
            tokens.append(token)
        if tokens and (token.kind is Kind.END or token.text == ";"):
            words = tuple(each.value.upper() for each in tokens[:3])
            if tokens[0].text != ";":
                yield Piece(text[tokens[0].start : tokens[-1].end], words)
            tokens = []


def is_complete(text: str) -> bool:
    """Whether a text ends with a semicolon that is none of a string, a name or a comment."""
    try:
        tokens = tokenize(text)
    except ParseError:
        return False
    return len(tokens) < 2 or tokens[-2].text == ";"


def excerpt(message: str, statement: str) -> str:
    """The line of a statement that a message speaks of, and a line that underlines the place; ""
    if it speaks of none."""
    place = _PLACE.search(message)
    if place is None:
        return ""
    line, column = int(place[1]), int(place[2])
    lines = statement.splitlines()
    if not 1 <= line <= len(lines):
        return ""
    word = _WORD.match(lines[line - 1], column - 1)
    return underlined(statement, line, column, len(word[0]) if word else 1)
