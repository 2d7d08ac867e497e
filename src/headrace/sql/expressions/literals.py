"""Constants."""

from __future__ import annotations

from headrace.sql.expressions.code import NULL, Code, Context
from headrace.sql.syntax.ast import Literal


def compile_literal(literal: Literal, context: Context) -> Code:
    if literal.type is None:
        return NULL
    return context.constant(literal.value, literal.type)
