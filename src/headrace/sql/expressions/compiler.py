"""From expressions to Python, by the kind of expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.sql.expressions import python as py
from headrace.sql.expressions.arithmetic import compile_arithmetic, compile_sign
from headrace.sql.expressions.calls import compile_call, compile_variable
from headrace.sql.expressions.code import Code, Context
from headrace.sql.expressions.comparison import (
    compile_between,
    compile_comparison,
    compile_is_null,
    compile_like,
)
from headrace.sql.expressions.errors import ExpressionError, TypingError
from headrace.sql.expressions.literals import compile_literal
from headrace.sql.expressions.logic import (
    compile_case,
    compile_in,
    compile_logical,
    compile_not,
    compile_simple_case,
)
from headrace.sql.expressions.scope import Scope
from headrace.sql.expressions.structures import (
    compile_array,
    compile_field,
    compile_map,
    compile_struct,
    compile_subscript,
)
from headrace.sql.syntax import ast
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import SqlType


@dataclass(frozen=True)
class Compiled:
    """An expression that makes sense in its scope. `functions` makes Python functions of it."""

    expression: ast.Expression
    scope: Scope
    code: Code
    namespace: Mapping[str, Any]

    @property
    def type(self) -> SqlType | None:
        """None: an untyped NULL."""
        return self.code.type


def compile_expression(expression: ast.Expression, scope: Scope) -> Compiled:
    """Raises ExpressionError if types don't fit, FunctionError if there is no such function."""
    context = Context(scope, compile_part)
    try:
        code = context.compile(expression)
        node = context.guarded(code.node, expression)
    except RecursionError:
        raise ExpressionError("The expression is nested too deeply", expression) from None
    return Compiled(expression, scope, Code(node, code.type, code.nullable), context.namespace)


def compile_part(expression: ast.Expression, context: Context) -> Code:
    handler = _HANDLERS.get(type(expression))
    if handler is None:
        raise TypingError(f"{format_expression(expression)} can't stand here", expression)
    return handler(expression, context)


def _compile_column(reference: ast.ColumnReference, context: Context) -> Code:
    slot = context.scope.columns.get(reference)
    if slot is None:
        raise TypingError(f"Unknown column {format_expression(reference)}.", reference)
    parameter = py.name(slot.parameter)
    if slot.index is None:
        return Code(parameter, slot.type)
    return Code(py.item(parameter, py.constant(slot.index)), slot.type)


def _compile_cast(expression: ast.Cast, context: Context) -> Code:
    return context.cast(context.compile(expression.operand), expression.type, expression)


_HANDLERS: dict[type[ast.Expression], Callable[[Any, Context], Code]] = {
    ast.Literal: compile_literal,
    ast.ColumnReference: _compile_column,
    ast.LambdaVariable: compile_variable,
    ast.FieldAccess: compile_field,
    ast.Subscript: compile_subscript,
    ast.FunctionCall: compile_call,
    ast.Arithmetic: compile_arithmetic,
    ast.Sign: compile_sign,
    ast.Comparison: compile_comparison,
    ast.Logical: compile_logical,
    ast.Not: compile_not,
    ast.IsNull: compile_is_null,
    ast.IsNotNull: compile_is_null,
    ast.Between: compile_between,
    ast.In: compile_in,
    ast.Like: compile_like,
    ast.SearchedCase: compile_case,
    ast.SimpleCase: compile_simple_case,
    ast.Cast: _compile_cast,
    ast.ArrayConstructor: compile_array,
    ast.MapConstructor: compile_map,
    ast.StructConstructor: compile_struct,
}
