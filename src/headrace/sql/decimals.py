"""DECIMAL: the types of results, as ksqlDB computes them, and exact arithmetic."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import cache

from headrace.sql.types import BIGINT, INTEGER, DecimalType, SqlType

# More digits than any type can ask for: results are exact until they are rounded to their scale.
EXACT = Context(prec=1_000, rounding=ROUND_HALF_UP)
_CUTTING = Context(prec=400, rounding=ROUND_DOWN)

_MIN_QUOTIENT_SCALE = 6


def decimal_of(type: SqlType) -> DecimalType | None:
    """The DECIMAL that holds every number of a type, if there is one."""
    if isinstance(type, DecimalType):
        return type
    if type == INTEGER:
        return DecimalType(10, 0)
    return DecimalType(19, 0) if type == BIGINT else None


def type_of(number: Decimal) -> DecimalType:
    """The narrowest type of a number: `1.50` is DECIMAL(3, 2)."""
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # SQL knows no decimal infinity
    scale = max(0, -exponent)
    return DecimalType(max(len(digits) + max(0, exponent), scale, 1), scale)


def wider(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type that holds the numbers of both."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return DecimalType(whole + scale, scale)


def sum_type(left: DecimalType, right: DecimalType) -> DecimalType:
    """Of `+` and `-`."""
    both = wider(left, right)
    return DecimalType(both.precision + 1, both.scale)


def product_type(left: DecimalType, right: DecimalType) -> DecimalType:
    return DecimalType(left.precision + right.precision + 1, left.scale + right.scale)


def quotient_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(_MIN_QUOTIENT_SCALE, left.scale + right.precision + 1)
    return DecimalType(left.precision - left.scale + right.scale + scale, scale)


def remainder_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    whole = min(left.precision - left.scale, right.precision - right.scale)
    return DecimalType(whole + scale, scale)


@cache
def unit(scale: int) -> Decimal:
    """One in the last place: `0.01` for 2."""
    return Decimal((0, (1,), -scale))


def rounded(number: Decimal, scale: int) -> Decimal:
    """With exactly `scale` digits after the point, halves away from zero."""
    return EXACT.quantize(number, unit(scale))


def fitted(number: Decimal, type: DecimalType) -> Decimal:
    """The number as a value of the type, rounded if need be. Too large for it is an error."""
    result = rounded(number, type.scale)
    if result.adjusted() >= type.precision - type.scale and result:
        raise ArithmeticError(
            f"Numeric field overflow: A field with precision {type.precision} and scale "
            f"{type.scale} must round to an absolute value less than "
            f"10^{type.precision - type.scale}. Got {result:f}"
        )
    return result


def quotient(left: Decimal, right: Decimal, scale: int) -> Decimal:
    """`left / right`. Cut off first and rounded then, which is as good as rounding once."""
    if not right:
        raise ZeroDivisionError("Division by zero")
    return EXACT.quantize(_CUTTING.divide(left, right), unit(scale))


def remainder(left: Decimal, right: Decimal, scale: int) -> Decimal:
    """`left % right`, with the sign of the left side."""
    if not right:
        raise ZeroDivisionError("Division by zero")
    return EXACT.quantize(EXACT.remainder(left, right), unit(scale))


def of_double(number: float) -> Decimal:
    """The decimal that a double is written as, which is not exactly the double."""
    result = Decimal(repr(number))
    if not result.is_finite():
        raise ArithmeticError(f"{number} is no DECIMAL")
    return result
