"""Functions of numbers. Doubles are IEEE's, as in Java: out of the domain is NaN, no error."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

from headrace.sql import decimals
from headrace.sql.casts import double_to_bigint, wrapped_bigint, wrapped_int
from headrace.sql.decimals import EXACT
from headrace.sql.functions.function import Call
from headrace.sql.functions.library import Library
from headrace.sql.functions.order import order_of
from headrace.sql.types import DecimalType, SqlType

library = Library("MATHEMATICAL")

_OF_ONE = ("(INT value) -> DOUBLE", "(BIGINT value) -> DOUBLE", "(DOUBLE value) -> DOUBLE")


def _of_double(name: str, function: Callable[[float], float]) -> None:
    """A function of a double that is NaN where Python's raises, and infinite where it overflows."""

    def compute(value: float) -> float:
        try:
            return function(float(value))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf if value > 0 else -math.inf

    compute.__doc__ = f"The {name.lower()} of a number, as a DOUBLE."
    library.scalar(name, *_OF_ONE)(compute)


def _natural_logarithm(value: float) -> float:
    return -math.inf if value == 0 else math.log(value)


def _cotangent(value: float) -> float:
    tangent = math.tan(value)
    return 1 / tangent if tangent else math.copysign(math.inf, tangent)


def _cosh(value: float) -> float:
    return math.cosh(abs(value))


def _cube_root(value: float) -> float:
    """The double that comes closest. That of the C library may be one beside it."""
    root = math.cbrt(value)
    if not root or math.isinf(root) or root != root:
        return root
    exact = Fraction(value)
    near = (root, math.nextafter(root, -math.inf), math.nextafter(root, math.inf))
    return min(near, key=lambda each: abs(Fraction(each) ** 3 - exact))


def _exponential(value: float) -> float:
    return math.exp(value) if value < 710 else math.inf


for _name, _function in (
    ("acos", math.acos),
    ("asin", math.asin),
    ("atan", math.atan),
    ("cbrt", _cube_root),
    ("cos", math.cos),
    ("cosh", _cosh),
    ("cot", _cotangent),
    ("degrees", math.degrees),
    ("exp", _exponential),
    ("ln", _natural_logarithm),
    ("log", _natural_logarithm),
    ("radians", math.radians),
    ("sin", math.sin),
    ("sinh", math.sinh),
    ("sqrt", math.sqrt),
    ("tan", math.tan),
    ("tanh", math.tanh),
):
    _of_double(_name, _function)


@library.scalar(
    "log",
    "(INT base, INT value) -> DOUBLE",
    "(BIGINT base, BIGINT value) -> DOUBLE",
    "(DOUBLE base, DOUBLE value) -> DOUBLE",
)
def logarithm(base: float, value: float) -> float:
    """The logarithm of a number to a base."""
    if base <= 0 or base == 1 or value < 0 or base != base or value != value:
        return math.nan
    if value == 0:
        return math.inf if base < 1 else -math.inf
    return math.log(value) / math.log(base)


@library.scalar(
    "atan2",
    "(INT y, INT x) -> DOUBLE",
    "(BIGINT y, BIGINT x) -> DOUBLE",
    "(DOUBLE y, DOUBLE x) -> DOUBLE",
)
def atan2(y: float, x: float) -> float:
    """The angle of the point (x, y), in radians."""
    return math.atan2(y, x)


@library.scalar(
    "power",
    "(INT base, INT exponent) -> DOUBLE",
    "(BIGINT base, BIGINT exponent) -> DOUBLE",
    "(DOUBLE base, DOUBLE exponent) -> DOUBLE",
)
def power(base: float, exponent: float) -> float:
    """The base raised to the exponent."""
    if abs(base) == 1 and math.isinf(exponent):
        return math.nan
    if base == 1 and exponent != exponent:
        return math.nan
    try:
        return math.pow(base, exponent)
    except ValueError:
        if base == 0:  # to a negative exponent
            odd = exponent % 2 == 1
            return math.copysign(math.inf, base) if odd else math.inf
        return math.nan
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


@library.scalar("pi", "() -> DOUBLE")
def pi() -> float:
    """The number π."""
    return math.pi


@library.scalar("random", "() -> DOUBLE")
def random_number() -> float:
    """A random number, at least 0 and less than 1."""
    return random.random()  # noqa: S311, SQL's RANDOM


def _same_decimal(types: Sequence[SqlType | None]) -> SqlType | None:
    return types[0]


def _whole_decimal(types: Sequence[SqlType | None]) -> SqlType | None:
    type = types[0]
    if not isinstance(type, DecimalType):
        return None
    return DecimalType(max(type.precision - type.scale, 1), 0)


@library.scalar("abs", "(INT val) -> INT")
def absolute_int(value: int) -> int:
    """The number without its sign."""
    return wrapped_int(abs(value))


@library.scalar("abs", "(BIGINT val) -> BIGINT")
def absolute_bigint(value: int) -> int:
    return wrapped_bigint(abs(value))


@library.scalar("abs", "(DOUBLE val) -> DOUBLE")
def absolute_double(value: float) -> float:
    return abs(value)


@library.scalar("abs", "(DECIMAL val) -> DECIMAL", returns=_same_decimal)
def absolute_decimal(value: Decimal) -> Decimal:
    return EXACT.abs(value)


@library.scalar("sign", "(INT value) -> INT", "(BIGINT value) -> INT", "(DOUBLE value) -> INT")
def sign(value: float) -> int:
    """-1, 0 or 1, as the number is negative, zero or positive."""
    return (value > 0) - (value < 0)


@library.scalar("ceil", "(INT val) -> INT", "(BIGINT val) -> BIGINT")
@library.scalar("floor", "(INT val) -> INT", "(BIGINT val) -> BIGINT")
def whole(value: int) -> int:
    """The nearest whole number on one side, which a whole number is itself."""
    return value


def _to_whole(value: float, toward: Callable[[float], int]) -> float:
    if math.isinf(value) or value != value:
        return value
    return math.copysign(float(toward(value)), value)


@library.scalar("ceil", "(DOUBLE val) -> DOUBLE")
def ceil_double(value: float) -> float:
    return _to_whole(value, math.ceil)


@library.scalar("floor", "(DOUBLE val) -> DOUBLE")
def floor_double(value: float) -> float:
    return _to_whole(value, math.floor)


@library.scalar("ceil", "(DECIMAL val) -> DECIMAL", returns=_same_decimal)
def ceil_decimal(value: Decimal) -> Decimal:
    return EXACT.quantize(value.to_integral_value(ROUND_CEILING), value)


@library.scalar("floor", "(DECIMAL val) -> DECIMAL", returns=_same_decimal)
def floor_decimal(value: Decimal) -> Decimal:
    return EXACT.quantize(value.to_integral_value(ROUND_FLOOR), value)


def _half_up(value: Decimal, places: int) -> Decimal:
    """Halves towards positive infinity."""
    mode = ROUND_HALF_UP if value > 0 else ROUND_HALF_DOWN
    return value.quantize(decimals.unit(places), mode, EXACT)


def _cut(value: Decimal, places: int) -> Decimal:
    return value.quantize(decimals.unit(places), ROUND_DOWN, EXACT)


@library.scalar("round", "(INT val) -> BIGINT", "(BIGINT val) -> BIGINT")
@library.scalar("trunc", "(INT val) -> BIGINT", "(BIGINT val) -> BIGINT")
def as_bigint(value: int) -> int:
    """The number with fewer digits after the point."""
    return value


@library.scalar("round", "(DOUBLE val) -> BIGINT")
def round_double(value: float) -> int:
    if math.isinf(value) or value != value:
        return double_to_bigint(value)
    below = math.floor(value)
    return double_to_bigint(below + (value - below >= 0.5))


@library.scalar("round", "(DOUBLE val, INT decimalPlaces) -> DOUBLE")
def round_double_to(value: float, places: int) -> float:
    return float(_half_up(decimals.of_double(value), places))


@library.scalar("round", "(DECIMAL val) -> DECIMAL", returns=_whole_decimal)
def round_decimal(value: Decimal) -> Decimal:
    return _half_up(value, 0)


@library.scalar("round", "(DECIMAL val, INT decimalPlaces) -> DECIMAL", returns=_same_decimal)
def round_decimal_to(value: Decimal, places: int) -> Decimal:
    return EXACT.quantize(_half_up(value, places), value)


@library.scalar("trunc", "(DOUBLE val) -> BIGINT")
def trunc_double(value: float) -> int:
    return double_to_bigint(value)


@library.scalar("trunc", "(DOUBLE val, INT decimalPlaces) -> DOUBLE")
def trunc_double_to(value: float, places: int) -> float:
    return float(_cut(decimals.of_double(value), places))


@library.scalar("trunc", "(DECIMAL val) -> DECIMAL", returns=_whole_decimal)
def trunc_decimal(value: Decimal) -> Decimal:
    return _cut(value, 0)


@library.scalar("trunc", "(DECIMAL val, INT decimalPlaces) -> DECIMAL", returns=_same_decimal)
def trunc_decimal_to(value: Decimal, places: int) -> Decimal:
    return EXACT.quantize(_cut(value, places), value)


# The greatest and the least

_COMPARED = tuple(
    f"({type} val, {type}... vals) -> {type}"
    for type in ("INT", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")
)
_DECIMALS = "(DECIMAL val, DECIMAL... vals) -> DECIMAL"


def _widest(types: Sequence[SqlType | None]) -> SqlType | None:
    result: DecimalType | None = None
    for type in types:
        if isinstance(type, DecimalType):
            result = type if result is None else decimals.wider(result, type)
    return result


def _chosen(call: Call, choose: Callable[..., Any]) -> Callable[..., Any]:
    order = None if call.returns is None else order_of(call.returns)

    def compute(*values: Any) -> Any:
        known = [value for value in values if value is not None]
        return choose(known, key=order) if known else None

    return compute


@library.scalar("greatest", *_COMPARED, strict=False, bound=True)
@library.scalar("greatest", _DECIMALS, strict=False, bound=True, returns=_widest)
def greatest(call: Call) -> Callable[..., Any]:
    """The greatest of the arguments that aren't NULL."""
    return _chosen(call, max)


@library.scalar("least", *_COMPARED, strict=False, bound=True)
@library.scalar("least", _DECIMALS, strict=False, bound=True, returns=_widest)
def least(call: Call) -> Callable[..., Any]:
    """The least of the arguments that aren't NULL."""
    return _chosen(call, min)
