"""Expressions: what is read, and in what order operators bind."""

from decimal import Decimal

import pytest

from headrace.sql.errors import ParseError
from headrace.sql.syntax.ast import (
    Arithmetic,
    ArithmeticOperator,
    ArrayConstructor,
    Between,
    Cast,
    ColumnReference,
    Comparison,
    ComparisonOperator,
    Expression,
    FieldAccess,
    FunctionCall,
    In,
    IntervalUnit,
    IsNotNull,
    IsNull,
    Lambda,
    LambdaVariable,
    Like,
    Literal,
    Logical,
    LogicalOperator,
    MapConstructor,
    NamedType,
    Not,
    SearchedCase,
    Sign,
    SimpleCase,
    StructConstructor,
    Subscript,
    TimeUnit,
    When,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.syntax.parser import parse_expression
from headrace.sql.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, DecimalType, MapType

A, B, C = ColumnReference("A"), ColumnReference("B"), ColumnReference("C")
ONE, TWO = Literal(1, INTEGER), Literal(2, INTEGER)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", ONE),
        ("-1", Literal(-1, INTEGER)),
        ("2147483648", Literal(2147483648, BIGINT)),
        ("-9223372036854775808", Literal(-(2**63), BIGINT)),
        ("0001", ONE),
        ("1.50", Literal(Decimal("1.50"), DecimalType(3, 2))),
        ("0.01", Literal(Decimal("0.01"), DecimalType(2, 2))),
        ("1e3", Literal(1000.0, DOUBLE)),
        (".5E-1", Literal(0.05, DOUBLE)),
        ("'it''s'", Literal("it's", STRING)),
        ("TRUE", Literal(True, BOOLEAN)),
        ("null", Literal(None, None)),
    ],
)
def test_literals_have_types_by_their_spelling(text: str, expected: Expression) -> None:
    assert parse_expression(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", A),
        ('"a"', ColumnReference("a")),
        ("`a``b`", ColumnReference("a`b")),
        ("s.a", ColumnReference("A", "S")),
        ("1a", ColumnReference("1A")),
        ("a->b->c", FieldAccess(FieldAccess(A, "B"), "C")),
        ("a[1]['x']", Subscript(Subscript(A, ONE), Literal("x", STRING))),
        ("f(a)->b[1]", Subscript(FieldAccess(FunctionCall("F", (A,)), "B"), ONE)),
    ],
)
def test_names_and_parts_of_values(text: str, expected: Expression) -> None:
    assert parse_expression(text) == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a + b * c", "(A + (B * C))"),
        ("a - b - c", "((A - B) - C)"),
        ("a || b + c", "CONCAT(A, (B + C))"),
        ("a = b + 1 AND c", "((A = (B + 1)) AND C)"),
        ("a OR b AND c", "(A OR (B AND C))"),
        ("NOT a = b AND c", "((NOT (A = B)) AND C)"),
        ("a AND NOT b OR c", "((A AND (NOT B)) OR C)"),
        ("NOT NOT a", "(NOT (NOT A))"),
        ("- a * b", "(-A * B)"),
        ("a - -1", "(A - -1)"),
        ("-(-1)", "-(-1)"),
        ("a != b", "(A <> B)"),
        ("(a + b) * c", "((A + B) * C)"),
        ("a BETWEEN 1 AND 2 AND b", "((A BETWEEN 1 AND 2) AND B)"),
        ("a NOT IN (1, 2) OR b", "((NOT (A IN (1, 2))) OR B)"),
        ("a NOT LIKE 'x%' ESCAPE '!'", "(NOT (A LIKE 'x%' ESCAPE '!'))"),
        ("a IS NOT DISTINCT FROM b", "(A IS NOT DISTINCT FROM B)"),
    ],
)
def test_operators_bind_as_in_ksqldb(text: str, shown: str) -> None:
    assert format_expression(parse_expression(text)) == shown


def test_predicates() -> None:
    assert parse_expression("a IS NULL") == IsNull(A)
    assert parse_expression("a IS NOT NULL") == IsNotNull(A)
    assert parse_expression("a IN (1, b)") == In(A, (ONE, B))
    assert parse_expression("a BETWEEN 1 AND 2") == Between(A, ONE, TWO)
    assert parse_expression("a LIKE b") == Like(A, B)
    assert parse_expression("a IS DISTINCT FROM b") == Comparison(
        ComparisonOperator.IS_DISTINCT_FROM, A, B
    )
    assert parse_expression("NOT a AND b") == Logical(LogicalOperator.AND, Not(A), B)


def test_case() -> None:
    assert parse_expression("CASE WHEN a THEN 1 ELSE 2 END") == SearchedCase((When(A, ONE),), TWO)
    assert parse_expression("CASE a WHEN 1 THEN b END") == SimpleCase(A, (When(ONE, B),), None)


def test_constructors_and_casts() -> None:
    assert parse_expression("ARRAY[a, 1]") == ArrayConstructor((A, ONE))
    assert parse_expression("MAP('k' := a)") == MapConstructor(((Literal("k", STRING), A),))
    assert parse_expression("STRUCT(f := a, `g` := b)") == StructConstructor((("F", A), ("g", B)))
    assert parse_expression("CAST(a AS MAP<VARCHAR, INT>)") == Cast(A, MapType(STRING, INTEGER))
    assert parse_expression("CAST(a AS address)") == Cast(A, NamedType("ADDRESS"))


def test_calls_lambdas_and_units() -> None:
    x, y = LambdaVariable("X"), LambdaVariable("Y")
    add = Arithmetic(ArithmeticOperator.ADD, x, y)
    assert parse_expression("COUNT(*)") == FunctionCall("COUNT", ())
    assert parse_expression("reduce(a, 1, (x, y) => x + y)") == FunctionCall(
        "REDUCE", (A, ONE, Lambda(("X", "Y"), add))
    )
    assert parse_expression("transform(a, x => x + b)") == FunctionCall(
        "TRANSFORM", (A, Lambda(("X",), Arithmetic(ArithmeticOperator.ADD, x, B)))
    )
    assert parse_expression("DATEADD(DAYS, 1, a)") == FunctionCall(
        "DATEADD", (IntervalUnit(TimeUnit.DAYS), ONE, A)
    )


def test_a_variable_of_a_lambda_ends_with_it() -> None:
    parsed = parse_expression("f(x => x, x)")
    assert isinstance(parsed, FunctionCall)
    assert parsed.arguments[1] == ColumnReference("X")


def test_signs() -> None:
    assert parse_expression("-a") == Sign(True, A)
    assert parse_expression("+1") == Sign(False, ONE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "a = b = c",
        "a IN ()",
        "(a",
        "a +",
        "CASE END",
        "f(a",
        "a[",
        "a..b",
        "select",
        "*",
    ],
)
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ParseError):
        parse_expression(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-9223372036854775809", "Invalid numeric literal: -9223372036854775809"),
        ("99999999999999999999999", "Invalid numeric literal: 99999999999999999999999"),
        ("1e999", "Number overflows DOUBLE: 1e999"),
        ("a LIKE b ESCAPE 'xy'", "Expected exactly one character in ESCAPE clause"),
    ],
)
def test_literals_that_cant_be(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_expression(text)


def test_positions_are_known_but_not_compared() -> None:
    parsed = parse_expression("a +\n  b")
    assert isinstance(parsed, Arithmetic)
    assert parsed.left.position == (1, 1)
    assert parsed.right.position == (2, 3)
    assert parsed == Arithmetic(ArithmeticOperator.ADD, A, B)
