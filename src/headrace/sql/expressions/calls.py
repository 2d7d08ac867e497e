"""Calls of scalar functions, and lambdas in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial

from headrace.sql.expressions import python as py
from headrace.sql.expressions.code import Code, Context
from headrace.sql.expressions.errors import TypingError
from headrace.sql.expressions.python import Expr
from headrace.sql.functions.errors import FunctionError
from headrace.sql.functions.function import Kind
from headrace.sql.functions.parameter_types import Argument, LambdaArgument, UnitArgument
from headrace.sql.syntax.ast import (
    Expression,
    FunctionCall,
    IntervalUnit,
    Lambda,
    LambdaVariable,
)
from headrace.sql.types import SqlType

Types = tuple[SqlType | None, ...]
Body = tuple[list[str], Code]
"""The parameters of a lambda, and what it computes of them."""

_LAMBDA_PARAMETERS = 3


@dataclass(frozen=True)
class _CompiledLambda(LambdaArgument):
    body: Callable[[Types], Body]


def compile_call(call: FunctionCall, context: Context) -> Code:
    functions = context.scope.functions
    given = [compile_argument(each, context) for each in call.arguments]
    kind = functions.kind(call.name)
    if kind in (Kind.AGGREGATE, Kind.TABLE):
        what = "Aggregate" if kind is Kind.AGGREGATE else "Table"
        raise TypingError(f"{what} functions can't be used here: {call.name}", call)
    with blamed_on(call):
        resolved = functions.scalar(
            call.name, [argument for argument, _ in given], context.scope.settings
        )
    codes = [
        _as_parameter(said, argument, code, type, inputs, context)
        for said, (argument, code), type, inputs in zip(
            call.arguments, given, resolved.match.types, resolved.match.lambda_inputs, strict=True
        )
    ]
    function = context.bind(resolved.function, call.name.lower())

    def build(*values: Expr) -> Expr:
        return py.call(function, *values)

    if resolved.strict:
        node = context.strict(codes, build)
    else:
        node = build(*(code.node for code in codes))
    return Code(context.guarded(node, call), resolved.type)


@contextmanager
def blamed_on(call: FunctionCall) -> Iterator[None]:
    """Says of errors which call is meant, if it isn't one of another call in it."""
    try:
        yield
    except FunctionError as error:
        if error.position is not None:
            raise
        raise FunctionError(error.message, call.position) from None


def compile_argument(expression: Expression, context: Context) -> tuple[Argument, Code | None]:
    """What finding the overload needs to know of an argument, and its code. That of a lambda
    depends on the overload."""
    if isinstance(expression, Lambda):
        return _lambda_argument(expression, context), None
    if isinstance(expression, IntervalUnit):
        return UnitArgument(), Code(py.constant(expression.unit.value), None, nullable=False)
    code = context.compile(expression)
    return code.type, code


def _lambda_argument(expression: Lambda, context: Context) -> LambdaArgument:
    if len(expression.parameters) > _LAMBDA_PARAMETERS:
        raise TypingError(
            f"A lambda has at most {_LAMBDA_PARAMETERS} parameters, not "
            f"{len(expression.parameters)}",
            expression,
        )

    # Once only: lambdas in lambdas would be compiled twice as often with each level.
    body = cache(partial(_body, expression, context))
    return _CompiledLambda(len(expression.parameters), lambda types: body(types)[1].type, body)


def _body(expression: Lambda, context: Context, types: Types) -> Body:
    names = [context.fresh("x") for _ in expression.parameters]
    variables = {
        variable: Code(py.name(name), type)
        for variable, name, type in zip(expression.parameters, names, types, strict=True)
    }
    return names, context.with_variables(variables).compile(expression.body)


def compile_variable(variable: LambdaVariable, context: Context) -> Code:
    return context.variables[variable.name]


def _as_parameter(
    expression: Expression,
    argument: Argument,
    code: Code | None,
    type: SqlType | None,
    lambda_inputs: Types | None,
    context: Context,
) -> Code:
    if code is None:
        assert isinstance(argument, _CompiledLambda)
        assert lambda_inputs is not None
        names, body = argument.body(lambda_inputs)
        return Code(py.function_of(names, body.node), None, nullable=False)
    return code if type is None else context.cast(code, type, expression)
