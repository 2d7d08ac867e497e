"""Pieces of Python's AST. Compiled expressions are built of these, never of text."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

Expr = ast.expr

PLACE: dict[str, Any] = {"lineno": 1, "col_offset": 0}
"""Python's compiler asks of every piece where it stands."""

NOTHING = ast.Constant(None, **PLACE)


def constant(value: Any) -> Expr:
    """None, a boolean, a number or text."""
    return ast.Constant(value, **PLACE)


def name(identifier: str) -> Expr:
    return ast.Name(identifier, ast.Load(), **PLACE)


def assigned(identifier: str, value: Expr) -> Expr:
    """`(identifier := value)`."""
    return ast.NamedExpr(ast.Name(identifier, ast.Store(), **PLACE), value, **PLACE)


def call(function: Expr, *arguments: Expr) -> Expr:
    return ast.Call(function, list(arguments), [], **PLACE)


def item(container: Expr, index: Expr) -> Expr:
    return ast.Subscript(container, index, ast.Load(), **PLACE)


def attribute(value: Expr, identifier: str) -> Expr:
    return ast.Attribute(value, identifier, ast.Load(), **PLACE)


def either(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """`then if condition else otherwise`."""
    return ast.IfExp(condition, then, otherwise, **PLACE)


def is_none(value: Expr) -> Expr:
    return compared(value, ast.Is(), NOTHING)


def is_not_none(value: Expr) -> Expr:
    return compared(value, ast.IsNot(), NOTHING)


def compared(left: Expr, operator: ast.cmpop, right: Expr) -> Expr:
    return ast.Compare(left, [operator], [right], **PLACE)


def within(low: int, value: Expr, high: int) -> Expr:
    """`low <= value <= high`."""
    return ast.Compare(constant(low), [ast.LtE(), ast.LtE()], [value, constant(high)], **PLACE)


def all_of(conditions: Sequence[Expr]) -> Expr:
    return _joined(ast.And(), conditions)


def any_of(conditions: Sequence[Expr]) -> Expr:
    return _joined(ast.Or(), conditions)


def _joined(operator: ast.boolop, conditions: Sequence[Expr]) -> Expr:
    if len(conditions) == 1:
        return conditions[0]
    return ast.BoolOp(operator, list(conditions), **PLACE)


def negative(value: Expr) -> Expr:
    """`-value`."""
    return ast.UnaryOp(ast.USub(), value, **PLACE)


def negated(condition: Expr) -> Expr:
    return ast.UnaryOp(ast.Not(), condition, **PLACE)


def binary(left: Expr, operator: ast.operator, right: Expr) -> Expr:
    return ast.BinOp(left, operator, right, **PLACE)


def function_of(parameters: Sequence[str], body: Expr) -> Expr:
    """`lambda parameters: body`."""
    return ast.Lambda(parameters_of(parameters), body, **PLACE)


def parameters_of(names: Sequence[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(each, **PLACE) for each in names], None, [], [], None, [])


def tuple_of(items: Sequence[Expr]) -> Expr:
    return ast.Tuple(list(items), ast.Load(), **PLACE)


def list_of(items: Sequence[Expr]) -> Expr:
    return ast.List(list(items), ast.Load(), **PLACE)


def dict_of(entries: Sequence[tuple[Expr, Expr]]) -> Expr:
    return ast.Dict([key for key, _ in entries], [value for _, value in entries], **PLACE)
