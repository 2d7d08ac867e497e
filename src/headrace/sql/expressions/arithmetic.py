"""`+ - * / %` and signs."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from decimal import Decimal

from headrace.sql import decimals
from headrace.sql.casts import wrapped_bigint, wrapped_int
from headrace.sql.decimals import EXACT, decimal_of
from headrace.sql.expressions import python as py
from headrace.sql.expressions.code import Code, Context
from headrace.sql.expressions.errors import TypingError
from headrace.sql.expressions.python import Expr
from headrace.sql.functions.sizes import text_sum
from headrace.sql.syntax.ast import Arithmetic, ArithmeticOperator, Sign
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import BIGINT, DOUBLE, INTEGER, STRING, DecimalType, SqlType

ADD, SUBTRACT = ArithmeticOperator.ADD, ArithmeticOperator.SUBTRACT
MULTIPLY, DIVIDE = ArithmeticOperator.MULTIPLY, ArithmeticOperator.DIVIDE

_PYTHON: dict[ArithmeticOperator, ast.operator] = {
    ADD: ast.Add(),
    SUBTRACT: ast.Sub(),
    MULTIPLY: ast.Mult(),
}
_DECIMAL_TYPES: dict[ArithmeticOperator, Callable[[DecimalType, DecimalType], DecimalType]] = {
    ADD: decimals.sum_type,
    SUBTRACT: decimals.sum_type,
    MULTIPLY: decimals.product_type,
    DIVIDE: decimals.quotient_type,
    ArithmeticOperator.MODULUS: decimals.remainder_type,
}


def compile_arithmetic(expression: Arithmetic, context: Context) -> Code:
    left, right = context.compile(expression.left), context.compile(expression.right)
    operator = expression.operator
    type = _type(expression, left.type, right.type)
    nullable = left.nullable or right.nullable
    if type == STRING:
        add = context.bind(text_sum, "text")
        node = context.strict([left, right], lambda a, b: py.call(add, a, b))
    elif isinstance(type, DecimalType):
        compute = context.bind(_decimal_function(operator, type.scale), "decimal")
        node = context.strict([left, right], lambda a, b: py.call(compute, a, b))
    elif type == DOUBLE:
        node = context.strict(
            [_as_double(left, context), _as_double(right, context)],
            lambda a, b: _double(operator, a, b, context),
        )
    else:
        node = context.strict(
            [left, right], lambda a, b: _whole(operator, type == INTEGER, a, b, context)
        )
    return Code(node, type, nullable)


def _type(expression: Arithmetic, left: SqlType | None, right: SqlType | None) -> SqlType:
    """The type of the result."""
    if left == right == STRING and expression.operator is ADD:
        return STRING
    if left is not None and right is not None:
        names = {left.name, right.name}
        if names <= {"INTEGER", "BIGINT", "DECIMAL", "DOUBLE"}:
            if DOUBLE in (left, right):
                return DOUBLE
            if "DECIMAL" not in names:
                return BIGINT if BIGINT in (left, right) else INTEGER
            of_left, of_right = decimal_of(left), decimal_of(right)
            assert of_left is not None
            assert of_right is not None
            return _DECIMAL_TYPES[expression.operator](of_left, of_right)
    if left is None or right is None:
        reason = f"Arithmetic on types {left or 'null'} and {right or 'null'} are not supported."
    else:
        reason = f"Unsupported arithmetic types. {left.name} {right.name}"
    shown = format_expression(expression)
    raise TypingError(f"Error processing expression: {shown}. {reason}", expression)


def _name(type: SqlType | None) -> str:
    return "null" if type is None else type.name


def _as_double(code: Code, context: Context) -> Code:
    """Python mixes int and float by itself, but not Decimal and float."""
    if not isinstance(code.type, DecimalType):
        return code
    constant = context.value_of(code.node)
    if constant is not None:
        return context.constant(float(constant), DOUBLE)
    convert = context.bind(float, "float")
    return Code(
        context.strict([code], lambda value: py.call(convert, value)), DOUBLE, code.nullable
    )


def _double(operator: ArithmeticOperator, left: Expr, right: Expr, context: Context) -> Expr:
    if operator in _PYTHON:
        return py.binary(left, _PYTHON[operator], right)
    compute = double_quotient if operator is DIVIDE else double_remainder
    return py.call(context.bind(compute, operator.name.lower()), left, right)


def _whole(
    operator: ArithmeticOperator, is_int: bool, left: Expr, right: Expr, context: Context
) -> Expr:
    if operator in _PYTHON:
        computed = py.binary(left, _PYTHON[operator], right)
    else:
        compute = whole_quotient if operator is DIVIDE else whole_remainder
        computed = py.call(context.bind(compute, operator.name.lower()), left, right)
    return _wrapping(computed, is_int, context)


def _wrapping(computed: Expr, is_int: bool, context: Context) -> Expr:
    """What is too large loses its upper bits, as in Java."""
    bits = 32 if is_int else 64
    result = context.fresh()
    wrap = context.bind(wrapped_int if is_int else wrapped_bigint, "wrapped")
    fits = py.within(-(1 << bits - 1), py.assigned(result, computed), (1 << bits - 1) - 1)
    return py.either(fits, py.name(result), py.call(wrap, py.name(result)))


def _decimal_function(
    operator: ArithmeticOperator, scale: int
) -> Callable[[Decimal, Decimal], Decimal]:
    """Whole numbers may stand for decimals here: contexts take them."""
    one = decimals.unit(scale)
    if operator is ADD:
        return lambda a, b: EXACT.quantize(EXACT.add(a, b), one)
    if operator is SUBTRACT:
        return lambda a, b: EXACT.quantize(EXACT.subtract(a, b), one)
    if operator is MULTIPLY:
        return lambda a, b: EXACT.quantize(EXACT.multiply(a, b), one)
    if operator is DIVIDE:
        return lambda a, b: decimals.quotient(a, b, scale)
    return lambda a, b: decimals.remainder(a, b, scale)


def whole_quotient(left: int, right: int) -> int:
    """Towards zero, as in Java."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def whole_remainder(left: int, right: int) -> int:
    """With the sign of the left side, as in Java."""
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def double_quotient(left: float, right: float) -> float:
    """As IEEE has it, without exceptions."""
    if right:
        return left / right
    if not left or left != left or right != right:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def double_remainder(left: float, right: float) -> float:
    """With the sign of the left side; of infinity, and by zero, it is no number."""
    return math.fmod(left, right) if right and not math.isinf(left) else math.nan


def compile_sign(expression: Sign, context: Context) -> Code:
    operand = context.compile(expression.operand)
    if operand.type is None or operand.type.name not in ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE"):
        raise TypingError(
            f"Unsupported arithmetic types. {_name(operand.type)}\n{format_expression(expression)}",
            expression,
        )
    if not expression.negative:
        return operand

    def build(value: Expr) -> Expr:
        if isinstance(operand.type, DecimalType):
            return py.call(context.bind(EXACT.minus, "minus"), value)
        node = py.negative(value)
        return node if operand.type == DOUBLE else _wrapping(node, operand.type == INTEGER, context)

    return Code(context.strict([operand], build), operand.type, operand.nullable)
