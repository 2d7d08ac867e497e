"""Variables are bound to tokens: whatever their value, a statement keeps its shape."""

import pytest

from headrace.sql.errors import ParseError
from headrace.sql.syntax import ast
from headrace.sql.syntax.ast import ColumnReference, Literal, SingleColumn
from headrace.sql.syntax.parser import parse, parse_one
from headrace.sql.types import INTEGER, STRING

INJECTIONS = [
    "1; DROP STREAM s",
    "x FROM t; --",
    "a, b",
    "a OR 1 = 1",
    "'x' OR 'y' = 'y'",
    "(SELECT)",
    "f(1)",
    "a.b",
    "/* */ 1 2",
    "*",
    "",
    " ",
    "--",
    "'",
    "`",
    "${x}",
]


def selected(text: str, **variables: str) -> ast.SelectItem:
    statement = parse_one(text, variables)
    assert isinstance(statement, ast.QueryStatement)
    return statement.query.select[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("abc", ColumnReference("ABC")),
        ("`abc`", ColumnReference("abc")),
        ("'abc'", Literal("abc", STRING)),
        ("-1", Literal(-1, INTEGER)),
        ("NULL", Literal(None, None)),
    ],
)
def test_a_variable_is_a_literal_or_a_name(value: str, expected: ast.Expression) -> None:
    assert selected("SELECT ${x} FROM s;", x=value) == SingleColumn(expected)


@pytest.mark.parametrize("value", INJECTIONS)
def test_a_variable_is_nothing_more(value: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse("SELECT ${x} FROM s;", {"x": value})
    assert "line 1:" in raised.value.message


@pytest.mark.parametrize("value", [*INJECTIONS, "a'b", "a`b", '"'])
def test_inside_of_quotes_a_variable_is_text(value: str) -> None:
    item = selected("SELECT '<${x}>' FROM s;", x=value)
    assert item == SingleColumn(Literal(f"<{value}>", STRING))
    item = selected("SELECT `<${x}>` FROM s;", x=value)
    assert item == SingleColumn(ColumnReference(f"<{value}>"))


def test_define_counts_for_what_follows() -> None:
    parsed = parse("DEFINE X = 'a'; SELECT ${x} FROM s; UNDEFINE x;")
    assert parsed[1].statement == parse_one("SELECT a FROM s;")
    with pytest.raises(ParseError, match="undefined variable: x"):
        parse("DEFINE x = 'a'; UNDEFINE x; SELECT ${x} FROM s;")


def test_variables_of_variables_are_not_looked_up() -> None:
    item = selected("SELECT '${x}' FROM s;", x="${y}", y="z")
    assert item == SingleColumn(Literal("${y}", STRING))
