"""Calls of table functions: rows for a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from headrace.sql.expressions import python as py
from headrace.sql.expressions.calls import blamed_on, compile_argument
from headrace.sql.expressions.code import Context
from headrace.sql.expressions.compiler import compile_part
from headrace.sql.expressions.evaluation import Failed, build
from headrace.sql.expressions.python import Expr
from headrace.sql.expressions.scope import Scope
from headrace.sql.syntax.ast import FunctionCall
from headrace.sql.types import SqlType


@dataclass(frozen=True)
class TableFunctions:
    """Several table functions of the same rows, side by side."""

    types: tuple[SqlType | None, ...]
    """Of the columns that they give."""
    rows: Callable[..., list[tuple[Any, ...]]]
    """`rows(*parameters)`: a column for each. Where one has no more rows, there is NULL."""


def compile_table_functions(
    calls: Sequence[FunctionCall], scope: Scope, failed: Failed
) -> TableFunctions:
    """The table functions of some calls. One that fails, or gives NULL, gives no rows."""
    context = Context(scope, compile_part)
    compiled = [_compile_call(call, context) for call in calls]
    side_by_side = context.bind(_side_by_side, "rows")
    body = py.call(side_by_side, *(node for _, node in compiled))
    return TableFunctions(
        tuple(type for type, _ in compiled),
        build(scope.parameters, body, context.namespace, failed),
    )


def _compile_call(call: FunctionCall, context: Context) -> tuple[SqlType | None, Expr]:
    given = [compile_argument(each, context) for each in call.arguments]
    with blamed_on(call):
        resolved = context.scope.functions.table(
            call.name, [argument for argument, _ in given], context.scope.settings
        )
    codes = []
    for said, (_, code), type in zip(call.arguments, given, resolved.match.types, strict=True):
        assert code is not None
        codes.append(code if type is None else context.cast(code, type, said))
    function = context.bind(resolved.function, call.name.lower())
    node = context.strict(codes, lambda *values: py.call(function, *values))
    return resolved.type, context.guarded(node, call)


def _side_by_side(*columns: Iterable[Any] | None) -> list[tuple[Any, ...]]:
    return list(zip_longest(*(() if column is None else column for column in columns)))
