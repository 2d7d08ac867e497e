"""Errors say what is wrong, and where."""

import pytest

from headrace.sql.errors import ParseError
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.syntax.parser import parse, parse_expression, parse_one


def error_of(text: str) -> ParseError:
    with pytest.raises(ParseError) as raised:
        parse(text)
    return raised.value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RUN SCRIPT 'x';", "line 1:1: Syntax Error\nUnknown statement 'RUN'"),
        ("ASSERT VALUES s VALUES (1);", "Syntax error at or near 'VALUES' at line 1:8"),
        ("SHOW STREAMS;\nSHOW NOTHING;", "line 2:6: Syntax Error"),
        (
            "CREATE STREAM s (a INT (KEY));",
            "line 1:25: Syntax Error\nExpecting {'STRING', INTEGER_VALUE}",
        ),
        ("SELECT a FROM s GROUP BY a, (b, c);", "missing ')' at ','"),
        ("SELECT * FROM s LIMIT x;", "line 1:23: Syntax Error"),
        ("SELECT * FROM s LIMIT 1.5;", "Value must be integer for command: LIMIT"),
        ("SELECT * FROM s", "Expecting {';'}"),
        ("SELECT from FROM s;", '"from" is a reserved keyword'),
        ("SELECT 'x FROM s;", "A string that begins here isn't ended."),
        ("SELECT /* x FROM s;", "A comment that begins here isn't ended."),
        ("SELECT a # b FROM s;", "The character '#' has no meaning here."),
        (
            "CREATE TABLE t (a INT KEY);",
            "Line: 1, Col: 17: Column `A` is a 'KEY' column: please use 'PRIMARY KEY' for tables.",
        ),
        ("CREATE STREAM s (a DECIMAL(1, 2));", "DECIMAL precision must be >= scale"),
    ],
)
def test_messages(text: str, message: str) -> None:
    assert message in error_of(text).message


def test_the_place_is_underlined() -> None:
    error = error_of("SHOW STREAMS;\n  SELECT a FROM s WHER b;")
    assert error.excerpt == "    SELECT a FROM s WHER b;\n                         ^"
    assert str(error).endswith(error.excerpt)
    assert error.statement == "SELECT a FROM s WHER b;"


def test_long_lines_are_shown_around_the_place() -> None:
    error = error_of(f"SELECT {', '.join(['column'] * 100)} FROM s WHERE ;")
    shown, underline = error.excerpt.split("\n")
    assert len(shown) < 210
    assert shown[underline.index("^")] == ";"


@pytest.mark.parametrize("piece", ["(", "NOT ", "- ", "CASE WHEN ", "a[", "f(", "ARRAY[", "x => "])
@pytest.mark.parametrize("count", [100, 100_000])
def test_depth_is_bounded(piece: str, count: int) -> None:
    with pytest.raises(ParseError):
        parse_expression(piece * count + "1")


def test_depth_of_types_is_bounded() -> None:
    with pytest.raises(ParseError, match="nested too deep"):
        parse_one("CREATE TYPE t AS " + "ARRAY<" * 1000 + "INT" + ">" * 1000)


def test_chains_of_operators_are_bounded() -> None:
    assert parse_expression(" + ".join(["1"] * 90))
    with pytest.raises(ParseError, match="more than 100 levels"):
        parse_expression(" + ".join(["1"] * 110))


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [("(", ")", 140), ("f(", ")", 45), ("NOT ", "", 95), ("(1 + ", ")", 95), ("a[", "]", 95)],
)
def test_what_can_be_read_can_be_written_and_read_again(
    before: str, after: str, count: int
) -> None:
    expression = parse_expression(before * count + "1" + after * count)
    assert parse_expression(format_expression(expression)) == expression


def test_a_stack_that_is_nearly_full_is_an_error_of_the_text() -> None:
    def deep(frames: int) -> None:
        if frames:
            deep(frames - 1)
        else:
            parse("SELECT " + "(" * 100 + "1" + ")" * 100 + " FROM s;")

    with pytest.raises(ParseError, match="nested too deep"):
        deep(700)


def test_the_length_of_a_text_is_bounded() -> None:
    with pytest.raises(ParseError, match="at most 1000000"):
        parse("x" * 1_000_001)
