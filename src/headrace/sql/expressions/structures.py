"""Arrays, maps and structs: how they are made, and what is taken out of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from headrace.sql.expressions import python as py
from headrace.sql.expressions.code import Code, Context
from headrace.sql.expressions.coercion import coerced
from headrace.sql.expressions.errors import TypingError
from headrace.sql.expressions.python import Expr
from headrace.sql.syntax.ast import (
    ArrayConstructor,
    Expression,
    FieldAccess,
    MapConstructor,
    StructConstructor,
    Subscript,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import (
    BIGINT,
    INTEGER,
    ArrayType,
    Field,
    MapType,
    StructType,
)

_WORKAROUND = "(see https://github.com/confluentinc/ksql/issues/4239)"


def compile_array(expression: ArrayConstructor, context: Context) -> Code:
    if not expression.items:
        raise TypingError(
            f"Array constructor cannot be empty. Please supply at least one element {_WORKAROUND}.",
            expression,
        )
    items, element = coerced(expression.items, context)
    if element is None:
        raise TypingError(
            f"Cannot construct an array with all NULL elements {_WORKAROUND}. As a workaround, "
            "you may cast a NULL value to the desired type.",
            expression,
        )
    nodes = [
        _guarded(item, said, context) for item, said in zip(items, expression.items, strict=True)
    ]
    return Code(py.list_of(nodes), ArrayType(element), nullable=False)


def compile_map(expression: MapConstructor, context: Context) -> Code:
    if not expression.entries:
        raise TypingError(
            "Map constructor cannot be empty. Please supply at least one key value pair "
            f"{_WORKAROUND}.",
            expression,
        )
    said_keys = [key for key, _ in expression.entries]
    said_values = [value for _, value in expression.entries]
    keys, key_type = coerced(said_keys, context)
    values, value_type = coerced(said_values, context)
    for type, what in ((key_type, "key"), (value_type, "value")):
        if type is None:
            raise TypingError(
                f"Cannot construct a map with all NULL {what}s {_WORKAROUND}. As a workaround, "
                f"you may cast a NULL {what} to the desired type.",
                expression,
            )
    assert key_type is not None
    assert value_type is not None
    entries = [
        (_guarded(key, said_key, context), _guarded(value, said_value, context))
        for key, value, said_key, said_value in zip(
            keys, values, said_keys, said_values, strict=True
        )
    ]
    return Code(py.dict_of(entries), MapType(key_type, value_type), nullable=False)


def compile_struct(expression: StructConstructor, context: Context) -> Code:
    repeated = [
        name for name, times in Counter(name for name, _ in expression.fields).items() if times > 1
    ]
    if repeated:
        raise TypingError(
            f"Duplicate field names found in STRUCT: '{format_expression(expression)}'. "
            f"Duplicate field names: [{', '.join(f'`{name}`' for name in repeated)}]",
            expression,
        )
    fields, entries = [], []
    for name, said in expression.fields:
        code = context.compile(said)
        if code.type is None:
            raise TypingError(
                f"Can't infer a type of null in the field {name}. Please explicitly cast it to a "
                "required type, e.g. CAST(null AS VARCHAR).",
                said,
            )
        fields.append(Field(name, code.type))
        entries.append((py.constant(name), _guarded(code, said, context)))
    return Code(py.dict_of(entries), StructType(tuple(fields)), nullable=False)


def _guarded(code: Code, said: Expression, context: Context) -> Expr:
    """What is made of several parts is not lost because of one of them."""
    return context.guarded(code.node, said) if code.nullable else code.node


def compile_field(expression: FieldAccess, context: Context) -> Code:
    base = context.compile(expression.base)
    if not isinstance(base.type, StructType):
        raise TypingError(
            f"Expected STRUCT type, got: {base.type or 'NULL'}\n{format_expression(expression)}",
            expression,
        )
    type = next((field.type for field in base.type.fields if field.name == expression.name), None)
    if type is None:
        raise TypingError(
            f"Could not find field '{expression.name}' in "
            f"'{format_expression(expression.base)}' of type {base.type}.",
            expression,
        )
    key = py.constant(expression.name)
    return Code(context.strict([base], lambda struct: py.item(struct, key)), type)


def compile_subscript(expression: Subscript, context: Context) -> Code:
    base, index = context.compile(expression.base), context.compile(expression.index)
    if isinstance(base.type, ArrayType):
        if index.type not in (INTEGER, BIGINT):
            raise TypingError(
                f"Array index must be an INTEGER or BIGINT, got: {index.type or 'NULL'}\n"
                f"{format_expression(expression)}",
                expression,
            )
        get = context.bind(array_item, "item")
        node = context.strict([base, index], lambda array, at: py.call(get, array, at))
        return Code(context.guarded(node, expression), base.type.element)
    if isinstance(base.type, MapType):
        key = context.cast(index, base.type.key, expression.index)
        node = context.strict(
            [base], lambda entries: py.call(py.attribute(entries, "get"), key.node)
        )
        return Code(context.guarded(node, expression), base.type.value)
    raise TypingError(
        f"Subscript expression only apply to ARRAY and MAP, got: {base.type or 'NULL'}\n"
        f"{format_expression(expression)}",
        expression,
    )


def array_item(array: list[Any], index: int) -> Any:
    """Counted from 1, or from -1 at the end. There is NULL around an array."""
    at = index - 1 if index > 0 else index + len(array) if index < 0 else -1
    return array[at] if 0 <= at < len(array) else None
