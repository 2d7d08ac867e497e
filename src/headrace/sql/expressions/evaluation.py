"""Python functions of compiled expressions.

Each has its code twice. The first has no care for errors, so that it costs no more than a function
that somebody wrote by hand. If a row makes it fail, the second is asked, which finds out what it
was that failed, tells it, and goes on with NULL in its place.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from headrace.sql.expressions import python as py
from headrace.sql.expressions.code import GUARD, Part, is_guarded
from headrace.sql.expressions.compiler import Compiled
from headrace.sql.expressions.errors import ExpressionError, TypingError
from headrace.sql.expressions.python import Expr
from headrace.sql.syntax.ast import Expression
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import BOOLEAN

Failed = Callable[[str, Exception], None]
"""Is told what failed in words, and the error: a record of the processing log."""


def evaluator(compiled: Compiled, failed: Failed) -> Callable[..., Any]:
    """Gives the expression's value."""
    return build(compiled.scope.parameters, compiled.code.node, compiled.namespace, failed)


def projection(
    compiled: Sequence[Compiled], failed: Failed, optional: str | None = None
) -> Callable[..., Any]:
    """Gives the values of expressions, which have one scope, as a row. If the parameter `optional`
    is None, so is the row."""
    parameters = compiled[0].scope.parameters
    body = py.tuple_of([each.code.node for each in compiled])
    if optional is not None:
        body = py.either(py.is_none(py.name(optional)), py.NOTHING, body)
    namespace = {name: value for each in compiled for name, value in each.namespace.items()}
    return build(parameters, body, namespace, failed)


def predicate(
    compiled: Compiled, failed: Failed, optional: str | None = None
) -> Callable[..., bool]:
    """Says whether a condition is TRUE. If the parameter `optional` is None, it isn't."""
    if compiled.type not in (BOOLEAN, None):
        raise TypingError(
            f"{format_expression(compiled.expression)} is {compiled.type}, no condition",
            compiled.expression,
        )
    body = py.compared(compiled.code.node, ast.Is(), py.constant(True))
    if optional is not None:
        body = py.all_of([py.is_not_none(py.name(optional)), body])
    return build(compiled.scope.parameters, body, compiled.namespace, failed)


def build(
    parameters: Sequence[str], body: Expr, namespace: Mapping[str, Any], failed: Failed
) -> Callable[..., Any]:
    """A function with this body."""
    names: dict[str, Any] = {GUARD: _guard(failed)}
    try:
        for name, value in namespace.items():  # parts stand after those that they have in them
            names[name] = (
                _function(name, value.parameters, value.node, names)
                if isinstance(value, Part)
                else value
            )
        return _function("evaluate", parameters, body, names)
    except RecursionError:
        raise ExpressionError("The expression is nested too deeply") from None


def _guard(failed: Failed) -> Callable[[Callable[[], Any], Expression], Any]:
    def guard(compute: Callable[[], Any], expression: Expression) -> Any:
        try:
            return compute()
        except Exception as error:
            failed(f"Error computing expression {format_expression(expression)}: {error}", error)
            return None

    return guard


def _function(
    name: str, parameters: Sequence[str], body: Expr, names: dict[str, Any]
) -> Callable[..., Any]:
    """`name(parameters)`; what it refers to is found in `names`, and so is it from now on."""
    fast = _unguarded(body)
    statements: list[ast.stmt] = [ast.Return(fast, **py.PLACE)]
    definitions: list[ast.stmt] = []
    if fast is not body:
        careful = f"{name}_with_care"
        definitions.append(_definition(careful, parameters, [ast.Return(body, **py.PLACE)]))
        again = ast.Return(py.call(py.name(careful), *map(py.name, parameters)), **py.PLACE)
        handler = ast.ExceptHandler(py.name("Exception"), None, [again], **py.PLACE)
        statements = [ast.Try(statements, [handler], [], [], **py.PLACE)]
    definitions.append(_definition(name, parameters, statements))
    exec(compile(ast.Module(definitions, []), f"<sql {name}>", "exec"), names)  # noqa: S102, of our own AST
    function: Callable[..., Any] = names[name]
    return function


def _definition(name: str, parameters: Sequence[str], body: list[ast.stmt]) -> ast.stmt:
    return ast.FunctionDef(name, py.parameters_of(parameters), body, [], **py.PLACE)


Node = TypeVar("Node", bound=ast.AST)


def _unguarded(node: Node) -> Node:
    """The same without guards. Parts that have none stand in both."""
    if isinstance(node, ast.expr) and is_guarded(node):
        function = node.args[0]
        assert isinstance(function, ast.Lambda)
        return cast(Node, _unguarded(function.body))
    changed: dict[str, Any] = {}
    for field, part in ast.iter_fields(node):
        if isinstance(part, ast.AST):
            if (new := _unguarded(part)) is not part:
                changed[field] = new
        elif isinstance(part, list):
            parts = [_unguarded(each) if isinstance(each, ast.AST) else each for each in part]
            if any(new is not old for new, old in zip(parts, part, strict=True)):
                changed[field] = parts
    if not changed:
        return node
    return type(node)(**{**dict(ast.iter_fields(node)), **changed}, **py.PLACE)
