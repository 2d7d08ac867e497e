"""Constants."""

from __future__ import annotations

from decimal import Decimal

from headrace.sql.expressions import python as py
from headrace.sql.expressions.code import NULL, Code, Context
from headrace.sql.syntax.ast import Literal


def compile_literal(literal: Literal, context: Context) -> Code:
    """Numbers and text are in the code itself, decimals beside it."""
    if literal.type is None:
        return NULL
    if isinstance(literal.value, Decimal):
        return Code(context.bind(literal.value, "decimal"), literal.type, nullable=False)
    return Code(py.constant(literal.value), literal.type, nullable=False)
