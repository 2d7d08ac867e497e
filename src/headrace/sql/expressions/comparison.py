"""Comparisons, BETWEEN, LIKE and IS [NOT] NULL.

A comparison with NULL is FALSE in ksqlDB, not NULL.
"""

from __future__ import annotations

import ast
from decimal import Decimal

from headrace.sql import times
from headrace.sql.casts import caster
from headrace.sql.decimals import of_double
from headrace.sql.expressions import python as py
from headrace.sql.expressions.code import Code, Context
from headrace.sql.expressions.errors import TypingError
from headrace.sql.expressions.python import Expr
from headrace.sql.functions.order import SIGNED
from headrace.sql.like import like
from headrace.sql.syntax.ast import (
    Between,
    ColumnReference,
    Comparison,
    ComparisonOperator,
    Expression,
    IsNotNull,
    IsNull,
    Like,
    Literal,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    DecimalType,
    SqlType,
)

EQUAL, NOT_EQUAL = ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL
DISTINCT = ComparisonOperator.IS_DISTINCT_FROM
NOT_DISTINCT = ComparisonOperator.IS_NOT_DISTINCT_FROM

_PYTHON: dict[ComparisonOperator, ast.cmpop] = {
    EQUAL: ast.Eq(),
    NOT_EQUAL: ast.NotEq(),
    DISTINCT: ast.NotEq(),
    NOT_DISTINCT: ast.Eq(),
    ComparisonOperator.LESS_THAN: ast.Lt(),
    ComparisonOperator.LESS_THAN_OR_EQUAL: ast.LtE(),
    ComparisonOperator.GREATER_THAN: ast.Gt(),
    ComparisonOperator.GREATER_THAN_OR_EQUAL: ast.GtE(),
}
_NUMBERS = ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE")
_TIMES = (DATE, TIME, TIMESTAMP)
_INSTANTS = ("ROWTIME", "WINDOWSTART", "WINDOWEND")


def compile_comparison(expression: Comparison, context: Context) -> Code:
    operator = expression.operator
    left = _operand(expression.left, expression.right, context)
    right = _operand(expression.right, expression.left, context)
    left, right = _comparable(expression, left, right, context)

    def build(a: Expr, b: Expr) -> Expr:
        if left.type == BYTES and operator not in (EQUAL, NOT_EQUAL, DISTINCT, NOT_DISTINCT):
            table = context.bind(SIGNED, "signed")
            a, b = (py.call(py.attribute(side, "translate"), table) for side in (a, b))
        return py.compared(a, _PYTHON[operator], b)

    if operator in (DISTINCT, NOT_DISTINCT):
        node = build(left.node, right.node)
    elif operator is EQUAL and not (left.nullable and right.nullable):
        node = build(left.node, right.node)  # NULL equals no value
    else:
        node = context.condition([left, right], build)
    return Code(node, BOOLEAN, nullable=False)


def _operand(expression: Expression, other: Expression, context: Context) -> Code:
    """Text compared with the time of a row or window is an instant."""
    if (
        isinstance(other, ColumnReference)
        and other.name in _INSTANTS
        and isinstance(expression, Literal)
        and expression.type == STRING
    ):
        try:
            instant = times.parse_timestamp(expression.value)
        except ValueError as error:
            raise TypingError(str(error), expression) from None
        return Code(py.constant(instant), BIGINT, nullable=False)
    return context.compile(expression)


def _comparable(
    expression: Comparison, left: Code, right: Code, context: Context
) -> tuple[Code, Code]:
    """Both sides as values that Python compares as SQL does."""
    if left.type is None or right.type is None:
        raise TypingError(
            "Comparison with NULL not supported: "
            f"{left.type or 'NULL'} {expression.operator.value} {right.type or 'NULL'}\n"
            "Use 'IS NULL' or 'IS NOT NULL' instead.",
            expression,
        )
    types = (left.type, right.type)
    if all(type.name in _NUMBERS for type in types):
        if DOUBLE in types and (left.type.name == "DECIMAL" or right.type.name == "DECIMAL"):
            return _doubles_as_decimals(left, right, context)
        return left, right
    if types == (DATE, TIMESTAMP):
        return _converted(left, TIMESTAMP, expression.left, context), right
    if types == (TIMESTAMP, DATE):
        return left, _converted(right, TIMESTAMP, expression.right, context)
    if left.type in _TIMES and right.type == STRING:
        return left, _converted(right, left.type, expression.right, context)
    if left.type == STRING and right.type in _TIMES:
        return _converted(left, right.type, expression.left, context), right
    if left.type == right.type and _allows(left.type, expression.operator):
        return left, right
    raise TypingError(
        f"Cannot compare {format_expression(expression.left)} ({left.type}) to "
        f"{format_expression(expression.right)} ({right.type}) with {expression.operator.name}.",
        expression,
    )


def _allows(type: SqlType, operator: ComparisonOperator) -> bool:
    """Booleans, arrays, maps and structs have no order."""
    has_order = type.name not in ("BOOLEAN", "ARRAY", "MAP", "STRUCT")
    return has_order or operator in (EQUAL, NOT_EQUAL, DISTINCT, NOT_DISTINCT)


def _converted(code: Code, target: SqlType, expression: Expression, context: Context) -> Code:
    """A constant is converted now."""
    if isinstance(expression, Literal):
        assert code.type is not None
        convert = caster(code.type, target)
        assert convert is not None
        try:
            return Code(py.constant(convert(expression.value)), target, nullable=False)
        except ValueError as error:
            raise TypingError(str(error), expression) from None
    return context.cast(code, target, expression)


def _doubles_as_decimals(left: Code, right: Code, context: Context) -> tuple[Code, Code]:
    """A double is compared as the decimal that it is written as. Where a constant is written as
    some double is, that double can take its place, which is faster."""
    double, decimal = (left, right) if left.type == DOUBLE else (right, left)
    constant = context.value_of(decimal.node)
    if isinstance(constant, Decimal) and Decimal(repr(float(constant))) == constant:
        number = context.constant(float(constant), DOUBLE)
        return (left, number) if double is left else (number, right)
    convert = context.bind(of_double, "decimal")
    number = Code(
        context.strict([double], lambda value: py.call(convert, value)),
        DecimalType(1, 0),
        double.nullable,
    )
    return (number, right) if double is left else (left, number)


def compile_between(expression: Between, context: Context) -> Code:
    """Both bounds are included."""
    lower = Comparison(
        ComparisonOperator.GREATER_THAN_OR_EQUAL,
        expression.operand,
        expression.lower,
        position=expression.position,
    )
    upper = Comparison(
        ComparisonOperator.LESS_THAN_OR_EQUAL,
        expression.operand,
        expression.upper,
        position=expression.position,
    )
    node = py.all_of([context.compile(lower).node, context.compile(upper).node])
    return Code(node, BOOLEAN, nullable=False)


def compile_is_null(expression: IsNull | IsNotNull, context: Context) -> Code:
    operand = context.compile(expression.operand)
    if not operand.nullable:
        return Code(py.constant(isinstance(expression, IsNotNull)), BOOLEAN, nullable=False)
    check = py.is_none if isinstance(expression, IsNull) else py.is_not_none
    return Code(check(operand.node), BOOLEAN, nullable=False)


def compile_like(expression: Like, context: Context) -> Code:
    operand, pattern = context.compile(expression.operand), context.compile(expression.pattern)
    for code, part in ((operand, expression.operand), (pattern, expression.pattern)):
        if code.type != STRING:
            raise TypingError(
                f"Like condition must be between strings: {format_expression(part)} is "
                f"{code.type or 'NULL'}",
                part,
            )
    if isinstance(expression.pattern, Literal):
        try:
            match = context.bind(like(expression.pattern.value, expression.escape), "like")
        except ValueError as error:
            raise TypingError(str(error), expression.pattern) from None
        node = context.condition([operand], lambda text: py.call(match, text))
    else:
        matcher = context.bind(like, "like")
        escape = py.constant(expression.escape)
        node = context.condition(
            [operand, pattern],
            lambda text, pattern: py.call(py.call(matcher, pattern, escape), text),
        )
    return Code(node, BOOLEAN, nullable=False)
