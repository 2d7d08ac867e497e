"""AND, OR, NOT, CASE and IN."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from headrace.sql.expressions import python as py
from headrace.sql.expressions.code import Code, Context
from headrace.sql.expressions.coercion import coerced
from headrace.sql.expressions.errors import TypingError
from headrace.sql.expressions.python import Expr
from headrace.sql.syntax.ast import (
    Comparison,
    ComparisonOperator,
    Expression,
    In,
    Logical,
    LogicalOperator,
    Not,
    SearchedCase,
    SimpleCase,
    When,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import BOOLEAN, SqlType

_WHENS_IN_ONE = 20
"""How many WHENs are nested in one function."""


def compile_logical(expression: Logical, context: Context) -> Code:
    """From left to right, and no further than needed. NULL on the left makes it NULL."""
    operands = [
        _boolean(operand, context) for operand in _flattened(expression, expression.operator)
    ]
    is_and = expression.operator is LogicalOperator.AND
    joined = operands[-1]
    for operand in reversed(operands[:-1]):
        joined = _joined(operand, joined, is_and, context)
    return joined


def _flattened(expression: Expression, operator: LogicalOperator) -> list[Expression]:
    """The operands of a chain, which may be longer than Python can nest."""
    found: list[Expression] = []
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Logical) and each.operator is operator:
            waiting += (each.right, each.left)
        else:
            found.append(each)
    return found


def _joined(left: Code, right: Code, is_and: bool, context: Context) -> Code:
    def build(value: Expr) -> Expr:
        join = py.all_of if is_and else py.any_of
        operator = ast.And if is_and else ast.Or
        if isinstance(right.node, ast.BoolOp) and isinstance(right.node.op, operator):
            return join([value, *right.node.values])
        return join([value, right.node])

    node = context.strict([left], build)
    return Code(node, BOOLEAN, left.nullable or right.nullable)


def compile_not(expression: Not, context: Context) -> Code:
    operand = _boolean(expression.operand, context)
    return Code(context.strict([operand], py.negated), BOOLEAN, operand.nullable)


def _boolean(expression: Expression, context: Context) -> Code:
    code = context.compile(expression)
    if code.type not in (BOOLEAN, None):
        raise TypingError(
            f"{format_expression(expression)} is {code.type}, but a condition is needed, which is "
            "BOOLEAN",
            expression,
        )
    return code


def true_or_false(value: bool | None) -> bool:
    """The value of a condition that must not be NULL."""
    if value is None:
        raise ValueError("a condition is NULL")
    return value


def compile_case(expression: SearchedCase, context: Context) -> Code:
    """Only what is needed is computed."""
    whens = [
        (_condition(when.condition, context), context.compile(when.result))
        for when in expression.whens
    ]
    default = None if expression.default is None else context.compile(expression.default)
    type = _case_type(expression, [result for _, result in whens], default)
    node = py.NOTHING if default is None else default.node
    for number, (condition, result) in enumerate(reversed(whens), 1):
        node = py.either(condition, result.node, node)
        if number % _WHENS_IN_ONE == 0:
            node = context.apart(Code(node, type)).node
    results = [result for _, result in whens]
    nullable = default is None or any(code.nullable for code in [*results, default])
    return Code(node, type, nullable)


def _condition(expression: Expression, context: Context) -> Expr:
    code = context.compile(expression)
    if code.type != BOOLEAN:
        raise TypingError(
            "WHEN operand type should be boolean.\n"
            f"Type for '{format_expression(expression)}' is {code.type or 'NULL'}",
            expression,
        )
    if not code.nullable:
        return code.node
    return py.call(context.bind(true_or_false, "check"), code.node)


def _case_type(expression: SearchedCase, results: Sequence[Code], default: Code | None) -> SqlType:
    known: SqlType | None = None
    for when, result in zip(expression.whens, results, strict=True):
        if result.type is None:
            continue
        if known is not None and result.type != known:
            raise TypingError(
                "Invalid Case expression. Type for all 'THEN' clauses should be the same.\n"
                f"THEN expression '{format_expression(when.result)}' has type: {result.type}.\n"
                f"Previous THEN expression(s) type: {known}.",
                when.result,
            )
        known = result.type
    if default is not None and default.type is not None:
        if known is not None and default.type != known:
            raise TypingError(
                "Invalid Case expression. Type for the default clause should be the same as for "
                f"'THEN' clauses.\nTHEN type: {known}.\nDEFAULT type: {default.type}.",
                expression.default,
            )
        known = default.type
    if known is None:
        raise TypingError("Invalid Case expression. All case branches have NULL type", expression)
    return known


def compile_simple_case(expression: SimpleCase, context: Context) -> Code:
    """The operand is compared with each value in turn."""
    whens = tuple(
        When(
            Comparison(
                ComparisonOperator.EQUAL,
                expression.operand,
                when.condition,
                position=when.position,
            ),
            when.result,
            position=when.position,
        )
        for when in expression.whens
    )
    return context.compile(SearchedCase(whens, expression.default, position=expression.position))


def compile_in(expression: In, context: Context) -> Code:
    """NULL is in no list, and a list's NULL is no value."""
    (operand, *items), _ = coerced([expression.operand, *expression.items], context)
    if all(isinstance(item.node, ast.Constant) for item in items):
        values = {item.node.value for item in items if isinstance(item.node, ast.Constant)}
        known = context.bind(frozenset(values - {None}), "items")
        node = py.compared(operand.node, ast.In(), known)
    else:
        node = context.condition(
            [operand],
            lambda value: py.any_of([py.compared(value, ast.Eq(), item.node) for item in items]),
        )
    return Code(node, BOOLEAN, nullable=False)
