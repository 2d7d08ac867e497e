"""Text into tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from headrace.sql.errors import ParseError, underlined
from headrace.sql.syntax.ast import Position

MAX_LENGTH = 1_000_000
"""Characters of a text. Nobody writes more; who sends more means harm."""


class Kind(Enum):
    """What a token is. The values are the words of messages."""

    WORD = "identifier"
    QUOTED = "quoted identifier"
    STRING = "STRING"
    INTEGER = "INTEGER_VALUE"
    DECIMAL = "DECIMAL_VALUE"
    DOUBLE = "FLOATING_POINT_VALUE"
    SYMBOL = "symbol"
    VARIABLE = "variable"
    END = "<EOF>"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text. `value` is what it means: a word in upper case, a string without its
    quotes."""

    kind: Kind
    text: str
    value: str
    position: Position
    start: int
    """Where in the text it begins …"""
    end: int
    """… and where it ends."""


_TOKEN = re.compile(
    r"""
      (?P<space>\s+ | --[^\r\n]* | /\*.*?\*/)
    | (?P<DOUBLE>(?:\d+(?:\.\d*)?|\.\d+)[eE][+-]?\d+(?![A-Za-z0-9_@]))
    | (?P<DECIMAL>\d+\.\d*|\.\d+)
    | (?P<INTEGER>\d+(?![A-Za-z0-9_@]))
    | (?P<WORD>[A-Za-z0-9_][A-Za-z0-9_@]*)
    | (?P<QUOTED>`(?:[^`]|``)*`|"(?:[^"]|"")*")
    | (?P<STRING>'(?:[^']|'')*')
    | (?P<VARIABLE>\$\{[A-Za-z0-9_]+\})
    | (?P<SYMBOL><>|!=|<=|>=|=>|->|:=|\|\||/(?!\*)|[-+*%=<>()\[\],.;:])
    """,
    re.VERBOSE | re.DOTALL,
)


def tokenize(text: str) -> list[Token]:
    """All tokens of a text, with an END at its end.

    Raises ParseError if something is no token, or if the text is too long.
    """
    if len(text) > MAX_LENGTH:
        raise ParseError(
            f"The text has {len(text)} characters, and at most {MAX_LENGTH} are allowed. "
            "Send its statements one by one."
        )
    return list(_tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    line, line_start, index = 1, 0, 0
    while index < len(text):
        match = _TOKEN.match(text, index)
        position = Position(line, index - line_start + 1)
        if match is None:
            raise _no_token(text, index, position)
        kind, piece, index = match.lastgroup or "", match.group(), match.end()
        if kind != "space":
            yield Token(Kind[kind], piece, _value(kind, piece), position, match.start(), index)
        newlines = piece.count("\n")
        if newlines:
            line += newlines
            line_start = match.start() + piece.rindex("\n") + 1
    end = Position(line, len(text) - line_start + 1)
    yield Token(Kind.END, "<EOF>", "", end, len(text), len(text))


def _value(kind: str, piece: str) -> str:
    match kind:
        case "WORD":
            return piece.upper()
        case "QUOTED" | "STRING":
            quote = piece[0]
            return piece[1:-1].replace(quote * 2, quote)
        case "VARIABLE":
            return piece[2:-1]
        case _:
            return piece


def _no_token(text: str, index: int, position: Position) -> ParseError:
    character = text[index]
    hints = {
        "'": "A string that begins here isn't ended.",
        '"': "A quoted name that begins here isn't ended.",
        "`": "A quoted name that begins here isn't ended.",
    }
    if text.startswith("/*", index):
        hint = "A comment that begins here isn't ended."
    else:
        hint = hints.get(character, f"The character {character!r} has no meaning here.")
    return ParseError(
        f"line {position}: Syntax Error\n{hint}",
        statement=text.strip(),
        excerpt=underlined(text, *position, 1),
    )
