"""Pieces of Python's AST. Compiled expressions are built of these, never of text."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

Expr = ast.expr

NOTHING = ast.Constant(None)


def constant(value: Any) -> Expr:
    """None, a boolean, a number or text."""
    return ast.Constant(value)


def name(identifier: str) -> Expr:
    return ast.Name(identifier, ast.Load())


def assigned(identifier: str, value: Expr) -> Expr:
    """`(identifier := value)`."""
    return ast.NamedExpr(ast.Name(identifier, ast.Store()), value)


def call(function: Expr, *arguments: Expr) -> Expr:
    return ast.Call(function, list(arguments), [])


def item(container: Expr, index: Expr) -> Expr:
    return ast.Subscript(container, index, ast.Load())


def attribute(value: Expr, identifier: str) -> Expr:
    return ast.Attribute(value, identifier, ast.Load())


def either(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """`then if condition else otherwise`."""
    return ast.IfExp(condition, then, otherwise)


def is_none(value: Expr) -> Expr:
    return ast.Compare(value, [ast.Is()], [NOTHING])


def is_not_none(value: Expr) -> Expr:
    return ast.Compare(value, [ast.IsNot()], [NOTHING])


def compared(left: Expr, operator: ast.cmpop, right: Expr) -> Expr:
    return ast.Compare(left, [operator], [right])


def within(low: int, value: Expr, high: int) -> Expr:
    """`low <= value <= high`."""
    return ast.Compare(ast.Constant(low), [ast.LtE(), ast.LtE()], [value, ast.Constant(high)])


def all_of(conditions: Sequence[Expr]) -> Expr:
    return conditions[0] if len(conditions) == 1 else ast.BoolOp(ast.And(), list(conditions))


def any_of(conditions: Sequence[Expr]) -> Expr:
    return conditions[0] if len(conditions) == 1 else ast.BoolOp(ast.Or(), list(conditions))


def negated(condition: Expr) -> Expr:
    return ast.UnaryOp(ast.Not(), condition)


def binary(left: Expr, operator: ast.operator, right: Expr) -> Expr:
    return ast.BinOp(left, operator, right)


def function_of(parameters: Sequence[str], body: Expr) -> Expr:
    """`lambda parameters: body`."""
    return ast.Lambda(parameters_of(parameters), body)


def parameters_of(names: Sequence[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(each) for each in names], None, [], [], None, [])


def tuple_of(items: Sequence[Expr]) -> Expr:
    return ast.Tuple(list(items), ast.Load())


def list_of(items: Sequence[Expr]) -> Expr:
    return ast.List(list(items), ast.Load())


def dict_of(entries: Sequence[tuple[Expr, Expr]]) -> Expr:
    return ast.Dict([key for key, _ in entries], [value for _, value in entries])
