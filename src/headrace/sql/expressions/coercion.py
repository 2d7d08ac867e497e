"""A common type for the expressions of a list: of IN, ARRAY[…] and MAP(…).

Numbers become the widest of them. Text that is written as a literal becomes what the others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from headrace.sql import decimals
from headrace.sql.casts import caster, parse_boolean_generously, parse_decimal, parse_double
from headrace.sql.decimals import decimal_of
from headrace.sql.expressions import python as py
from headrace.sql.expressions.code import Code, Context
from headrace.sql.expressions.errors import GenerationError
from headrace.sql.expressions.literals import compile_literal
from headrace.sql.syntax.ast import (
    ArrayConstructor,
    Expression,
    Literal,
    MapConstructor,
    StructConstructor,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

_NUMBERS = ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE")


@dataclass(frozen=True)
class _TextType(SqlType):
    """The type of a literal text, as long as nobody knows what it is to become."""


_TEXT = _TextType("STRING")


class _Mismatch(Exception):
    """Two types have nothing in common."""


def coerced(
    expressions: Sequence[Expression], context: Context
) -> tuple[list[Code], SqlType | None]:
    """All as values of one type; None if all are NULL."""
    common: SqlType | None = None
    for expression in expressions:
        type = _loose_type(expression, context)
        if type is None:
            continue
        if common == STRING and isinstance(expression, Literal):
            continue  # any constant can be text
        try:
            common = type if common is None else _combined(common, type)
        except _Mismatch:
            raise _no_operator(common, type, expression) from None
    if common is None:
        return [context.compile(each) for each in expressions], None
    for expression in expressions:
        common = _widened_by_text(common, expression)
    common = _settled(common)
    return [_converted(each, common, context) for each in expressions], common


def _no_operator(
    common: SqlType | None, type: SqlType | None, expression: Expression
) -> GenerationError:
    return GenerationError(
        f"operator does not exist: {common} = {type} ({format_expression(expression)})\n"
        "Hint: You might need to add explicit type casts.",
        expression,
    )


def _loose_type(expression: Expression, context: Context) -> SqlType | None:
    match expression:
        case Literal(type=type) if type == STRING:
            return _TEXT
        case ArrayConstructor(items) if items:
            element = _loose_common(items, context)
            return context.compile(expression).type if element is None else ArrayType(element)
        case MapConstructor(entries) if entries:
            key = _loose_common([key for key, _ in entries], context)
            value = _loose_common([value for _, value in entries], context)
            if key is None or value is None:
                return context.compile(expression).type
            return MapType(key, value)
        case StructConstructor(fields):
            types = [(name, _loose_type(value, context)) for name, value in fields]
            if any(type is None for _, type in types):
                return context.compile(expression).type
            return StructType(tuple(Field(name, type) for name, type in types if type is not None))
        case _:
            return context.compile(expression).type


def _loose_common(expressions: Sequence[Expression], context: Context) -> SqlType | None:
    common: SqlType | None = None
    for expression in expressions:
        type = _loose_type(expression, context)
        try:
            if type is not None:
                common = type if common is None else _combined(common, type)
        except _Mismatch:
            raise _no_operator(common, type, expression) from None
    return common


def _combined(one: SqlType, other: SqlType) -> SqlType:
    """The type that both can become."""
    if one == other or other is _TEXT:
        return one
    if one is _TEXT:
        return other
    if one.name in _NUMBERS and other.name in _NUMBERS:
        return _wider(one, other)
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return ArrayType(_combined(one.element, other.element))
    if isinstance(one, MapType) and isinstance(other, MapType):
        return MapType(_combined(one.key, other.key), _combined(one.value, other.value))
    if isinstance(one, StructType) and isinstance(other, StructType):
        return _combined_structs(one, other)
    raise _Mismatch


def _combined_structs(one: StructType, other: StructType) -> StructType:
    """With the fields of both."""
    types = {field.name: field.type for field in one.fields}
    for field in other.fields:
        known = types.get(field.name)
        types[field.name] = field.type if known is None else _combined(known, field.type)
    return StructType(tuple(Field(name, type) for name, type in types.items()))


def _wider(one: SqlType, other: SqlType) -> SqlType:
    if DOUBLE in (one, other):
        return DOUBLE
    if "DECIMAL" in (one.name, other.name):
        left, right = decimal_of(one), decimal_of(other)
        assert left is not None
        assert right is not None
        return decimals.wider(left, right)
    return BIGINT if BIGINT in (one, other) else INTEGER


def _widened_by_text(common: SqlType, expression: Expression) -> SqlType:
    """A number in quotes may need more than the others: 1 and '2.5' are DECIMAL."""
    if common.name not in _NUMBERS:
        return common
    if not (isinstance(expression, Literal) and expression.type == STRING):
        return common
    try:
        number = parse_decimal(expression.value)
    except ValueError:
        raise _bad_text(common, expression) from None
    return _wider(common, _number_type(expression.value, number))


def _number_type(text: str, number: Decimal) -> SqlType:
    if "e" in text.lower():
        return DOUBLE
    if "." in text:
        return decimals.type_of(number)
    if -(1 << 31) <= number < 1 << 31:
        return INTEGER
    return BIGINT if -(1 << 63) <= number < 1 << 63 else decimals.type_of(number)


def _bad_text(type: SqlType, literal: Literal) -> GenerationError:
    return GenerationError(f'invalid input syntax for type {type}: "{literal.value}".', literal)


def _settled(type: SqlType) -> SqlType:
    """Text that became nothing else is a STRING."""
    if type is _TEXT:
        return STRING
    if isinstance(type, ArrayType):
        return ArrayType(_settled(type.element))
    if isinstance(type, MapType):
        return MapType(_settled(type.key), _settled(type.value))
    if isinstance(type, StructType):
        return StructType(tuple(Field(each.name, _settled(each.type)) for each in type.fields))
    return type


def _converted(expression: Expression, target: SqlType, context: Context) -> Code:
    """The expression as a value of the common type."""
    match expression:
        case Literal(type=type) if type == STRING and target != STRING:
            return _of_text(expression, target, context)
        case ArrayConstructor(items) if isinstance(target, ArrayType):
            nodes = [_converted(each, target.element, context).node for each in items]
            return Code(py.list_of(nodes), target, nullable=False)
        case MapConstructor(entries) if isinstance(target, MapType):
            pairs = [
                (
                    _converted(key, target.key, context).node,
                    _converted(value, target.value, context).node,
                )
                for key, value in entries
            ]
            return Code(py.dict_of(pairs), target, nullable=False)
        case StructConstructor(fields) if isinstance(target, StructType):
            given = dict(fields)
            parts = [
                (
                    py.constant(field.name),
                    _converted(given[field.name], field.type, context).node
                    if field.name in given
                    else py.NOTHING,
                )
                for field in target.fields
            ]
            return Code(py.dict_of(parts), target, nullable=False)
    return context.cast(context.compile(expression), target, expression)


def _of_text(literal: Literal, target: SqlType, context: Context) -> Code:
    """What a literal text says, as a constant."""
    try:
        if target == BOOLEAN:
            value = parse_boolean_generously(literal.value)
            if value is None:
                raise _bad_text(target, literal)
            return Code(py.constant(value), target, nullable=False)
        if target in (INTEGER, BIGINT):
            number = parse_decimal(literal.value)
            return compile_literal(Literal(int(number), target), context)
        if target == DOUBLE:
            return compile_literal(Literal(parse_double(literal.value), target), context)
        if isinstance(target, DecimalType):
            fitted = decimals.fitted(parse_decimal(literal.value), target)
            return compile_literal(Literal(fitted, target), context)
        convert = caster(STRING, target)
    except (ValueError, ArithmeticError):
        raise _bad_text(target, literal) from None
    except TypeError:
        raise _no_operator(target, STRING, literal) from None
    assert convert is not None
    try:
        return compile_literal(Literal(convert(literal.value), target), context)
    except ValueError:
        raise _bad_text(target, literal) from None
