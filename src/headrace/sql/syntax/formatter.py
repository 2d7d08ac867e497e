"""The AST as text. What is parsed from it is the same AST again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headrace.sql.syntax.ast import (
    Arithmetic,
    ArrayConstructor,
    Between,
    Cast,
    ColumnReference,
    Comparison,
    Expression,
    FieldAccess,
    FunctionCall,
    In,
    IntervalUnit,
    IsNotNull,
    IsNull,
    Lambda,
    LambdaVariable,
    Like,
    Literal,
    Logical,
    MapConstructor,
    NamedType,
    Not,
    SearchedCase,
    Sign,
    SimpleCase,
    StructConstructor,
    Subscript,
    TimeUnit,
    When,
)
from headrace.sql.syntax.type_parser import SIMPLE_TYPES
from headrace.sql.syntax.words import UNSAFE
from headrace.sql.types import DOUBLE, STRING, ArrayType, DecimalType, MapType, SqlType, StructType

_PLAIN = re.compile(r"[A-Z_][A-Z0-9_@]*")


def format_name(name: str) -> str:
    """A name, in quotes if it needs some."""
    if _PLAIN.fullmatch(name) and name not in UNSAFE and name not in TimeUnit.__members__:
        return name
    return quoted(name)


def quoted(name: str) -> str:
    """A name in quotes."""
    return f"`{name.replace('`', '``')}`"


def format_string(text: str) -> str:
    return f"'{text.replace(chr(39), chr(39) * 2)}'"


def format_type(type_: SqlType) -> str:
    """A type. Names of fields are always in quotes."""
    match type_:
        case NamedType(name):
            return quoted(name) if name in SIMPLE_TYPES else format_name(name)
        case ArrayType():
            return f"ARRAY<{format_type(type_.element)}>"
        case MapType():
            return f"MAP<{format_type(type_.key)}, {format_type(type_.value)}>"
        case StructType():
            fields = (f"{quoted(field.name)} {format_type(field.type)}" for field in type_.fields)
            return f"STRUCT<{', '.join(fields)}>"
        case _:
            return str(type_)


def format_expression(expression: Expression) -> str:
    """An expression, with brackets around every operator, as ksqlDB shows it in messages."""
    match expression:
        case Literal():
            return _literal(expression)
        case ColumnReference(name, None):
            return format_name(name)
        case ColumnReference(name, source):
            return f"{format_name(str(source))}.{format_name(name)}"
        case LambdaVariable(name):
            return format_name(name)
        case FieldAccess(base, name):
            return f"{_base(base)}->{format_name(name)}"
        case Subscript(base, index):
            return f"{_base(base)}[{format_expression(index)}]"
        case FunctionCall(name, arguments):
            return f"{format_name(name)}({_listed(arguments)})"
        case Lambda(parameters, body):
            names = ", ".join(map(format_name, parameters))
            head = names if len(parameters) == 1 else f"({names})"
            return f"{head} => {format_expression(body)}"
        case IntervalUnit(unit):
            return unit.name
        case Sign(negative, operand):
            return f"{'-' if negative else '+'}{_signed(operand)}"
        case Arithmetic(operator, left, right):
            return _infix(operator.value, left, right)
        case Comparison(operator, left, right):
            return _infix(operator.value, left, right)
        case Logical(operator, left, right):
            return _infix(operator.value, left, right)
        case _:
            return _special(expression)


def _special(expression: Expression) -> str:
    """What has a syntax of its own."""
    match expression:
        case Not(operand):
            return f"(NOT {format_expression(operand)})"
        case IsNull(operand):
            return f"({format_expression(operand)} IS NULL)"
        case IsNotNull(operand):
            return f"({format_expression(operand)} IS NOT NULL)"
        case Between(operand, lower, upper):
            bounds = f"{format_expression(lower)} AND {format_expression(upper)}"
            return f"({format_expression(operand)} BETWEEN {bounds})"
        case In(operand, items):
            return f"({format_expression(operand)} IN ({_listed(items)}))"
        case Like(operand, pattern, escape):
            suffix = "" if escape is None else f" ESCAPE {format_string(escape)}"
            return f"({format_expression(operand)} LIKE {format_expression(pattern)}{suffix})"
        case SearchedCase(whens, default):
            return f"(CASE {_whens(whens, default)} END)"
        case SimpleCase(operand, whens, default):
            return f"(CASE {format_expression(operand)} {_whens(whens, default)} END)"
        case Cast(operand, type_):
            return f"CAST({format_expression(operand)} AS {format_type(type_)})"
        case ArrayConstructor(items):
            return f"ARRAY[{_listed(items)}]"
        case MapConstructor(entries):
            pairs = (f"{format_expression(k)}:={format_expression(v)}" for k, v in entries)
            return f"MAP({', '.join(pairs)})"
        case StructConstructor(fields):
            pairs = (f"{format_name(name)}:={format_expression(v)}" for name, v in fields)
            return f"STRUCT({', '.join(pairs)})"
        case _:
            raise TypeError(f"{type(expression).__name__} is no expression")


def _literal(literal: Literal) -> str:
    value = literal.value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if literal.type == STRING:
        return format_string(value)
    if literal.type == DOUBLE:
        text = repr(value).upper()
        return text if "E" in text else f"{text}E0"
    if isinstance(literal.type, DecimalType):
        text = format(value, "f")
        return text if "." in text else f"{text}."
    return str(value)


def _base(base: Expression) -> str:
    """What stands before `->` and `[`. Operators have brackets of their own, except for signs."""
    text = format_expression(base)
    return f"({text})" if isinstance(base, Sign) else text


def _signed(operand: Expression) -> str:
    """What follows a sign. `--` would begin a comment, and `-1` would be one number."""
    text = format_expression(operand)
    return f"({text})" if text[0] in "+-0123456789" else text


def _infix(operator: str, left: Expression, right: Expression) -> str:
    return f"({format_expression(left)} {operator} {format_expression(right)})"


def _listed(expressions: Iterable[Expression]) -> str:
    return ", ".join(map(format_expression, expressions))


def _whens(whens: tuple[When, ...], default: Expression | None) -> str:
    text = " ".join(
        f"WHEN {format_expression(when.condition)} THEN {format_expression(when.result)}"
        for when in whens
    )
    return text if default is None else f"{text} ELSE {format_expression(default)}"
