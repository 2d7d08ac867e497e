"""Whatever a statement says, its text says the same."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.sql.errors import ParseError
from headrace.sql.syntax import ast
from headrace.sql.syntax.formatter import format_expression, format_type
from headrace.sql.syntax.parser import parse, parse_expression, parse_one, parse_type
from headrace.sql.syntax.statement_formatter import format_statement
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

words = st.sampled_from(
    ["A", "B", "SELECT", "DAYS", "DAY", "ARRAY", "MAP", "EMIT", "KEY", "ID", "REPLACE", "1A", "INT"]
)
names = words | st.text(min_size=1, max_size=6).filter(lambda text: "\x00" not in text)

types: st.SearchStrategy[SqlType] = st.recursive(
    st.sampled_from([INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIMESTAMP, BOOLEAN])
    | st.builds(DecimalType, st.just(10), st.integers(0, 10))
    | st.builds(ast.NamedType, names),
    lambda inner: (
        st.builds(ArrayType, inner)
        | st.builds(MapType, inner, inner)
        | st.builds(StructType, st.lists(st.builds(Field, names, inner), max_size=3).map(tuple))
    ),
    max_leaves=5,
)


def _decimal(digits: int, scale: int) -> ast.Literal:
    number = Decimal(digits).scaleb(-scale)
    precision = max(len(number.as_tuple().digits), scale)
    return ast.Literal(number, DecimalType(precision, scale))


literals = (
    st.integers(-(2**31), 2**31 - 1).map(lambda number: ast.Literal(number, INTEGER))
    | st.integers(2**31, 2**63 - 1).map(lambda number: ast.Literal(number, BIGINT))
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda n: ast.Literal(n, DOUBLE))
    | st.builds(_decimal, st.integers(-(10**9), 10**9), st.integers(1, 9))
    | st.text(max_size=5).map(lambda text: ast.Literal(text, STRING))
    | st.booleans().map(lambda flag: ast.Literal(flag, BOOLEAN))
    | st.just(ast.Literal(None, None))
)
columns = st.builds(ast.ColumnReference, names, st.none() | names)


def _tuples(inner: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[Any]:
    return st.lists(inner, min_size=least, max_size=3).map(tuple)


def _compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[ast.Expression]:
    whens = _tuples(st.builds(ast.When, inner, inner), 1)
    functions = st.text("ABCXYZ_", min_size=1, max_size=5)
    return st.one_of(
        st.builds(ast.FieldAccess, inner, names),
        st.builds(ast.Subscript, inner, inner),
        st.builds(ast.FunctionCall, functions, _tuples(inner)),
        st.builds(ast.Arithmetic, st.sampled_from(ast.ArithmeticOperator), inner, inner),
        st.builds(ast.Comparison, st.sampled_from(ast.ComparisonOperator), inner, inner),
        st.builds(ast.Logical, st.sampled_from(ast.LogicalOperator), inner, inner),
        st.builds(ast.Sign, st.booleans(), inner),
        st.builds(ast.Not, inner),
        st.builds(ast.IsNull, inner),
        st.builds(ast.IsNotNull, inner),
        st.builds(ast.Between, inner, inner, inner),
        st.builds(ast.In, inner, _tuples(inner, 1)),
        st.builds(ast.Like, inner, inner, st.none() | st.characters()),
        st.builds(ast.SearchedCase, whens, st.none() | inner),
        st.builds(ast.SimpleCase, inner, whens, st.none() | inner),
        st.builds(ast.Cast, inner, types),
        st.builds(ast.ArrayConstructor, _tuples(inner)),
        st.builds(ast.MapConstructor, _tuples(st.tuples(inner, inner))),
        st.builds(ast.StructConstructor, _tuples(st.tuples(names, inner))),
    )


expressions: st.SearchStrategy[ast.Expression] = st.recursive(
    literals | columns, _compound, max_leaves=12
)
durations = st.builds(ast.Duration, st.integers(0, 99), st.sampled_from(ast.TimeUnit))
sources = st.builds(ast.AliasedSource, names, names)
relations: st.SearchStrategy[ast.Relation] = sources | st.builds(
    ast.Join,
    st.sampled_from(ast.JoinKind),
    sources,
    sources,
    expressions,
    st.none() | st.builds(ast.Within, durations, durations, st.none() | durations),
)
windows = st.builds(
    ast.HoppingWindow, durations, durations, retention=st.none() | durations
) | st.builds(ast.SessionWindow, durations, grace=st.none() | durations)
select = _tuples(
    st.builds(ast.SingleColumn, expressions, st.none() | names)
    | st.builds(ast.AllColumns, st.none() | names),
    1,
)
queries = st.builds(
    ast.Query,
    select,
    relations,
    st.none() | windows,
    st.none() | expressions,
    _tuples(expressions),
    st.just(()),
    st.none() | expressions,
    st.none() | st.sampled_from(ast.Emit),
    st.none() | st.integers(-5, 5),
)


@given(expressions)
@settings(deadline=None, max_examples=150)
def test_expressions(expression: ast.Expression) -> None:
    assert parse_expression(format_expression(expression)) == expression


@given(types)
@settings(deadline=None, max_examples=100)
def test_types(type_: SqlType) -> None:
    assert parse_type(format_type(type_)) == type_


@given(queries, names)
@settings(deadline=None, max_examples=100)
def test_queries(query: ast.Query, name: str) -> None:
    for statement in (
        ast.QueryStatement(query),
        ast.CreateAsSelect(ast.SourceKind.TABLE, name, query),
        ast.InsertInto(name, query),
    ):
        assert parse_one(format_statement(statement)) == statement


pieces = st.sampled_from(["SELECT", "*", "FROM", "a", "(", ")", ",", "'", ";", "NOT", "\n"])


@given(st.text(max_size=60) | st.lists(pieces).map(" ".join))
@settings(deadline=None, max_examples=200)
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(ParseError):
        parse(text)
