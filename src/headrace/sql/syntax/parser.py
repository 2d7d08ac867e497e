"""The parser: SQL text in, statements out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from headrace.sql.errors import ParseError
from headrace.sql.syntax.ast import (
    ColumnDefinition,
    DefineVariable,
    Expression,
    Node,
    SourceKind,
    Statement,
    UndefineVariable,
)
from headrace.sql.syntax.statement_parser import StatementParser
from headrace.sql.syntax.tokens import Kind, Token, tokenize
from headrace.sql.syntax.variables import bind
from headrace.sql.types import SqlType

Parsed = TypeVar("Parsed")

MAX_TREE_DEPTH = 100
"""Levels of a statement's tree: so many that the parser can still read it with brackets around
every operator, as the formatter writes it."""


@dataclass(frozen=True)
class ParsedStatement:
    """A statement, and the text it was read from, with its semicolon."""

    statement: Statement
    text: str


def parse(
    text: str, variables: Mapping[str, str] | None = None, *, tests: bool = False
) -> list[ParsedStatement]:
    """All statements of a text, each ended by a semicolon.

    `variables` are bound where `${name}` stands. DEFINE and UNDEFINE change them for the statements
    that follow in the text. `tests` allows the statements that only tests have.

    Raises ParseError at the first thing that is wrong, before anything of the text is executed.
    """
    values = {name.lower(): value for name, value in (variables or {}).items()}
    try:
        return _statements(text, values, tests=tests)
    except RecursionError:  # the caller's own stack is deep already
        raise ParseError("The text is nested too deep. Take it apart.", text.strip()) from None


def _statements(text: str, values: dict[str, str], *, tests: bool) -> list[ParsedStatement]:
    parsed = []
    for tokens in _pieces(tokenize(text)):
        parser = StatementParser(text, bind(text, tokens, values))
        parser.tests = tests
        statement = _within_bounds(parser, parser.statement())
        if not parser.at(";"):
            raise parser.expected("';'")
        parsed.append(ParsedStatement(statement, parser.statement_text()))
        if isinstance(statement, DefineVariable):
            values[statement.name] = statement.value
        elif isinstance(statement, UndefineVariable):
            values.pop(statement.name, None)
    return parsed


def parse_one(text: str, variables: Mapping[str, str] | None = None) -> Statement:
    """The one statement of a text; the semicolon may be missing."""
    parser = _parser(text, variables)
    statement = parser.statement()
    parser.take(";")
    return _finished(parser, statement)


def parse_expression(text: str) -> Expression:
    """An expression on its own."""
    parser = _parser(text)
    return _finished(parser, parser.expression())


def parse_type(text: str) -> SqlType:
    """A type on its own."""
    parser = _parser(text)
    return _finished(parser, parser.type())


def parse_columns(text: str, kind: SourceKind | None = None) -> tuple[ColumnDefinition, ...]:
    """Columns on their own, without brackets around them. Without a `kind`, keys may be KEY or
    PRIMARY KEY."""
    parser = _parser(text)
    return _finished(parser, parser.listed(lambda: parser.column(kind)))


def _parser(text: str, variables: Mapping[str, str] | None = None) -> StatementParser:
    return StatementParser(text, bind(text, tokenize(text), variables or {}))


def _finished(parser: StatementParser, parsed: Parsed) -> Parsed:
    if parser.token.kind is not Kind.END:
        raise parser.expected("<EOF>")
    return _within_bounds(parser, parsed)


def _pieces(tokens: list[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement, with its semicolon and an END."""
    piece: list[Token] = []
    for token in tokens:
        if token.kind is Kind.END:
            if piece:
                yield [*piece, token]
            return
        piece.append(token)
        if token.kind is Kind.SYMBOL and token.value == ";":
            end = replace(token, kind=Kind.END, text="<EOF>", value="", start=token.end)
            if len(piece) > 1:  # a semicolon too many is no statement
                yield [*piece, end]
            piece = []


def _within_bounds(parser: StatementParser, parsed: Parsed) -> Parsed:
    """Chains such as `a + b + c …` are read in a loop, but what handles the tree recurses."""
    level: list[object] = [parsed]
    for _ in range(MAX_TREE_DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return parsed
    raise parser.failure(
        f"The statement has expressions of more than {MAX_TREE_DEPTH} levels. Take it apart, or "
        "put brackets around halves of long chains of operators.",
    )


def _children(node: object) -> list[object]:
    if isinstance(node, tuple):
        return [part for part in node if isinstance(part, Node | tuple)]
    if isinstance(node, Node):
        return [
            part
            for name in node.__dataclass_fields__
            if isinstance(part := getattr(node, name), Node | tuple)
        ]
    return []
