"""Calls of aggregate functions as functions over rows and states."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.sql.expressions import python as py
from headrace.sql.expressions.calls import blamed_on, compile_argument
from headrace.sql.expressions.code import Code, Context
from headrace.sql.expressions.compiler import compile_part
from headrace.sql.expressions.errors import TypingError
from headrace.sql.expressions.evaluation import Failed, build
from headrace.sql.expressions.python import Expr
from headrace.sql.expressions.scope import Scope
from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.builtin.collecting import count_one, uncount
from headrace.sql.syntax.ast import ColumnReference, Expression, FunctionCall, Literal, Sign
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import BIGINT, SqlType

State = Any
"""One state for each call: a row of the types in `intermediates`. Who runs it may have another."""

_STATE = "state"


@dataclass(frozen=True)
class Aggregation:
    """Several aggregates of the same rows, as one. An error of an aggregate is raised."""

    types: tuple[SqlType, ...]
    """Of the results."""
    intermediates: tuple[SqlType, ...]
    """Of the states."""
    initial: Callable[[], State]
    add: Callable[..., State]
    """`add(*parameters, state)`, with the parameters of the scope."""
    undo: Callable[..., State] | None
    """`undo(*parameters, state)`; None if `stream_only` names any."""
    merge: Callable[[State, State], State] | None
    """For sessions. None: one of them can't."""
    results: Callable[[State], tuple[Any, ...]]
    stream_only: tuple[str, ...]
    """The functions that can't take back what they added, so that they are not for tables."""
    counts_rows: bool
    """Whether it is COUNT(*), and nothing else."""


def compile_aggregation(calls: Sequence[FunctionCall], scope: Scope, failed: Failed) -> Aggregation:
    """The aggregates of some calls."""
    context = Context(scope, compile_part)
    compiled = [_compile_call(call, context) for call in calls]
    aggregates = [aggregate for aggregate, _ in compiled]
    parameters = (*scope.parameters, _STATE)

    def stepping(steps: Sequence[Callable[..., Any] | None]) -> Callable[..., State]:
        nodes = [
            _step(step, py.item(py.name(_STATE), py.constant(at)), arguments, context)
            for at, (step, (_, arguments)) in enumerate(zip(steps, compiled, strict=True))
        ]
        return build(parameters, py.tuple_of(nodes), context.namespace, failed)

    undoes = [aggregate.undo for aggregate in aggregates]
    merges = [each.merge for each in aggregates if each.merge is not None]
    return Aggregation(
        tuple(aggregate.type for aggregate in aggregates),
        tuple(aggregate.intermediate for aggregate in aggregates),
        _initial(aggregates),
        stepping([aggregate.add for aggregate in aggregates]),
        None if None in undoes else stepping(undoes),
        _merging(merges) if len(merges) == len(aggregates) else None,
        _results(aggregates),
        tuple(call.name for call, undo in zip(calls, undoes, strict=True) if undo is None),
        [each.add for each in aggregates] == [count_one] and not calls[0].arguments,
    )


def _initial(aggregates: Sequence[Aggregate]) -> Callable[[], State]:
    makers = [aggregate.initial for aggregate in aggregates]
    return lambda: tuple([make() for make in makers])


def _merging(merges: Sequence[Callable[[Any, Any], Any]]) -> Callable[[State, State], State]:
    return lambda one, other: tuple(
        [merge(a, b) for merge, a, b in zip(merges, one, other, strict=True)]
    )


def _results(aggregates: Sequence[Aggregate]) -> Callable[[State], tuple[Any, ...]]:
    results = [aggregate.result for aggregate in aggregates]
    if not any(results):
        return lambda state: state
    return lambda state: tuple(
        [
            each if result is None else result(each)
            for each, result in zip(state, results, strict=True)
        ]
    )


def _step(
    step: Callable[..., Any] | None, state: Expr, arguments: Sequence[Code], context: Context
) -> Expr:
    """What a function makes of its state. Counting needs no call."""
    by = _COUNTING.get(step)
    if by is not None:
        counted = py.binary(state, by, py.constant(1))
        return context.strict(arguments, lambda value: counted, otherwise=state)
    return py.call(context.bind(step, "step"), state, *(code.node for code in arguments))


_COUNTING: dict[Callable[..., Any] | None, ast.operator] = {
    count_one: ast.Add(),
    uncount: ast.Sub(),
}


def _compile_call(call: FunctionCall, context: Context) -> tuple[Aggregate, list[Code]]:
    arguments = call.arguments or (_row_time(context.scope),)
    given = [compile_argument(each, context) for each in arguments]
    with blamed_on(call):
        resolved = context.scope.functions.aggregate(
            call.name, [argument for argument, _ in given], context.scope.settings
        )
    literals, values = [], []
    for number, (said, (_, code), is_literal) in enumerate(
        zip(arguments, given, resolved.match.literals, strict=True), 1
    ):
        if is_literal:
            literals.append(_constant(call, number, said))
        else:
            assert code is not None
            values.append(Code(context.guarded(code.node, said), code.type, code.nullable))
    with blamed_on(call):
        return resolved.make(tuple(literals)), values


def _row_time(scope: Scope) -> Expression:
    """What an aggregate without arguments is given. To count rows, any value will do."""
    reference = ColumnReference("ROWTIME")
    return reference if reference in scope.columns else Literal(0, BIGINT)


def _constant(call: FunctionCall, number: int, expression: Expression) -> Any:
    match expression:
        case Literal(value):
            return value
        case Sign(negative, Literal(value)):
            return -value if negative else value
    raise TypingError(
        f"Parameter {number} passed to function {call.name} must be a literal constant, but was "
        f"expression: '{format_expression(expression)}'",
        expression,
    )
