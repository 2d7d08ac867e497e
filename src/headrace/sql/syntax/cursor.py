"""A place among the tokens, from which all parts of the parser read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.sql.errors import ParseError, underlined
from headrace.sql.syntax.ast import Position
from headrace.sql.syntax.tokens import Kind, Token
from headrace.sql.syntax.words import RESERVED

MAX_FRAMES = 720
"""How much of Python's stack, which has 1000 frames by default, nested statements may take."""


class Cursor:
    """Reads the tokens of a text one after another, and says what is wrong with the next."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._index = 0
        self._frames = 0
        self._statement_start = tokens[0].start

    # What comes next

    @property
    def token(self) -> Token:
        return self._tokens[self._index]

    def ahead(self, count: int) -> Token:
        """The token that is `count` after the next one."""
        return self._tokens[min(self._index + count, len(self._tokens) - 1)]

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these words and symbols."""
        return all(_is(self.ahead(i), word) for i, word in enumerate(words))

    def at_any(self, *words: str) -> bool:
        return any(_is(self.token, word) for word in words)

    # Reading

    def next(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self._index += 1
        return token

    def take(self, *words: str) -> bool:
        """Read these words and symbols, if they are next."""
        if not self.at(*words):
            return False
        self._index += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Read these words and symbols, which must be next."""
        for word in words:
            if not self.take(word):
                if len(word) == 1 and self.token.kind is Kind.SYMBOL:
                    raise self.error(f"missing '{word}' at '{self.token.text}'")
                raise self.expected(f"'{word}'")

    def expect_any(self, *words: str) -> str:
        """Read one of these words and symbols, and tell which."""
        for word in words:
            if self.take(word):
                return word
        raise self.expected(*(f"'{word}'" for word in words))

    def identifier(self) -> str:
        """Read a name."""
        token = self.token
        if token.kind is Kind.QUOTED:
            self._index += 1
            return token.value
        if token.kind is Kind.WORD:
            if token.value in RESERVED:
                raise self.error(
                    f'{self.near()}\n"{token.text}" is a reserved keyword and it can\'t be used as '
                    f"an identifier. You can use it as an identifier by escaping it as "
                    f"'`{token.text}`'."
                )
            self._index += 1
            return token.value
        raise self.error(f"{self.near()}\nExpecting a name")

    def string(self) -> str:
        """Read a string literal."""
        if self.token.kind is not Kind.STRING:
            raise self.expected(Kind.STRING.value)
        return self.next().value

    def integer(self) -> int:
        """Read a number without sign or fraction."""
        if self.token.kind is not Kind.INTEGER:
            raise self.expected(Kind.INTEGER.value)
        return int(self.next().value)

    @contextmanager
    def deeper(self, frames: int) -> Iterator[None]:
        """Around whatever recurses, and takes that many frames until it comes here again."""
        self._frames += frames
        if self._frames > MAX_FRAMES:
            raise self.error("The statement is nested too deep here. Take it apart.")
        yield
        self._frames -= frames

    # What is wrong

    def expected(self, *alternatives: str) -> ParseError:
        """The next token isn't what could come here."""
        return self.error(f"Expecting {{{', '.join(alternatives)}}}")

    def near(self) -> str:
        return f"Syntax error at or near '{self.token.text}' at line {self.token.position}"

    def error(self, what: str) -> ParseError:
        return self.failure(f"line {self.token.position}: Syntax Error\n{what}")

    def failure(self, message: str, at: Token | None = None) -> ParseError:
        """An error with a message of its own."""
        token = at or self.token
        length = max(1, token.end - token.start)
        return ParseError(
            message, self.statement_text(), underlined(self._text, *token.position, length)
        )

    def statement_text(self) -> str:
        """The text of the statement that is being read, with its semicolon."""
        index = self._index
        while self._tokens[index].kind is not Kind.END and self._tokens[index].text != ";":
            index += 1
        return self._text[self._statement_start : self._tokens[index].end].strip()

    def position(self) -> Position:
        return self.token.position


def _is(token: Token, word: str) -> bool:
    return token.value == word and token.kind in (Kind.WORD, Kind.SYMBOL)
